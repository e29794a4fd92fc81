# SPDX-License-Identifier: Apache-2.0
"""Damaged areas become names of files, by the reverse mapping of XFS; no name of a client is followed."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from millrace.storage.array.area import Area
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import ArrayScrub, MismatchRange, Scrubbed, change, load
from millrace.storage.scrub import damaged_files, file_names
from millrace.storage.scrub.damaged_files import DamagedFiles, owners
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.fakes.xfs import ROOT, V5_OF_6_1, Xfs


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        made.md("data", **{"dev-nvme3n1p2/bad_blocks": "16 8", "dev-nvme3n1p2/offset": "0"})
        yield made


def search(rows: Sequence[str], asked: list[str] | None = None) -> DamagedFiles:
    """xfs_io finds these rows in the first area, and free space in the others."""

    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        assert list(argv[:3]) == ["xfs_io", "-r", "-c"] and argv[4] == "/srv/pool"
        if asked is not None:
            asked.append(argv[3])
        shown = rows if argv[3] == "fsmap -d 16 23" else ["free space 8"]
        return Result(0, "".join(f"\t{n}: 9:127 [16..23]: {row}\n" for n, row in enumerate(shown)), "")

    return damaged_files.search(read_model(paths.pool_file(), Pool), run)


def made(box: Box, name: str) -> int:
    path = box.root / "srv/pool/data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    return path.stat().st_ino


def test_file_is_named_by_its_inode(box: Box) -> None:
    inode = made(box, "deep/victim")
    made(box, "other")
    asked: list[str] = []
    found = search([f"inode {inode} data 0..7 8"], asked)
    assert (found.files, found.complete, found.sectors) == (["data/deep/victim"], True, 64)
    assert found.others == ["free space"]
    assert asked[:2] == ["fsmap -d 16 23", "fsmap -d 144 151"] and len(asked) == 8


def test_every_link_to_a_file_is_named(box: Box) -> None:
    inode = made(box, "one")
    os.link(box.root / "srv/pool/data/one", box.root / "srv/pool/data/two")
    assert search([f"inode {inode} data 0..7 8"]).files == ["data/one", "data/two"]


def test_link_of_a_client_is_not_followed(box: Box) -> None:
    outside = box.root / "etc/secret"
    outside.write_text("x")
    (box.root / "srv/pool/data/link").symlink_to(outside)
    (box.root / "srv/pool/data/away").symlink_to(box.root / "etc")
    inode = outside.stat().st_ino
    found = search([f"inode {inode} data 0..7 8"])
    assert found.files == []
    assert found.others[-1] == f"inode {inode}: a directory, a file of the server, or removed meanwhile"


def test_metadata_and_extent_maps_are_told_apart(box: Box) -> None:
    inode = made(box, "victim")
    found = search([f"inode {inode} data extent map 8", "per-AG metadata 8", "inode btree 16", "inodes 32"])
    assert found.files == ["data/victim"]
    assert found.others == ["free space", "inode btree", "inodes", "per-AG metadata"]


def test_control_characters_of_a_name_are_escaped(box: Box) -> None:
    inode = made(box, "a\x1b[2Jb")
    assert search([f"inode {inode} data 0..7 8"]).files == ["data/a\\x1b[2Jb"]


def test_file_of_the_server_itself_is_not_named(box: Box) -> None:
    own = box.root / "srv/pool" / paths.POOL_OWN / "heartbeat"
    own.parent.mkdir()
    own.write_text("x")
    assert search([f"inode {own.stat().st_ino} data 0..7 8"]).files == []


def test_pool_without_damage_asks_nothing(box: Box) -> None:
    box.md("data", **{"dev-nvme3n1p2/bad_blocks": ""})
    asked: list[str] = []
    found = search([], asked)
    assert (found.files, found.sectors, asked) == ([], 0, [])
    assert list(damaged_files.lines(found)) == ["no file is known to be damaged"]
    assert damaged_files.notes(found) == []


def test_search_that_takes_too_long_says_so(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    inode = made(box, "victim")
    monkeypatch.setattr(file_names, "LIMIT", -1.0)
    found = search([f"inode {inode} data 0..7 8"])
    assert (found.files, found.complete) == ([], False)
    assert damaged_files.notes(found)[-1] == file_names.WALKED
    assert file_names.WALKED.startswith("the search did not cover all files: the file system has no parent pointers")


def test_pool_that_is_not_mounted_is_refused(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: False)
    with pytest.raises(Refused, match="/srv/pool is not mounted"):
        search([])


def mismatched(box: Box, ended: str) -> Pool:
    """The last check found one place of the data, in another row than the bad blocks."""
    pool = read_model(paths.pool_file(), Pool)
    [data] = [array for array in pool.arrays if array.array.name == "data"]
    last = Scrubbed(
        started=ended,
        ended=ended,
        bytes=1,
        seconds=1,
        mismatches=8,
        bad_areas=0,
        ranges=[MismatchRange(begin=32, end=40, sectors=8)],
    )
    change(lambda old: old.having(ArrayScrub(array="data", uuid=data.uuid, last=last)))
    return pool


def test_files_that_do_not_match_are_kept_with_their_names(box: Box) -> None:
    pool = mismatched(box, "2026-11-15T06:58:00+00:00")
    differs, bad = made(box, "differs"), made(box, "bad")
    assert damaged_files.is_due(pool)

    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        inode = {"fsmap -d 32 39": differs, "fsmap -d 16 23": bad}.get(argv[3])
        row = f"inode {inode} data 0..7 8" if inode else "free space 8"
        return Result(0, f"\t0: 9:127 [16..23]: {row}\n", "")

    assert damaged_files.search(pool, run).files == ["data/bad", "data/differs"]
    kept = load().files
    assert kept is not None and (kept.count, kept.names, kept.complete) == (1, ["data/differs"], True)
    assert not damaged_files.is_due(pool)
    mismatched(box, "2036-11-15T06:58:00+00:00")
    assert damaged_files.is_due(pool)
    # of a check whose clock was ahead they are searched for once, and not until that year
    damaged_files.search(pool, run)
    assert not damaged_files.is_due(pool)


def test_check_without_mismatches_needs_no_search(box: Box) -> None:
    assert not damaged_files.is_due(read_model(paths.pool_file(), Pool))


def test_tool_that_fails_is_an_error() -> None:
    with pytest.raises(Failed, match="no such command"):
        owners([Area(0, 8)], "/srv/pool", lambda argv, stdin=None: Result(1, "", "no such command"))


@pytest.fixture
def xfs(monkeypatch: pytest.MonkeyPatch) -> Xfs:
    """The pool is on XFS; which files there are in it is of no concern."""
    made = Xfs()
    monkeypatch.setattr(fcntl, "ioctl", made.ioctl)
    for number, (above, name) in enumerate([(ROOT, b"data"), (ROOT, os.fsencode(paths.POOL_OWN)), (1000, b"deep")]):
        made.directory(1000 + number, above, name)
    return made


def test_parent_pointers_name_files_without_a_walk(box: Box, xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_names, "regular_files", None)
    xfs.add(5000, (1002, b"vic\ntim\x1b[2J\xff"), (1000, b"link"))
    found = search(["inode 5000 data 0..7 8"])
    assert found.files == ["data/deep/vic\\ntim\\x1b[2J\\xff", "data/link"]
    assert (found.complete, found.others, found.notes) == (True, ["free space"], [])


def test_what_is_no_file_of_a_client_is_named_as_what_it_is(box: Box, xfs: Xfs) -> None:
    xfs.add(5000, (1001, b"heartbeat"))
    xfs.add(5001, (1000, b"link"), mode=stat.S_IFLNK | 0o777)
    rows = ["inode 5000 data 0..7 8", "inode 5001 data 0..7 8", "inode 1002 data 0..7 8", "inode 1001 data 0..7 8"]
    report = search(rows)
    assert (report.files, report.complete) == ([], True)
    assert report.others == [
        "free space",
        "directory of the server .millrace",
        "directory data/deep",
        "file of the server .millrace/heartbeat",
        "symbolic link data/link",
    ]
    assert damaged_files.notes(report)[2] == "directory data/deep is in a damaged area"


def test_share_that_begins_like_the_directory_of_the_server_is_of_a_client(box: Box, xfs: Xfs) -> None:
    xfs.directory(2000, ROOT, os.fsencode(f"{paths.POOL_OWN}-of-mine"))
    xfs.add(5000, (2000, b"victim"))
    assert search(["inode 5000 data 0..7 8"]).files == [".millrace-of-mine/victim"]


def test_file_removed_meanwhile_is_dropped(box: Box, xfs: Xfs) -> None:
    found = search(["inode 5000 data 0..7 8"])
    assert (found.files, found.others, found.complete) == ([], ["free space"], True)


def test_file_with_more_names_than_are_listed_says_so(box: Box, xfs: Xfs) -> None:
    xfs.add(5000, *((1000, b"%04d" % number) for number in range(1000)))
    found = search(["inode 5000 data 0..7 8"])
    assert len(found.files) == file_names.MOST
    assert damaged_files.notes(found)[-1] == f"data/0000 has 1000 names, of which {file_names.MOST} are listed"


def test_names_that_are_all_too_long_are_one_note(box: Box, xfs: Xfs) -> None:
    above = 1000
    for number in range(20):
        above = xfs.directory(2000 + number, above, b"d" * 255)
    xfs.add(5000, *((above, b"%d" % number) for number in range(500)))
    found = search(["inode 5000 data 0..7 8"])
    assert (found.files, found.notes, found.complete) == ([], [], True)
    assert found.others[-1].startswith(
        "file with inode 5000, which has a path of more than 4096 bytes that ends in ddd"
    )


def test_inode_that_cannot_be_read_leaves_the_others(box: Box, xfs: Xfs) -> None:
    xfs.add(5000, (1000, b"bad"))
    xfs.add(5001, (1000, b"good"))
    xfs.nodes[5000].problem = errno.EUCLEAN
    found = search(["inode 5000 data 0..7 8", "inode 5001 data 0..7 8"])
    assert (found.files, found.complete) == (["data/good"], True)
    assert found.others[-1] == "inode 5000, whose name cannot be read (Structure needs cleaning)"


def test_many_inodes_that_take_too_long_are_counted(box: Box, xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_names, "LIMIT", -1.0)
    xfs.add(5000, (1000, b"victim"))
    found = search(["inode 5000 data 0..7 8"])
    assert (found.files, found.complete) == ([], False)
    assert damaged_files.notes(found)[-1] == f"{file_names.UNFINISHED}: 1 inode has no name yet"


def test_pool_without_parent_pointers_is_walked(box: Box, xfs: Xfs) -> None:
    xfs.flags = V5_OF_6_1
    inode = made(box, "deep/victim")
    assert search([f"inode {inode} data 0..7 8"]).files == ["data/deep/victim"]
