# SPDX-License-Identifier: Apache-2.0
"""What is built of another server's snapshot is that snapshot, after any number of kills, and without its links."""

import errno
import gzip
import io
import json
import os
import random
import socket
from pathlib import Path

import pytest

from millrace.protect.replica import tree_build
from millrace.protect.replica.file_list import FileList
from millrace.protect.replica.tree_build import PIECE, SAMPLE, ChangedList
from millrace.system import posix_acl
from millrace.system.errors import BadInput, Failed
from tests.unit.protect.replica.trees import UNIT, Pair, entries, opened, states

ACCESS_LIST = bytes.fromhex("0200000001000600ffffffff04000400ffffffff10000600ffffffff20000000ffffffff")


def fill(source: Path) -> None:
    """All kinds of files, with names that no shell likes."""
    (source / "a/b").mkdir(parents=True)
    (source / "a/large").write_bytes(os.urandom(64 * UNIT))
    (source / "a/b/empty").touch()
    (source / "a/b/new\nline").write_text("small")
    os.chmod(source / "a/b/new\nline", 0o4750)
    os.link(source / "a/b/new\nline", source / "twin")
    os.symlink("/etc/passwd", source / "link")
    os.mkfifo(source / "pipe", 0o640)
    socket.socket(socket.AF_UNIX).bind(str(source / "socket"))
    (source / os.fsdecode(b"\xff\xfe")).write_text("no UTF-8")
    with open(source / "sparse", "wb") as file:
        file.truncate(1 << 20)
        file.seek(512 * 1024)
        file.write(b"island" * 1000)
    os.setxattr(source / "a/large", "user.colour", b"\0blue")
    os.setxattr(source / "a/large", "system.posix_acl_access", ACCESS_LIST)
    os.chown(source / "a/b/empty", 2001, 2002)
    os.chown(source / "link", 2001, 2002, follow_symlinks=False)
    for path, time in (("a/large", 1000), ("a/b", 3000), ("a", 2000), ("", 4000)):
        os.utime(source / path, (time, time))


def test_build_equals_its_source(pair: Pair) -> None:
    fill(pair.source)
    done = pair.build(pair.text())
    assert states(pair.target) == states(pair.source)
    assert done.entries == 12 and not os.listdir(pair.top / "parts")
    # what was never written was not read
    assert done.fetched < (64 + 4) * UNIT and (pair.target / "sparse").stat().st_blocks <= 64


@pytest.mark.parametrize("name", posix_acl.XFS_NAMES)
def test_second_name_of_an_access_list_on_xfs_is_neither_listed_nor_removed(pair: Pair, name: str) -> None:
    (pair.source / "files").mkdir()
    os.setxattr(pair.source / "files", name, b"list")
    [_, entry] = entries(pair.text())
    assert name not in entry.attributes
    with opened(pair.source / "files") as held:
        tree_build.dress(held, entry)
    assert os.getxattr(pair.source / "files", name) == b"list"


def test_names_that_are_one_file_stay_one_file(pair: Pair) -> None:
    fill(pair.source)
    pair.build(pair.text())
    assert (pair.target / "twin").stat().st_ino == (pair.target / "a/b/new\nline").stat().st_ino


def test_only_changed_ranges_are_read(pair: Pair) -> None:
    (pair.source / "disk").write_bytes(os.urandom(1024 * UNIT))
    first = pair.text()
    pair.build(first)
    pair.keep(first)
    with open(pair.source / "disk", "r+b") as file:
        file.seek(700 * UNIT)
        file.write(os.urandom(UNIT))
    done = pair.build(pair.text(), full=False)
    assert states(pair.target) == states(pair.source)
    assert (done.fetched, done.changed) == (UNIT, 1) and done.verified <= SAMPLE * PIECE


@pytest.mark.parametrize("size", [0, 1, 10 * UNIT, 10 * UNIT + 1, 63 * UNIT + 5, 100 * UNIT])
def test_file_that_became_shorter_or_longer_is_as_on_the_source(pair: Pair, size: int) -> None:
    (pair.source / "disk").write_bytes(os.urandom(64 * UNIT))
    first = pair.text()
    pair.build(first)
    pair.keep(first)
    os.truncate(pair.source / "disk", size)
    pair.build(pair.text())
    assert states(pair.target) == states(pair.source)


def test_range_that_was_freed_has_no_blocks(pair: Pair) -> None:
    (pair.source / "disk").write_bytes(os.urandom(64 * UNIT))
    first = pair.text()
    pair.build(first)
    pair.keep(first)
    with open(pair.source / "disk", "r+b") as file:
        file.write(bytes(32 * UNIT))
    assert pair.build(pair.text(), full=False).fetched == 0
    assert states(pair.target) == states(pair.source)
    assert (pair.target / "disk").stat().st_blocks * 512 <= 33 * UNIT


def test_moved_and_cloned_files_are_not_read_again(pair: Pair) -> None:
    for number in range(100):
        (pair.source / f"tree/{number}").mkdir(parents=True)
        (pair.source / f"tree/{number}/file").write_bytes(os.urandom(UNIT + number))
    first = pair.text()
    pair.build(first)
    pair.keep(first)
    os.rename(pair.source / "tree", pair.source / "elsewhere")
    (pair.source / "clone").write_bytes((pair.source / "elsewhere/7/file").read_bytes())
    done = pair.build(pair.text(), full=False)
    assert states(pair.target) == states(pair.source)
    assert (done.fetched, done.shared) == (0, 101)


def test_base_of_another_time_compares_by_name_size_and_time(pair: Pair) -> None:
    (pair.source / "same").write_bytes(b"s" * UNIT)
    (pair.source / "other").write_bytes(b"o" * UNIT)
    first = pair.text()
    pair.build(first)
    pair.keep(first)
    (pair.source / "other").write_bytes(b"p" * UNIT)
    done = pair.build(pair.text(), full=False, is_exact=False)
    assert states(pair.target) == states(pair.source)
    assert (done.fetched, done.shared) == (UNIT, 1)


def test_directory_that_became_a_file_and_file_that_became_a_directory(pair: Pair) -> None:
    (pair.source / "a").mkdir()
    (pair.source / "a/in").write_text("in")
    (pair.source / "b").write_text("b")
    first = pair.text()
    pair.build(first)
    pair.keep(first)
    (pair.source / "a/in").unlink()
    (pair.source / "a").rmdir()
    (pair.source / "b").unlink()
    (pair.source / "a").write_text("a")
    (pair.source / "b").mkdir()
    pair.build(pair.text())
    assert states(pair.target) == states(pair.source)


class Killed(BaseException):
    """Ends a build as a kill would: nothing after it is done."""


class CountedOs:
    """The module `os` for a build that is killed at its n-th call that changes something, before or after the call."""

    CHANGES = frozenset(
        {"chmod", "chown", "fchmod", "fchown", "fsync", "ftruncate", "link", "mkdir", "mknod", "open", "pwrite"}
        | {"removexattr", "rename", "setxattr", "symlink", "unlink", "utime"}
    )

    def __init__(self, last: int, after: bool) -> None:
        self.left, self._after = last, after

    def __getattr__(self, name: str) -> object:
        real = getattr(os, name)
        if name not in self.CHANGES:
            return real

        def call(*arguments: object, **named: object) -> object:
            self.left -= 1
            if self.left < 0 or (not self.left and not self._after):
                raise Killed
            value = real(*arguments, **named)
            if not self.left:
                if name == "open":
                    os.close(value)
                raise Killed
            return value

        return call


def calls_of(pair: Pair, text: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    counted = CountedOs(1 << 30, False)
    with monkeypatch.context() as patched:
        patched.setattr(tree_build, "os", counted)
        pair.build(text)
    return (1 << 30) - counted.left


@pytest.mark.parametrize("after", [False, True])
def test_build_that_is_killed_at_any_step_goes_on(pair: Pair, after: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_build, "BLOCK", 8 * UNIT)
    monkeypatch.setattr(tree_build, "DURABLE", 16 * UNIT)
    fill(pair.source)
    first = pair.text()
    pair.build(first)
    pair.keep(first)
    with open(pair.source / "a/large", "r+b") as file:
        file.write(os.urandom(48 * UNIT))
    (pair.source / "new").write_bytes(os.urandom(40 * UNIT))
    text = pair.text()
    expected = states(pair.source)
    steps = calls_of(pair, text, monkeypatch)
    for step in range(1 + after, steps + 1, 3):
        pair.built += 1
        with monkeypatch.context() as patched:
            patched.setattr(tree_build, "os", CountedOs(step, after))
            with pytest.raises(Killed):
                pair.build(text)
        pair.build(text)
        assert states(pair.target) == expected, step
    assert not os.listdir(pair.top / "parts")


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_and_twenty_kills_each(pair: Pair, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_build, "BLOCK", 2 * UNIT)
    monkeypatch.setattr(tree_build, "DURABLE", 4 * UNIT)
    chance = random.Random(seed)
    for _ in range(4):
        change(pair.source, chance)
        text = pair.text()
        for _ in range(20):
            with monkeypatch.context() as patched:
                patched.setattr(tree_build, "os", CountedOs(chance.randrange(1, 120), chance.random() < 0.5))
                try:
                    pair.build(text)
                except Killed:
                    continue
        pair.build(text)
        assert states(pair.target) == states(pair.source)
        pair.keep(text)


def change(source: Path, chance: random.Random) -> None:
    """Do to a tree what clients do, forty times."""
    for _ in range(40):
        paths = [path for path in source.rglob("*") if not path.is_symlink()]
        files = [path for path in paths if path.is_file()]
        directories = [source, *(path for path in paths if path.is_dir())]
        where = chance.choice(directories) / f"{chance.randrange(10**9)}"
        act = chance.randrange(7)
        if act == 0:
            where.mkdir()
        elif act == 1 or not files:
            where.write_bytes(chance.randbytes(chance.randrange(12 * UNIT)))
        elif act == 2:
            with open(chance.choice(files), "r+b") as file:
                file.seek(chance.randrange(16) * UNIT)
                file.write(chance.randbytes(chance.randrange(2 * UNIT)))
        elif act == 3:
            os.truncate(chance.choice(files), chance.randrange(20 * UNIT))
        elif act == 4:
            os.link(chance.choice(files), where)
        elif act == 5:
            os.rename(chance.choice(files), where)
        else:
            chance.choice(files).unlink()


def test_next_list_takes_what_an_ended_build_has(pair: Pair) -> None:
    (pair.source / "a").write_bytes(os.urandom(8 * UNIT))
    (pair.source / "b").write_bytes(os.urandom(8 * UNIT))
    first = pair.text()

    def stop(done: object) -> None:
        if (pair.target / "a").exists():
            raise Killed

    with pytest.raises(Killed):
        pair.build(first, tick=stop)
    pair.keep(first)
    done = pair.build(pair.text(), full=False)
    assert states(pair.target) == states(pair.source)
    assert done.fetched == 8 * UNIT


def test_mark_of_another_former_state_is_not_believed(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_build, "BLOCK", UNIT)
    monkeypatch.setattr(tree_build, "DURABLE", 4 * UNIT)
    (pair.source / "disk").write_bytes(os.urandom(32 * UNIT))
    first = pair.text()
    pair.build(first)
    pair.keep(first)
    (pair.source / "disk").write_bytes(os.urandom(32 * UNIT))
    text = pair.text()

    def stop(done: object) -> None:
        if getattr(done, "fetched", 0) >= 20 * UNIT:
            raise Killed

    with pytest.raises(Killed):
        pair.build(text, tick=stop)
    pair.bases = []
    pair.build(text)
    assert states(pair.target) == states(pair.source)


def test_link_in_place_of_a_file_is_not_followed(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (pair.source / "file").write_text("public")
    text = pair.text()
    (pair.source / "file").unlink()
    (pair.source / "file").symlink_to(tmp_path / "secret")
    with pytest.raises(ChangedList, match="not in the snapshot"):
        pair.build(text)
    assert not (pair.target / "file").exists()


def test_link_in_place_of_a_directory_is_not_followed(pair: Pair, tmp_path: Path) -> None:
    (pair.source / "directory").mkdir()
    (pair.source / "directory/file").write_text("public")
    text = pair.text()
    os.rename(pair.source / "directory", tmp_path / "moved")
    (pair.source / "directory").symlink_to(tmp_path / "moved")
    with pytest.raises(ChangedList, match="not in the snapshot"):
        pair.build(text)


def test_file_that_is_not_as_listed_ends_the_build(pair: Pair) -> None:
    (pair.source / "file").write_text("before")
    text = pair.text()
    (pair.source / "file").write_text("after it")
    with pytest.raises(ChangedList, match="not as its list says"):
        pair.build(text)


def test_flipped_block_is_seen_by_the_verification(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    (pair.source / "file").write_bytes(b"x" * UNIT)
    text = pair.text()
    monkeypatch.setattr(tree_build, "_write", lambda file, block, at: os.pwrite(file, b"y" * len(block), at))
    with pytest.raises(Failed, match="differs from the snapshot"):
        pair.build(text, full=False)


def test_full_pool_ends_the_build_and_another_run_goes_on(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(pair.source)
    text = pair.text()

    def full(file: int, block: bytes, at: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(tree_build, "_write", full)
        with pytest.raises(OSError, match="No space"):
            pair.build(text)
    pair.build(text)
    assert states(pair.target) == states(pair.source)


def rewritten(text: bytes, old: str, new: str) -> bytes:
    lines = gzip.decompress(text).decode()
    assert old in lines
    return gzip.compress(lines.replace(old, new).encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["name"', '["../name"'),
        ('["name"', '["a/../../name"'),
        ('["name"', '["/name"'),
        ('["name"', '["na\\u0000me"'),
        ('["name"', '["missing/name"'),
        ('["name"', f'["{"n" * 256}"'),
        ('"file"', '"device"'),
        (",420,", ",-1,"),
        (",420,", ",65535,"),
        (",420,", ',"420",'),
        ('"entries":2', '"entries":3'),
    ],
)
def test_list_that_leads_elsewhere_is_refused(pair: Pair, old: str, new: str) -> None:
    (pair.source / "name").write_text("content")
    os.chmod(pair.source / "name", 0o644)
    text = rewritten(pair.text(), old, new)
    with pytest.raises(BadInput, match=r"^files\.gz was changed"):
        pair.build(text)
    assert not (pair.top / "name").exists()


@pytest.mark.parametrize("name", posix_acl.XFS_NAMES)
def test_list_with_a_second_name_of_an_access_list_is_refused(pair: Pair, name: str) -> None:
    """XFS would take its value unread."""
    (pair.source / "name").write_text("content")
    os.setxattr(pair.source / "name", "user.colour", b"blue")
    text = rewritten(pair.text(), "user.colour", name)
    with pytest.raises(BadInput, match=r"^files\.gz was changed"):
        pair.build(text)


def test_list_without_its_end_is_refused(pair: Pair) -> None:
    fill(pair.source)
    text = pair.text()
    with pytest.raises(BadInput, match="was changed"):
        list(entries(text[: len(text) // 2]))
    lines = gzip.decompress(text).splitlines(keepends=True)
    with pytest.raises(BadInput, match="it has no end"):
        list(entries(gzip.compress(b"".join(lines[:-1]))))


def test_name_that_comes_twice_ends_the_build(pair: Pair) -> None:
    (pair.source / "name").write_text("content")
    lines = gzip.decompress(pair.text()).splitlines(keepends=True)
    fields = json.loads(lines[2])
    fields[5] += 1
    twice = [*lines[:3], json.dumps(fields).encode() + b"\n", lines[3].replace(b'"entries":2', b'"entries":3')]
    with pytest.raises(ChangedList, match="twice"):
        pair.build(gzip.compress(b"".join(twice)))


def test_owners_are_named_in_the_list(pair: Pair) -> None:
    (pair.source / "name").touch()
    listing = FileList(io.BytesIO(pair.text()), "files.gz")
    assert len(list(listing.entries())) == 2
    assert listing.end is not None and listing.end.users == {os.getuid(): "ann"}
    with opened(pair.source) as directory:
        assert os.listdir(directory) == ["name"]
