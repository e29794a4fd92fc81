# SPDX-License-Identifier: Apache-2.0
"""P against Q tells the torn rows of a RAID6 without one member; they are recorded before anything corrects them."""

import os
import struct
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from millrace.storage.array import dirty_regions
from millrace.storage.array.area import Area
from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import TornRows, Unclean, UncleanStarts
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import load_pool
from millrace.storage.scrub.scrub_watch import CheckContext
from millrace.storage.unclean import suspects, torn_rows, unclean_find
from millrace.system import paths, sysfs
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.unit.storage.scrub.md_check import SECTORS, Md

MISSING = 3
REGION = 4096
"""Sectors of each member in a region of the bitmap of these tests."""


@pytest.fixture
def md(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Md]:
    """A server whose data array was started without a member after a power cut, and waits for its check."""
    with server(tmp_path) as box:
        box.provision()
        made = Md(box, datetime.fromisoformat("2026-11-23T01:05:00+00:00"))
        monkeypatch.setattr(sysfs, "write", made.write)
        box.md("data", degraded="1", layout="2", **{f"rd{n}/state": "in_sync" for n in range(10) if n != MISSING})
        start()
        yield made


def start(**more: Any) -> None:
    known = {
        "array": "data",
        "level": "raid6",
        "last_write": "2026-11-23T01:00:00+00:00",
        "started": "2026-11-23T01:04:00+00:00",
        "missing": ["D3"],
        "slots": [MISSING],
        "check": "waiting",
    }
    write_model(paths.unclean_file(), UncleanStarts(starts=[Unclean.model_validate(known | more)]))


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def one() -> Unclean:
    known = unclean.pending()
    assert known is not None
    return known.starts[0]


def context(md: Md, asked: list[str] | None = None) -> CheckContext:
    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        if argv[0] == "xfs_io":
            if asked is not None:
                asked.append(argv[3])
            return Result(0, "", "")
        return md.run(argv, stdin)

    return CheckContext(run, md.wait, lambda: md.now, lambda: md.seconds)


def find(md: Md, asked: list[str] | None = None) -> list[str]:
    said: list[str] = []
    unclean_find.find(pool(), context(md, asked), said.append)
    return said


def bitmap(box: Box, member: str, bits: bytes, **wrong: Any) -> None:
    """The write-intent bitmap of a member as md writes it, 8 sectors behind the superblock."""
    known = {"magic": b"bitm", "version": 4, "size": SECTORS["data"], "state": 0, "chunk": REGION * 512} | wrong
    header = struct.pack(
        "<4sI16sQQQIII",
        known["magic"],
        known["version"],
        bytes(16),
        7,
        5,
        known["size"],
        known["state"],
        known["chunk"],
        5,
    )
    path = box.root / "dev" / member
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(bytes(16 * 512) + header.ljust(256, b"\0") + bits)


def with_bitmap(box: Box, bits: Sequence[int], **wrong: Any) -> None:
    box.md("data", metadata_version="1.2", **{"bitmap/location": "+8"})
    text = bytes([sum(1 << bit for bit in bits)])
    for entry in (box.root / "sys/class/block" / device() / "md").glob("dev-*"):
        (entry / "state").write_text("in_sync\n")
        bitmap(box, entry.name.removeprefix("dev-"), text, **wrong)


def device() -> str:
    return Path(os.readlink(paths.ROOT / "dev/md/millrace-data")).name


def test_member_that_is_missing_by_now_does_not_narrow_the_search_after_a_forced_start(md: Md) -> None:
    """The members may differ in any chunk, whichever of them is missing when the search begins."""
    start(outside=True, missing=[], slots=None, check="none")
    find(md, [])
    assert one().slots is None


def test_torn_rows_are_recorded_then_searched_then_repaired(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    md.bad["data"] = [104, 9000]
    asked: list[str] = []
    recorded: list[tuple[str, bool]] = []
    searched = suspects.search

    def watched(*given: Any) -> Any:
        recorded.append((one().check, bool(md.repaired)))
        return searched(*given)

    monkeypatch.setattr(suspects, "search", watched)
    assert find(md, asked) == []
    assert recorded == [("found", False)]
    assert one().slots == [MISSING]
    assert (one().check, one().torn) == ("done", [TornRows(begin=104, end=112), TornRows(begin=9000, end=9008)])
    assert one().rough is False
    assert md.repaired == [("data", 104), ("data", 9000)]
    assert md.members_added == 1
    # only the missing chunks of these rows: stripe 0 has P on the last slot, stripe 70 the same
    assert asked == [
        f"fsmap -d {2 * 128 + 104} {2 * 128 + 111}",
        f"fsmap -d {(70 * 8 + 2) * 128 + 40} " + str((70 * 8 + 2) * 128 + 47),
    ]
    # the limits of a rebuild are left as they are
    assert set(md.limits) == {("100000 (system)", "4000000 (local)")}


def test_array_without_a_torn_row_is_told_so(md: Md) -> None:
    find(md)
    assert (one().check, one().torn, md.repaired, md.members_added) == ("done", [], [], 1)
    known = unclean.pending()
    assert known is not None and known.suspects == unclean.Suspects(count=0, listed=0, complete=True)


def test_only_dirty_regions_are_read(md: Md) -> None:
    with_bitmap(md.box, [1, 3])
    md.bad["data"] = [104, 4200]
    find(md)
    # 104 is not in a region that was written
    assert one().torn == [TornRows(begin=4200, end=4208)]
    assert [begin for _, begin in md.begun][:2] == [REGION, 3 * REGION]


def test_places_that_the_kernel_did_not_log_are_found_by_reading_again(md: Md) -> None:
    md.logs = False
    md.bad["data"] = [4200]
    find(md)
    (row,) = one().torn
    assert row.begin <= 4200 < row.end and row.end - row.begin < 4096
    assert one().rough is True


def test_restart_in_the_middle_of_the_check_repeats_it(md: Md) -> None:
    md.bad["data"] = [104]
    md.during = lambda: setattr(md, "asked", True)
    (said,) = find(md)
    assert "begins again at the next start" in said
    assert (one().check, md.repaired, md.members_added) == ("waiting", [], 0)
    assert md.get("data", "sync_action") == "idle"
    md.during, md.asked = (lambda: None), False
    find(md)
    assert one().torn == [TornRows(begin=104, end=112)]


def test_check_that_a_kill_has_left_is_ended_first(md: Md) -> None:
    md.bad["data"] = [104]
    md.write(md.box.root / "sys/class/block" / device() / "md/sync_max", "128")
    md.write(md.box.root / "sys/class/block" / device() / "md/sync_action", "check")
    find(md)
    assert one().torn == [TornRows(begin=104, end=112)]


def test_kill_between_the_list_and_the_repair_is_repaired_later(md: Md) -> None:
    md.bad["data"] = [104]
    start(check="found", torn=[TornRows(begin=104, end=112)], slots=[MISSING])
    find(md)
    assert (one().check, md.repaired) == ("done", [("data", 104)])


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({"degraded": "2"}, "another member failed before the check had ended"),
        ({"degraded": "0"}, "the array was rebuilt before the check had ended"),
        ({"sync_action": "recover"}, "md reports recover, which corrects the parity that tells torn rows"),
    ],
)
def test_array_that_cannot_tell_any_more_is_a_guess_and_holds_no_member(
    md: Md, state: dict[str, str], problem: str
) -> None:
    md.box.md("data", **state)
    find(md)
    assert (one().check, one().problem, md.members_added) == ("failed", problem, 1)
    known = unclean.pending()
    assert known is not None and known.suspects is not None and known.suspects.complete is False


def test_second_failure_during_the_check_ends_it(md: Md) -> None:
    def another() -> None:
        md.fail("data")
        md.box.md("data", degraded="2")

    md.during = another
    find(md)
    assert (one().check, one().problem) == ("failed", "another member failed before the check had ended")


def test_kernel_that_refuses_a_check_makes_it_a_guess(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, value: str) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(sysfs, "write", refused)
    find(md)
    assert (one().check, one().problem) == ("failed", "md does not check the array: Invalid argument")


def test_check_that_somebody_ended_is_begun_again(md: Md) -> None:
    md.bad["data"] = [104]
    ended: list[bool] = []

    def once() -> None:
        if not ended:
            ended.append(True)
            md.write(md.box.root / "sys/class/block" / device() / "md/sync_action", "idle")

    md.during = once
    find(md)
    assert one().torn == [TornRows(begin=104, end=112)]


def test_boot_drive_that_takes_no_record_keeps_no_member_away(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(unclean, "write_model", full)
    with pytest.raises(Failed, match="torn rows cannot be recorded: No space left on device"):
        find(md)
    assert (one().check, unclean.holds("data"), md.members_added) == ("waiting", False, 1)


def test_start_that_is_recorded_during_the_search_is_searched_for_too(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    searched, search = list[int](), suspects.search

    def during(*given: Any) -> Any:
        starts = unclean.pending()
        assert starts is not None
        searched.append(len(starts.starts))
        if len(searched) == 1:
            record = next(one for one in load_pool().arrays if one.array.name == "data")
            unclean.add_outside(record, 1.0, 1.0, True, "2026-11-20T11:00:00+00:00")
            return unclean.pending()
        return search(*given)

    monkeypatch.setattr(suspects, "search", during)
    find(md)
    known = unclean.pending()
    assert searched == [1, 2] and known is not None and known.suspects is not None


def test_acknowledgement_ends_the_check(md: Md) -> None:
    def acknowledged() -> None:
        unclean.acknowledge()

    md.during = acknowledged
    find(md)
    assert unclean.pending() is None
    assert md.get("data", "sync_action") == "idle" and md.members_added == 1


def test_search_that_fails_keeps_no_member_away(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    md.bad["data"] = [104]
    monkeypatch.setattr(os.path, "ismount", lambda _: False)
    with pytest.raises(Refused, match="not mounted"):
        find(md)
    assert (one().check, md.members_added, md.repaired) == ("found", 1, [])


def test_rows_are_not_repaired_again_where_md_rebuilds(md: Md) -> None:
    start(check="found", torn=[TornRows(begin=104, end=112)], slots=[MISSING])
    md.box.md("data", sync_action="recover")
    find(md)
    assert (one().check, md.begun) == ("done", [])


def test_regions_of_any_member_count(md: Md) -> None:
    with_bitmap(md.box, [1])
    bitmap(md.box, sorted(path.name for path in (md.box.root / "dev").glob("nvme*p2"))[0], bytes([0b1001]))
    assert dirty_regions.regions(device()) == [Area(0, 2 * REGION), Area(3 * REGION, SECTORS["data"])]


@pytest.mark.parametrize(
    "wrong",
    [{"magic": b"gone"}, {"version": 6}, {"state": 2}, {"chunk": 0}, {"size": 8}],
    ids=["magic", "lockless", "stale", "no region", "shorter than the array"],
)
def test_everything_is_dirty_where_the_bitmap_does_not_tell(md: Md, wrong: dict[str, Any]) -> None:
    with_bitmap(md.box, [1], **wrong)
    assert dirty_regions.regions(device()) == [Area(0, SECTORS["data"])]


def test_bitmap_that_is_all_dirty_is_one_region(md: Md, tmp_path: Path) -> None:
    header = struct.pack("<4sI16sQQQIII", b"bitm", 4, bytes(16), 7, 5, 20 * 10**12 // 512, 0, 64 << 20, 5)
    for bits, found in ((b"\xff" * 40_000, [(0, 298_024)]), (b"\x01\x80" * 3, [(0, 1), (15, 17), (31, 33), (47, 48)])):
        (tmp_path / "one").write_bytes(header.ljust(256, b"\0") + bits.ljust(40_000, b"\0"))
        (tmp_path / "other").write_bytes(header.ljust(256, b"\0") + bytes(40_000))
        seen = dirty_regions._together(
            [dirty_regions._read(tmp_path / name, 0, 20 * 10**12 // 512) for name in ("one", "other")]
        )
        assert [(one.begin >> 17, one.end >> 17) for one in seen] == found


def test_everything_is_dirty_without_a_bitmap(md: Md) -> None:
    assert dirty_regions.regions(device()) == [Area(0, SECTORS["data"])]
    md.box.md("data", metadata_version="1.2", **{"bitmap/location": "none"})
    assert dirty_regions.regions(device()) == [Area(0, SECTORS["data"])]


def test_long_region_is_read_in_parts(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torn_rows, "PART", 4096)
    md.bad["data"] = [104, 9000]
    find(md)
    assert [begin for _, begin in md.begun][:4] == [0, 4096, 8192, 12_288]
    assert [row.begin for row in one().torn] == [104, 9000]
