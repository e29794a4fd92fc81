# SPDX-License-Identifier: Apache-2.0
"""How a share differs from a snapshot of it: each kind of change is named once, and what is equal is not."""

import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.protect.snapshot import compare_entries, compare_moved, snapshot_compare
from millrace.protect.snapshot.compare_entries import LISTED
from millrace.protect.snapshot.snapshot_compare import differing
from millrace.serve.share import server as share_server
from tests.unit.protect.snapshot.conftest import Nas

AT = "data@20261129T120000Z-manual"


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """A tree, and a copy of it with the same times."""
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "set/deep").mkdir(parents=True)
    (old / "other").mkdir()
    for number, name in enumerate(("set/a", "set/b", "set/deep/c", "other/d")):
        (old / name).write_text(f"content {number}")
        os.utime(old / name, ns=(0, 1_000_000_000 * (number + 1)))
    (old / "link").symlink_to("set/a")
    for number, name in enumerate(("set/deep", "other", "set")):
        os.utime(old / name, ns=(0, 2_000_000_000 * (number + 1)))
    shutil.copytree(old, new, symlinks=True)
    return old, new


@contextmanager
def opened(*paths: Path) -> Iterator[list[int]]:
    descriptors = [os.open(path, os.O_RDONLY) for path in paths]
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def found(old: Path, new: Path) -> set[tuple[str, str, str | None]]:
    with opened(old, new) as (left, right):
        differences = differing(left, right, 2)
    listed = {(entry.what, entry.path, entry.former) for entry in differences.listed}
    assert differences.counts.total() == len(listed) and differences.unread == 0
    return listed


def test_copy_does_not_differ(trees: tuple[Path, Path]) -> None:
    assert found(*trees) == set()


def test_what_clients_do_is_named_by_its_kind(trees: tuple[Path, Path]) -> None:
    old, new = trees
    (new / "set/a").write_text("another content")
    (new / "set/b").unlink()
    (new / "set/deep/c").chmod(0o600)
    (new / "fresh").write_text("")
    (new / "link").unlink()
    (new / "link").symlink_to("set/b")
    assert found(old, new) == {
        ("changed", "set/a", None),
        ("removed", "set/b", None),
        ("permissions", "set/deep/c", None),
        ("added", "fresh", None),
        ("changed", "link", None),
    }


def test_content_that_changed_behind_the_same_size_and_time_is_found(trees: tuple[Path, Path]) -> None:
    old, new = trees
    (new / "set/a").write_text("CONTENT 0")
    os.utime(new / "set/a", ns=(0, 1_000_000_000))
    assert found(old, new) == {("changed", "set/a", None)}


def test_what_was_moved_is_named_once_with_its_former_place(trees: tuple[Path, Path]) -> None:
    old, new = trees
    (new / "set/a").rename(new / "other/z")
    (new / "set/deep").rename(new / "elsewhere")
    # in a directory that was moved, all is compared
    (new / "elsewhere/c").chmod(0o600)
    assert found(old, new) == {
        ("moved", "other/z", "set/a"),
        ("moved", "elsewhere/", "set/deep/"),
        ("permissions", "elsewhere/c", None),
    }


def test_file_that_only_looks_moved_is_another_one(trees: tuple[Path, Path]) -> None:
    old, new = trees
    (new / "set/a").unlink()
    (new / "z").write_text("CONTENT 0")
    os.utime(new / "z", ns=(0, 1_000_000_000))
    assert found(old, new) == {("removed", "set/a", None), ("added", "z", None)}


def test_file_in_the_place_of_a_directory_counts_as_both(trees: tuple[Path, Path]) -> None:
    old, new = trees
    shutil.rmtree(new / "set/deep")
    (new / "set/deep").write_text("a file")
    assert found(old, new) == {
        ("removed", "set/deep/", None),
        ("removed", "set/deep/c", None),
        ("added", "set/deep", None),
    }


def test_all_that_a_directory_has_counts(trees: tuple[Path, Path]) -> None:
    old, new = trees
    shutil.rmtree(new / "set")
    (new / "more/below").mkdir(parents=True)
    (new / "more/below/x").write_text("x")
    listed = found(old, new)
    assert {path for what, path, _ in listed if what == "removed"} == {
        *("set/", "set/a", "set/b", "set/deep/", "set/deep/c"),
    }
    assert {path for what, path, _ in listed if what == "added"} == {"more/", "more/below/", "more/below/x"}


def test_the_first_entries_are_listed_and_all_are_counted(trees: tuple[Path, Path]) -> None:
    old, new = trees
    for number in range(2 * LISTED + 7):
        (new / f"f{number:05}").touch()
    with opened(old, new) as (left, right):
        differences = differing(left, right, 2)
    assert differences.counts["added"] == 2 * LISTED + 7
    assert len(differences.listed) <= 2 * LISTED


def test_permissions_of_what_was_moved_are_compared(trees: tuple[Path, Path]) -> None:
    old, new = trees
    (new / "set/a").rename(new / "other/z")
    (new / "other/z").chmod(0o4755)
    (new / "set/deep").rename(new / "elsewhere")
    (new / "elsewhere").chmod(0o777)
    assert found(old, new) == {
        ("moved", "other/z", "set/a"),
        ("permissions", "other/z", None),
        ("moved", "elsewhere/", "set/deep/"),
        ("permissions", "elsewhere/", None),
    }


def test_names_of_a_large_directory_are_read_in_parts(
    trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = trees
    held: list[int] = []
    whole = compare_entries.held_entries

    def counted(at: int, part: int = 0, parts: int = 1) -> Iterator[tuple[str, os.stat_result]]:
        states = list(whole(at, part, parts))
        held.append(len(states))
        return iter(states)

    monkeypatch.setattr(compare_entries, "PART", 4)
    monkeypatch.setattr(snapshot_compare, "held_entries", counted)
    for number in range(40):
        (old / f"{number}").touch()
        (new / f"{number if number else 99}").write_text("x" * (number == 7))
        os.utime(old / f"{number}", ns=(0, number))
        os.utime(new / f"{number if number else 99}", ns=(0, number))
    assert found(old, new) == {("moved", "99", "0"), ("changed", "7", None)}
    assert max(held) < 20


def test_entries_beyond_the_bound_are_counted_and_not_held(
    trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = trees
    monkeypatch.setattr(compare_entries, "MATCHED", 1)
    shutil.rmtree(new / "set/deep")
    (new / "set/a").rename(new / "set/y")
    (new / "set/b").rename(new / "set/z")
    with opened(old, new) as (left, right):
        differences = differing(left, right, 2)
    counts = differences.counts
    assert counts["removed"] + counts["moved"] == 4 and counts["added"] + counts["moved"] == 2
    assert len(differences.gone) <= 1 and len(differences.come) <= 1


def test_pair_that_was_refused_is_looked_at_once(trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = trees
    for name in ("set/deep", "other"):
        (new / name).rename(new / f"moved-{name[-4:]}")
    (new / "moved-ther/d").rename(new / "moved-ther/e")
    os.utime(new / "moved-ther", ns=(0, 4_000_000_000))
    looked: list[int] = []
    fingerprint = compare_moved._fingerprint
    monkeypatch.setattr(compare_moved, "_fingerprint", lambda at: looked.append(at) or fingerprint(at))
    listed = found(old, new)
    assert ("moved", "moved-deep/", "set/deep/") in listed and ("removed", "other/", None) in listed
    # both directories of two pairs, in two rounds
    assert len(looked) == 4


def test_tree_that_is_too_deep_is_named_and_the_rest_is_compared(
    trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = trees
    monkeypatch.setattr(snapshot_compare, "DEEPEST", 4)
    for top in trees:
        (top / "p/q/r/s/t").mkdir(parents=True)
    (old / "gone/q/r/s/t").mkdir(parents=True)
    (new / "set/a").write_text("another content")
    with opened(old, new) as (left, right):
        differences = differing(left, right, 2)
    assert differences.counts["changed"] == 1 and differences.counts["removed"] == 4
    assert (differences.unread, sorted(differences.unread_names)) == (2, ["gone/q/r/s/", "p/q/r/s/"])


def test_link_of_a_client_is_never_followed(trees: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = trees
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    shutil.rmtree(new / "other")
    (new / "other").symlink_to(tmp_path / "outside")
    assert found(old, new) == {
        ("removed", "other/", None),
        ("removed", "other/d", None),
        ("added", "other", None),
    }


def test_pipe_of_a_client_keeps_nobody_waiting(trees: tuple[Path, Path]) -> None:
    old, new = trees
    (new / "set/a").unlink()
    os.mkfifo(new / "set/a")
    assert found(old, new) == {("removed", "set/a", None), ("added", "set/a", None)}


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EIO, errno.ENODATA, errno.EUCLEAN, errno.EBADMSG])
def test_file_that_a_client_holds_or_that_cannot_be_read_is_said_not_to_be_compared(
    trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def held(left: int, right: int) -> bool:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(compare_entries, "same_content", held)
    with opened(*trees) as (left, right):
        differences = differing(left, right, 2)
    assert (differences.unread, differences.counts.total()) == (4, 0)


@pytest.fixture
def here(changed: Nas, monkeypatch: pytest.MonkeyPatch) -> Nas:
    monkeypatch.setattr(share_server, "this_server", lambda: changed.server)
    return changed


def test_share_is_compared_with_its_snapshot(here: Nas, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", "compare", AT]) == 0
    printed = capsys.readouterr().out
    assert f"data compared with {AT}: 1 added, 1 changed, 1 removed" in printed
    assert run(["snapshot", "compare", f"{AT}/set", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["older"], told["newer"], told["added"], told["removed"]) == (f"{AT}/set", "data/set", 0, 1)
    assert [entry["path"] for entry in told["entries"]] == ["deep/two", "one"]


def test_two_snapshots_of_a_share_are_compared(here: Nas, capsys: pytest.CaptureFixture[str]) -> None:
    here.made(1)
    assert run(["snapshot", "compare", AT, AT.replace("00Z", "01Z")]) == 0
    assert f"{AT.replace('00Z', '01Z')} compared with {AT}: 1 added" in capsys.readouterr().out
    assert run(["snapshot", "compare", AT, AT]) == 0
    assert "no difference" in capsys.readouterr().out


def test_what_cannot_be_compared_is_refused(here: Nas, capsys: pytest.CaptureFixture[str]) -> None:
    other = AT.replace("data", "other")
    here.snapshots.place(*other.split("@")).mkdir(parents=True)
    for words, sentence in (
        (["data"], "data is no snapshot"),
        ([AT, "data"], "data is no snapshot"),
        ([f"{AT}/nothing"], "is not a directory"),
        ([AT, other], "are of two shares"),
    ):
        assert run(["snapshot", "compare", *words]) != 0
        assert sentence in capsys.readouterr().err.replace("'", "")


@pytest.mark.parametrize("which", ["snapshot", "share"])
def test_place_that_is_removed_or_replaced_meanwhile_has_no_comparison(
    here: Nas, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    place = here.snapshots.place(*AT.split("@")) if which == "snapshot" else here.share

    def replaced(older: int, newer: int, threads: int) -> object:
        differences = differing(older, newer, threads)
        place.rename(place.with_name("aside"))
        if which == "share":
            place.mkdir()
        return differences

    monkeypatch.setattr(snapshot_compare, "differing", replaced)
    assert run(["snapshot", "compare", AT]) != 0
    assert "was removed or replaced while it was compared" in capsys.readouterr().err
