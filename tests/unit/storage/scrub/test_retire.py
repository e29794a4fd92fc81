# SPDX-License-Identifier: Apache-2.0
"""Areas that are lost for good become blocks of the server; what still reads keeps its data."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import load
from millrace.storage.scrub import remap, retire
from millrace.storage.scrub.retire import Retirement
from millrace.system import paths, reflink
from millrace.system.documents import read_model
from millrace.system.errors import Refused
from millrace.system.run import Result, Runner
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.fakes.jobs import shown
from tests.unit.storage.scrub.xfs import BYTES, Xfs

# The first sectors of the areas: one row of each data chunk of the second stripe.
AREAS = [(8 + disk) * 128 + 32 for disk in range(8)]
FIRST, SECOND = AREAS[0] // 8, AREAS[1] // 8


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """Three members of a RAID6 do not have the same row."""
    with server(tmp_path) as made:
        made.provision()
        for number in (3, 4, 5):
            made.md("data", **{f"dev-nvme{number}n1p2/bad_blocks": "160 8", f"dev-nvme{number}n1p2/offset": "0"})
        yield made


@pytest.fixture
def xfs(box: Box, monkeypatch: pytest.MonkeyPatch) -> Xfs:
    """A file that has lost its second block, one that only has a block in the row, and free space behind a file."""
    made = Xfs(box.root / "srv/pool", monkeypatch)
    made.unreadable.add(FIRST)
    return made


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def run(xfs: Xfs, zero: bool = False) -> Retirement:
    return retire.retire(pool(), runner(xfs), zero)


def runner(xfs: Xfs) -> Runner:
    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        if argv[0] == "systemctl":
            assert list(argv[:3]) == ["systemctl", "show", "--property=Id,ActiveState,Job"]
            return shown(argv[3:], {})
        assert list(argv[:3]) == ["xfs_io", "-r", "-c"]
        return xfs.fsmap(argv[3], argv[4])

    return run


def everywhere(xfs: Xfs) -> bytes:
    """A file with all of these areas; the last is shorter than a block."""
    blocks = [block for area in AREAS for block in (area // 8 - 1, area // 8)]
    return xfs.file("data/victim", blocks, size=16 * BYTES - 100)


def rows() -> list[tuple[int, int]]:
    [data] = [one for one in load().arrays if one.array == "data"]
    return [(one.begin, one.end) for one in data.retired]


def test_survey_names_the_files_and_changes_nothing(box: Box, xfs: Xfs) -> None:
    content = everywhere(xfs)
    before = {block: set(owners) for block, owners in xfs.owners.items()}
    survey = retire.survey(pool(), runner(xfs))
    assert (survey.unreadable, survey.readable, survey.sectors, survey.retired) == (["data/victim"], [], 64, 0)
    assert (xfs.owners, (xfs.top / "data/victim").read_bytes()) == (before, content)
    assert load().arrays == []
    said = list(retire.explained(survey, zero=True))
    assert said[0] == "64 sectors of the pool are lost or cannot be written; 0 of them are retired"
    assert said[-1] == "Where the data of these files are lost, they read as zeros afterwards. This cannot be undone."
    assert "or use --zero-files" in list(retire.explained(survey, zero=False))[-1]


def test_blocks_that_read_are_moved_and_the_lost_one_stays_without_a_word_of_the_administrator(
    box: Box, xfs: Xfs
) -> None:
    content = everywhere(xfs)
    retirement = run(xfs)
    assert (xfs.top / "data/victim").read_bytes() == content
    assert (retirement.sectors, retirement.retired, retirement.unreadable) == (64, 56, ["data/victim"])
    assert retirement.left == [
        "data/victim: data are lost; restore it under another name and delete it, or use --zero-files"
    ]
    assert "data/victim" in xfs.of(AREAS[0]) and rows() == []
    assert [xfs.of(area) for area in AREAS[1:]] == [{f".millrace/retired/{area}"} for area in AREAS[1:]]


def test_confirmed_loss_reads_as_zeros_and_the_row_is_recorded(box: Box, xfs: Xfs) -> None:
    content = everywhere(xfs)
    found = run(xfs, zero=True)
    assert (found.retired, found.left) == (64, [])
    lost = content[:BYTES] + bytes(BYTES) + content[2 * BYTES :]
    assert (xfs.top / "data/victim").read_bytes() == lost
    assert rows() == [(160, 168)]
    assert all(xfs.of(area) == {f".millrace/retired/{area}"} for area in AREAS)
    # blocks that are not in the areas are touched by nothing
    assert xfs.of(AREAS[0] - 8) == {"data/victim"}


def test_second_run_has_nothing_to_do(box: Box, xfs: Xfs) -> None:
    everywhere(xfs)
    run(xfs, zero=True)
    before = {block: set(owners) for block, owners in xfs.owners.items()}
    found = run(xfs, zero=True)
    assert (found.retired, found.unreadable, found.readable, found.left) == (64, [], [], [])
    assert xfs.owners == before


def test_file_that_is_open_is_not_zeroed(box: Box, xfs: Xfs) -> None:
    content = everywhere(xfs)
    xfs.open_elsewhere = True
    found = run(xfs, zero=True)
    assert found.left == ["data/victim: it is open; close it on the clients, and run this again"]
    assert (xfs.top / "data/victim").read_bytes() == content and rows() == []
    xfs.open_elsewhere = False
    assert run(xfs, zero=True).retired == 64


def test_free_space_is_taken_by_a_file_and_nothing_else_of_it(box: Box, xfs: Xfs) -> None:
    xfs.file("data/before", [FIRST - 3])
    found = run(xfs)
    assert (found.retired, found.left, rows()) == (64, [], [(160, 168)])
    assert {name for area in AREAS for name in xfs.of(area)} == {f".millrace/retired/{AREAS[0]}"}
    taken = [block for block in sorted(xfs.owners) if xfs.of(block * 8) & {f".millrace/retired/{AREAS[0]}"}]
    assert taken == [area // 8 for area in AREAS]
    assert (xfs.top / "data/before").stat().st_size == BYTES


def test_free_space_behind_metadata_stays_and_is_reported(box: Box, xfs: Xfs) -> None:
    xfs.metadata(FIRST - 1)
    xfs.file("data/before", [SECOND - 2])
    found = run(xfs)
    assert (found.retired, found.left, rows()) == (56, ["free space stays in a lost area"], [])
    assert not list((xfs.top / ".millrace/retired").glob("*.new"))


def test_metadata_in_the_area_is_reported(box: Box, xfs: Xfs) -> None:
    xfs.metadata(FIRST)
    xfs.file("data/before", [FIRST + 1])
    found = run(xfs)
    assert (found.retired, found.left) == (56, ["inode btree stays in a lost area"])


def test_file_without_a_name_is_reported(box: Box, xfs: Xfs) -> None:
    xfs.file(".millrace/heartbeat", [FIRST])
    xfs.file("data/before", [FIRST + 1])
    inode = (xfs.top / ".millrace/heartbeat").stat().st_ino
    [said] = run(xfs).left
    assert said.startswith(f"inode {inode} (a directory, a file of the server, or ")


def test_damaged_file_that_was_deleted_leaves_free_space_that_is_taken(box: Box, xfs: Xfs) -> None:
    xfs.file("data/before", [FIRST - 3])
    everywhere(xfs)
    run(xfs)
    (xfs.top / "data/victim").unlink()
    assert run(xfs).retired == 64


def test_client_that_writes_meanwhile_loses_nothing(box: Box, xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    xfs.unreadable.clear()
    xfs.file("data/busy", [FIRST])
    xfs.file("data/before", [FIRST + 1])
    new, dedupe, tries = os.urandom(BYTES), remap.dedupe, list[int]()

    def written_before(source: int, offset: int, length: int, target: int, at: int) -> bool:
        if not tries:
            (xfs.top / "data/busy").write_bytes(new)
        tries.append(1)
        return dedupe(source, offset, length, target, at)

    monkeypatch.setattr(remap, "dedupe", written_before)
    assert run(xfs).retired == 64
    assert (len(tries), (xfs.top / "data/busy").read_bytes()) == (2, new)


def test_client_that_has_written_a_lost_block_keeps_what_it_wrote(
    box: Box, xfs: Xfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere(xfs)
    inode, new, clone = (xfs.top / "data/victim").stat().st_ino, os.urandom(BYTES), reflink.clone_range

    def written_after(source: int, offset: int, length: int, target: int, at: int) -> None:
        clone(source, offset, length, target, at)
        if offset == BYTES:
            # a shared block is not overwritten: the file gets another one
            xfs.owners[FIRST].discard((inode, BYTES))
            xfs.owners[3000] = {(inode, BYTES)}
            with (xfs.top / "data/victim").open("r+b") as file:
                os.pwrite(file.fileno(), new, BYTES)

    monkeypatch.setattr(reflink, "clone_range", written_after)
    assert run(xfs, zero=True).retired == 64
    assert (xfs.top / "data/victim").read_bytes()[BYTES : 2 * BYTES] == new


@pytest.mark.parametrize("call", range(1, 16))
def test_run_that_was_killed_is_repeated(box: Box, xfs: Xfs, monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    xfs.file("data/before", [FIRST - 3])
    content = xfs.file("data/victim", [FIRST, SECOND, SECOND + 1])
    calls = list[int]()

    def dying(module: ModuleType, name: str) -> None:
        whole = getattr(module, name)

        def then(*arguments: int) -> object:
            calls.append(1)
            if len(calls) == call:
                raise KeyboardInterrupt
            return whole(*arguments)

        monkeypatch.setattr(module, name, then)

    dying(reflink, "clone_range")
    for name in ("dedupe", "punch", "preallocate"):
        dying(remap, name)
    try:
        run(xfs, zero=True)
    except KeyboardInterrupt:
        assert (xfs.top / "data/victim").read_bytes()[BYTES:] == content[BYTES:]
    assert run(xfs, zero=True).retired == 64
    assert (xfs.top / "data/victim").read_bytes() == bytes(BYTES) + content[BYTES:]
    assert not list((xfs.top / ".millrace/retired").glob("*.new"))


def test_what_is_not_lost_is_refused(box: Box, xfs: Xfs) -> None:
    box.md("data", **{"dev-nvme5n1p2/bad_blocks": ""})
    with pytest.raises(Refused, match="no area of an array with data is lost; see `millrace health`"):
        run(xfs)


def test_array_that_is_degraded_is_refused_as_the_member_may_return(box: Box, xfs: Xfs) -> None:
    box.md("data", degraded="1")
    with pytest.raises(Refused, match="nothing is retired now: array data is degraded"):
        run(xfs)
    assert not (xfs.top / ".millrace/retired").exists()
