# SPDX-License-Identifier: Apache-2.0
"""After an unclean start an administrator sees which files may be damaged, and acknowledges them."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from millrace.cli.program import command
from millrace.observe.health import heartbeat_daemon
from millrace.observe.health.checks import unclean as check
from millrace.observe.health.host import Host
from millrace.storage.array import dirty_regions
from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import Suspects
from millrace.storage.record.model import Pool
from millrace.storage.unclean import suspects
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Refused
from tests.fakes.files.box import Box
from tests.unit.storage.scrub.xfs import Xfs
from tests.unit.storage.unclean.searched import (
    CHUNK,
    DATA,
    DISKS,
    MISSING,
    NO_PARITY,
    OUTSIDE,
    block,
    found,
    outside,
    says,
    search,
    start,
    torn,
)


def test_owner_of_the_missing_chunk_in_a_torn_row_is_named_however_old_it_is(xfs: Xfs) -> None:
    xfs.file("data/old", [block(4, MISSING, 16)])
    xfs.file("data/same-chunk", [block(4, MISSING, 24)])
    xfs.file("data/other-row", [block(5, MISSING, 16)])
    torn((4 * CHUNK + 16, 4 * CHUNK + 24))
    xfs.file("data/new", [block(4, 8, 16)])
    assert found(xfs) == Suspects(count=1, listed=1, complete=True, by_parity=1)
    assert suspects.names() == ["data/old"]
    assert paths.suspects_file().stat().st_mode & 0o777 == 0o600


def test_row_whose_parity_is_missing_damages_nothing(xfs: Xfs) -> None:
    for slot in set(range(DISKS)) - {DISKS - 1, 0}:
        xfs.file(f"data/{slot}", [block(0, slot)])
    torn((0, 8), slots=[DISKS - 1])
    assert found(xfs) == Suspects(count=0, listed=0, complete=True)


def test_no_torn_row_is_no_damage(xfs: Xfs) -> None:
    torn()
    xfs.file("data/new", [block(4, 8)])
    assert found(xfs) == Suspects(count=0, listed=0, complete=True)


def test_metadata_and_what_has_no_name_in_torn_rows_are_shown(xfs: Xfs) -> None:
    xfs.metadata(block(4, MISSING))
    xfs.owners[block(4, MISSING, 8)] = {(4711, 0)}
    torn((4 * CHUNK, 4 * CHUNK + 24))
    seen = found(xfs)
    assert seen.others == ["inode btree", "inode 4711: a directory, a file of the server, or removed meanwhile"]
    assert (seen.count, seen.complete) == (0, True)


def test_every_chunk_of_the_row_is_in_doubt_where_the_slot_is_not_known(box: Box, xfs: Xfs) -> None:
    for slot in range(1, 9):
        xfs.file(f"data/{slot}", [block(0, slot)])
    torn((0, 8), slots=None)
    assert found(xfs).count == 8
    box.md("data", layout="0")
    torn((0, 8))
    assert found(xfs).count == 8


def test_slots_that_an_older_release_did_not_record_are_those_of_the_missing_members(xfs: Xfs) -> None:
    for slot in range(1, 9):
        xfs.file(f"data/{slot}", [block(0, slot)])
    (data,) = [array for array in read_model(paths.pool_file(), Pool).arrays if array.array.name == "data"]
    lost = data.members[MISSING].serial
    torn((0, 8), slots=None, missing=[lost])
    assert found(xfs).count == 1 and suspects.names() == [f"data/{MISSING}"]
    # one of them is not a member any more
    torn((0, 8), slots=None, missing=[lost, "GONE"])
    assert found(xfs).count == 8
    torn((0, 8), slots=None, missing=[lost], outside=True)
    assert found(xfs).count == 8


def test_without_parity_the_neighbours_of_new_files_are_a_guess(xfs: Xfs) -> None:
    xfs.file("data/old", [block(4, MISSING, 16)])
    xfs.file("data/not-in-that-row", [block(4, MISSING, 32)])
    xfs.metadata(block(8, MISSING))
    start()
    xfs.file("data/new", [block(4, 8, 16), block(8, 5)])
    seen = found(xfs)
    assert (seen.count, seen.by_parity, seen.complete, seen.others) == (1, 0, False, ["inode btree"])
    assert seen.notes == [NO_PARITY]
    assert suspects.names() == ["data/old"]


def test_new_file_in_the_missing_chunk_itself_is_listed_whatever_time_a_client_gave_it(xfs: Xfs) -> None:
    start()
    xfs.file("data/deep/new", [block(4, MISSING)])
    os.utime(xfs.top / "data/deep/new", (0, 0))
    assert (found(xfs).count, suspects.names()) == (1, ["data/deep/new"])


def test_long_file_is_followed_through_all_its_rows(xfs: Xfs) -> None:
    xfs.file("data/old", [block(12, MISSING)])
    start()
    xfs.file("data/long", [number for number in range(8 * DATA * 16, 14 * DATA * 16) if number != block(12, MISSING)])
    found(xfs)
    assert suspects.names() == ["data/long", "data/old"]


def test_failed_check_is_a_guess_with_its_reason(xfs: Xfs) -> None:
    start(check="failed", problem="another member failed before the check had ended")
    assert found(xfs).notes == [
        "array data: other files are possible, the rows in doubt are a guess (another member failed before the check "
        "had ended)"
    ]


@pytest.mark.parametrize(
    "clock", [{"dated": False}, {"last_write": (datetime.now(UTC) + timedelta(days=2)).isoformat()}]
)
def test_wrong_clock_makes_no_list_complete(xfs: Xfs, clock: dict[str, Any]) -> None:
    xfs.file("data/old", [block(4, MISSING, 16)])
    start(**clock)
    xfs.file("data/new", [block(4, 8, 16)])
    seen = found(xfs)
    assert seen.complete is False
    assert seen.notes[1] == "array data: the clock was wrong, so files written last may be missing from the search"


def test_start_before_the_last_write_hides_no_file(xfs: Xfs) -> None:
    """The clock of the server that starts the array is years back: no end of the window."""
    start(started="2001-01-01T00:00:00+00:00", dated=False)
    xfs.file("data/new", [block(4, MISSING)])
    assert found(xfs).count == 1


def test_files_changed_long_before_are_no_suspects(xfs: Xfs) -> None:
    xfs.file("data/other", [block(4, MISSING)])
    start()
    assert (found(xfs).count, found(xfs).complete) == (0, False)


def test_minutes_before_the_last_superblock_count(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "MARGIN", 120.0)
    xfs.file("data/other", [block(4, MISSING)])
    start(last_write=(datetime.now(UTC) + timedelta(seconds=60)).isoformat())
    assert found(xfs).count == 1


def test_log_without_its_mirror_is_in_doubt_and_has_no_file(xfs: Xfs) -> None:
    start(array="log", level="raid1")
    xfs.file("data/new", [block(4, MISSING)])
    assert found(xfs) == Suspects(count=0, listed=0, complete=True)


def test_links_are_not_followed_and_only_files_count(xfs: Xfs, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    start()
    (outside / "secret").write_text("x")
    xfs.owners[block(4, MISSING)] = {((outside / "secret").stat().st_ino, 0)}
    (xfs.top / "directory").symlink_to(outside)
    (xfs.top / "file").symlink_to(outside / "secret")
    os.mkfifo(xfs.top / "pipe")
    assert found(xfs).count == 0


def test_a_name_with_any_bytes_is_one_line(xfs: Xfs) -> None:
    start()
    xfs.file("a\nb\x1b[2J", [block(4, MISSING)])
    xfs.file(os.fsdecode(b"\xff"), [block(5, MISSING)])
    found(xfs)
    assert suspects.names() == ["\\xff", "a\\nb\\x1b[2J"]


@pytest.mark.parametrize(
    ("regions", "names"),
    [([], []), ([{"begin": 4 * CHUNK, "end": 5 * CHUNK}], ["old"]), ([{"begin": 0, "end": 8}], []), (None, ["old"])],
)
def test_rows_are_searched_in_the_regions_that_were_recorded_at_the_start(
    xfs: Xfs, monkeypatch: pytest.MonkeyPatch, regions: list[dict[str, int]] | None, names: list[str]
) -> None:
    # md has cleared the bitmap: the missing member is rebuilt
    monkeypatch.setattr(dirty_regions, "regions", lambda _: [])
    start(regions=regions)
    xfs.file("old", [block(4, MISSING)])
    os.utime(xfs.top / "old", (0, 0))
    xfs.file("new", [block(4, 8)])
    found(xfs)
    assert suspects.names() == names


def test_what_an_older_member_lacks_is_searched_everywhere(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that left before others was started with: md has cleared what was written since, and one file has only
    its chunks."""
    monkeypatch.setattr(dirty_regions, "regions", lambda _: [])
    start(older=True, regions=[])
    xfs.file("same-row", [block(4, MISSING, 16)])
    os.utime(xfs.top / "same-row", (0, 0))
    xfs.file("of-the-older-one", [block(4, 8, 16)])
    seen = found(xfs)
    assert suspects.names() == ["of-the-older-one", "same-row"]
    assert seen.notes == [OUTSIDE]


def test_all_files_written_since_a_member_left_are_in_doubt_after_a_start_by_hand(
    xfs: Xfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    # md has cleared the bitmap of an array that is complete
    monkeypatch.setattr(dirty_regions, "regions", lambda _: [])
    xfs.file("data/long-ago", [block(9, 8)])
    xfs.file("data/same-row", [block(4, MISSING, 16)])
    time.sleep(0.02)
    monday = datetime.now(UTC)
    time.sleep(0.02)
    xfs.file("data/of-tuesday", [block(4, 8, 16)])
    xfs.file("data/without-data", [])
    outside(since=monday.isoformat())
    seen = found(xfs)
    assert suspects.names() == ["data/of-tuesday", "data/same-row", "data/without-data"]
    assert (seen.count, seen.by_parity, seen.complete, seen.notes) == (3, 0, False, [OUTSIDE])
    shown = says(command("pool"), "unclean")
    assert "files that are a guess, written since the first member left, or in rows that were written last:" in shown
    (finding,) = check.check(Host())
    assert "(3 files found), and others are possible" in finding.sentence


def test_start_by_hand_whose_first_failure_is_not_known_says_so(xfs: Xfs) -> None:
    outside(dated=False)
    seen = found(xfs)
    assert (seen.count, seen.complete) == (0, False)
    assert seen.notes == [OUTSIDE, "array data: files are missing from the list if its first member left earlier"]
    assert says(command("pool"), "unclean").endswith("no file was found; others are possible\n")


def test_an_empty_mount_point_is_not_searched(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    monkeypatch.setattr(os.path, "ismount", lambda _: False)
    with pytest.raises(Refused, match="not mounted"):
        search(xfs)


def test_it_is_searched_once(xfs: Xfs) -> None:
    torn((4 * CHUNK, 5 * CHUNK))
    found(xfs)
    xfs.file("later", [block(4, MISSING)])
    assert found(xfs) == Suspects(count=0, listed=0, complete=True)


def during(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Something happens while the pool is searched."""
    walk = os.fwalk

    def walking(*given: Any, **more: Any) -> Any:
        happens()
        return walk(*given, **more)

    monkeypatch.setattr(os, "fwalk", walking)


def test_an_acknowledgement_during_the_search_stays(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    xfs.file("one", [block(4, MISSING)])
    during(monkeypatch, unclean.acknowledge)
    assert search(xfs) is None
    assert unclean.pending() is None and suspects.names() == []


def test_a_start_during_the_search_is_searched_for_next(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    during(monkeypatch, lambda: start(level="raid5"))
    answer = search(xfs)
    assert answer is not None and answer.suspects is None


def test_nothing_is_searched_where_no_start_was_unclean(xfs: Xfs) -> None:
    assert search(xfs) is None


def test_the_heartbeat_of_the_pool_is_no_file_in_doubt(xfs: Xfs) -> None:
    start()
    xfs.file("data/.millrace/of-a-client", [block(4, MISSING)])
    xfs.file(f"{paths.POOL_OWN}/{heartbeat_daemon.FILE}", [block(5, MISSING)])
    found(xfs)
    assert suspects.names() == ["data/.millrace/of-a-client"]
