# SPDX-License-Identifier: Apache-2.0
"""A check of a RAID6 names the drive that is wrong; a repair restores its blocks, and blesses nothing by itself."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.array import raid6_rows
from millrace.storage.array.area import Area
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import (
    ArrayScrub,
    LocatedBlocks,
    MismatchRange,
    Repaired,
    Scrubbed,
    change,
    load,
    located_in_words,
    restorable,
)
from millrace.storage.scrub import scrub, scrub_repair, write_back
from millrace.storage.scrub.changed_since import changed_since
from millrace.storage.scrub.damage import damage
from millrace.storage.scrub.locate_blocks import locate
from millrace.system import paths, sysfs
from millrace.system.documents import read_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result, Runner
from tests.fakes.files.raid6 import BLOCK, Raid6
from tests.fakes.files.running import server
from tests.unit.storage.scrub.md_check import SECTORS, Md

NEVER = ScrubPolicy(every="never", rate_kib=50_000)
ROW = 128
ROT = b"\x5a" * BLOCK
# Ten members: P of row 2 is slot 7, Q slot 8, the data begin with slot 9.
P, Q, FIRST = 7, 8, 9
AT = 2 * ROW + 16


class Found(dict[str, list[int]]):
    """What md counts of the data array is what its members have; a repair computes parity."""

    def __init__(self, raid: Raid6) -> None:
        super().__init__()
        self.raid = raid

    def get(self, array: str, default: object = None) -> list[int]:
        return self.raid.differing() if array == "data" else []

    def __setitem__(self, array: str, left: list[int]) -> None:
        for sector in self.raid.differing() if array == "data" else []:
            if sector not in left:
                self.raid.repair(sector)


@pytest.fixture
def md(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Md]:
    with server(tmp_path) as box:
        box.provision()
        made = Md(box, datetime.fromisoformat("2026-11-23T01:05:00+00:00"))
        device = (box.root / "dev/md/millrace-data").readlink().name
        rows_in_all = SECTORS["data"] // ROW
        raid = Raid6(box.root, disks=10, rows=rows_in_all, device=device, chunk=ROW, filled=[0, 2, 3, 4])
        made.bad = Found(raid)
        (box.root / "proc/sys/vm").mkdir(parents=True, exist_ok=True)

        def write(path: Path, value: str) -> None:
            if path.name == "drop_caches":
                path.write_text(value)
                return
            made.write(path, value)

        monkeypatch.setattr(sysfs, "write", write)
        monkeypatch.setattr(write_back, "OTHERS", 256)
        for module in (scrub, scrub_repair):
            monkeypatch.setattr(module, "now_here", lambda: made.now)
        yield made


def raid(md: Md) -> Raid6:
    assert isinstance(md.bad, Found)
    return md.bad.raid


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def check(md: Md) -> Scrubbed:
    scrub.begin(pool(), md.run)
    scrub.carry_on(pool(), NEVER, md.around())
    return last()


def repair(md: Md, keep_data: bool = False) -> Repaired:
    scrub_repair.ask(pool(), scrub_repair.to_repair(pool(), "data"), md.run, keep_data)
    scrub.carry_on(pool(), NEVER, md.around())
    done = data().repaired
    assert done is not None
    return done


def data() -> ArrayScrub:
    return next(one for one in load().arrays if one.array == "data")


def last() -> Scrubbed:
    found = data().last
    assert found is not None
    return found


def member(slot: int) -> str:
    """The serial of a drive, by its slot."""
    one = next(one for one in pool().arrays if one.array.name == "data")
    return one.members[slot].serial


def is_released(md: Md) -> bool:
    return [md.get("data", name) for name in ("suspend_lo", "suspend_hi")] == ["0", "0"]


def test_drive_is_named_and_only_its_data_are_in_doubt(md: Md) -> None:
    raid(md).rot(FIRST, AT, ROT)
    found = check(md)
    (one,) = found.located
    assert (one.begin, one.end, one.serial, one.data, found.unlocated) == (AT, AT + 8, member(FIRST), 0, "")
    assert (found.mismatches, restorable(found), is_released(md)) == (8, 8, True)
    begin = 2 * 8 * ROW + 16
    assert damage(pool(), load()).mismatched == [Area(begin, begin + 8)]
    assert located_in_words(found, {member(FIRST): "7"}) == [f"8 sectors of data are wrong on bay 7 ({member(FIRST)})"]


def test_right_block_is_written_back_and_the_rest_is_not_touched(md: Md) -> None:
    right = raid(md).images()
    raid(md).rot(FIRST, AT, ROT)
    check(md)
    done = repair(md)
    assert (done.rewritten, done.restored, done.left, done.kept) == (8, 8, 0, "")
    assert raid(md).images() == right
    assert (last().mismatches, last().located, data().repair, is_released(md)) == (0, [], None, True)
    # md has forgotten what it had in memory, and so have the files
    assert md.get("data", "stripe_cache_size") == "4096"
    assert (md.box.root / "proc/sys/vm/drop_caches").read_text() == "1"
    # nothing was left for md's own repair
    assert md.repaired == []
    (kept,) = paths.replaced_blocks().iterdir()
    assert (kept.name, kept.read_bytes(), kept.stat().st_mode & 0o777) == (
        f"data-{AT}-{member(FIRST)}",
        ROT,
        0o600,
    )


@pytest.mark.parametrize("slot", [P, Q])
def test_wrong_parity_is_restored_and_no_file_is_in_doubt(md: Md, slot: int) -> None:
    right = raid(md).images()
    raid(md).rot(slot, AT, ROT * 2)
    found = check(md)
    assert [(one.serial, one.data, one.end - one.begin) for one in found.located] == [(member(slot), None, 16)]
    assert damage(pool(), load()).mismatched == []
    assert located_in_words(found, {}) == [f"16 sectors of parity, and no data, are wrong on {member(slot)}"]
    assert repair(md).restored == 16 and raid(md).images() == right


def test_rot_of_one_drive_over_two_rows_is_one_event(md: Md) -> None:
    right = raid(md).images()
    for row in (2, 3):
        for at in range(0, ROW, 8):
            raid(md).rot(4, row * ROW + at, ROT)
    found = check(md)
    assert {one.serial for one in found.located} == {member(4)} and len(found.located) == 2
    assert restorable(found) == found.mismatches == 2 * ROW
    assert repair(md).left == 0 and raid(md).images() == right


def test_two_wrong_drives_are_not_located_and_the_data_are_kept(md: Md) -> None:
    raid(md).rot(FIRST, AT, ROT)
    raid(md).rot(3, AT, b"\x77" * BLOCK)
    scrubbed = check(md)
    assert [(blocks.serial, blocks.begin) for blocks in scrubbed.located] == [(None, AT)]
    assert located_in_words(scrubbed, {}) == ["8 sectors are not located: more than one drive is wrong there"]
    # any file with data in the row
    assert len(damage(pool(), load()).mismatched) == 8
    said = list(scrub_repair.explained(scrub_repair.to_repair(pool(), None), False, {}))
    assert "both parities are computed from the data as they are" in said[-1]
    before = [raid(md).read(slot, AT) for slot in (FIRST, 3)]
    done = repair(md)
    assert (done.rewritten, done.restored, done.left) == (8, 0, 0)
    assert [raid(md).read(slot, AT) for slot in (FIRST, 3)] == before


def test_neighbour_of_two_wrong_drives_is_not_trusted(md: Md) -> None:
    raid(md).rot(FIRST, AT, ROT * 2)
    raid(md).rot(3, AT, b"\x77" * BLOCK)
    assert [(one.serial, one.begin, one.end) for one in check(md).located] == [(None, AT, AT + 16)]


def test_located_and_unlocated_places_are_each_repaired_in_their_way(md: Md) -> None:
    right = raid(md).read(FIRST, AT)
    raid(md).rot(FIRST, AT, ROT)
    raid(md).rot(3, 3 * ROW, ROT)
    raid(md).rot(4, 3 * ROW, b"\x77" * BLOCK)
    check(md)
    done = repair(md)
    assert (done.rewritten, done.restored, done.left) == (16, 8, 0)
    assert raid(md).read(FIRST, AT) == right
    assert [raid(md).read(slot, 3 * ROW) for slot in (3, 4)] == [ROT, b"\x77" * BLOCK]


def test_keep_data_computes_parity_where_the_drive_is_known(md: Md) -> None:
    raid(md).rot(FIRST, AT, ROT)
    check(md)
    said = list(scrub_repair.explained(scrub_repair.to_repair(pool(), None), True, {}))
    assert "the data are kept as they are, also where the wrong drive is known" in said[-1]
    done = repair(md, keep_data=True)
    assert (done.rewritten, done.restored, done.left) == (8, 0, 0)
    assert raid(md).read(FIRST, AT) == ROT


def test_block_that_was_written_since_the_check_is_left_alone(md: Md) -> None:
    """A write by the difference carries the error over into both parities: what P and Q restore is nobody's data."""
    raid(md).rot(FIRST, AT, ROT)
    check(md)
    raid(md).rot(FIRST, AT, b"\x33" * BLOCK)
    before = raid(md).images()
    done = repair(md)
    assert (done.rewritten, done.restored, done.left) == (0, 0, 8)
    assert done.kept == "8 sectors were written since the check, or returned something else: check again, then repair"
    assert raid(md).images() == before
    # it is solved again, and an administrator sees it before it is written
    assert [blocks.serial for blocks in last().located] == [member(FIRST)]


def test_drive_that_is_wrong_only_since_the_check_is_left_alone(md: Md) -> None:
    raid(md).rot(FIRST, AT, ROT)
    check(md)
    raid(md).rot(1, AT + 8, ROT)
    # md's windows end with a chunk: its repair would have computed parity for the second place, too
    done = repair(md)
    assert (done.restored, done.left) == (8, 8) and "8 sectors were written since" in done.kept
    assert raid(md).read(1, AT + 8) == ROT and md.repaired == []


def test_repair_that_was_killed_goes_on_and_keeps_what_it_replaced(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    right = raid(md).images()
    raid(md).rot(FIRST, AT, ROT)
    check(md)
    scrub_repair.ask(pool(), scrub_repair.to_repair(pool(), "data"), md.run)

    def killed() -> None:
        raise KeyboardInterrupt

    md.during = killed
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(scrub_repair, "settle_repair", lambda record: None)
        patch.setattr(raid6_rows, "release", lambda device: None)
        small = {"stripe_cache_size": "17"}
        patch.setattr("millrace.storage.array.resync.resize_cache", lambda device, stripes: md.box.md("data", **small))
        scrub.carry_on(pool(), NEVER, md.around())
    assert not is_released(md) and md.get("data", "stripe_cache_size") == "17"
    md.during = lambda: None
    md.box.md("data", sync_action="check")
    scrub.settle(pool())
    assert is_released(md) and md.get("data", "stripe_cache_size") == "4096"
    scrub.carry_on(pool(), NEVER, md.around())
    assert raid(md).images() == right and data().repair is None
    (kept,) = paths.replaced_blocks().iterdir()
    assert kept.read_bytes() == ROT


def test_nothing_is_written_where_the_replaced_block_cannot_be_kept(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    raid(md).rot(FIRST, AT, ROT)
    check(md)
    before = raid(md).images()
    monkeypatch.setattr(paths, "replaced_blocks", lambda: paths.scrub_file() / "no directory")
    with pytest.raises(Failed, match=r"the blocks that would be replaced cannot be kept .*; nothing was written"):
        repair(md)
    assert raid(md).images() == before and is_released(md)


def test_drive_that_cannot_be_read_leaves_the_check_without_a_name(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    raid(md).rot(FIRST, AT, ROT)
    monkeypatch.setattr(
        raid6_rows, "_path", lambda member: md.box.root / "dev" / member.name.replace("nvme1n1p2", "gone")
    )
    found = check(md)
    assert (found.mismatches, found.located) == (8, [])
    assert "nvme1n1p2 cannot be opened" in located_in_words(found, {})[0]


def test_row_with_a_listed_bad_block_is_no_evidence(md: Md) -> None:
    raid(md).rot(FIRST, AT, ROT)
    raid(md).attributes(**{"dev-nvme3n1p2/bad_blocks": f"{256 + AT} 8"})
    assert [one.serial for one in check(md).located] == [None]


def test_array_of_another_level_says_why(md: Md) -> None:
    device = (md.box.root / "dev/md/millrace-log").readlink().name
    found = locate(device, [MismatchRange(begin=0, end=8, sectors=8)])
    assert (found.blocks, found.why) == ([], "only RAID6 has two parities, which locate a wrong block")
    assert (locate(device, []).blocks, locate(device, []).why) == ([], "")


def test_wide_place_and_many_blocks_have_their_limits(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    device = (md.box.root / "dev/md/millrace-data").readlink().name
    for at in range(0, 64, 16):
        raid(md).rot(FIRST, 2 * ROW + at, ROT)
    everything = [MismatchRange(begin=0, end=SECTORS["data"], sectors=32)]
    assert restorable_of(locate(device, everything).blocks) == 32
    monkeypatch.setattr("millrace.storage.scrub.locate_blocks.SCANNED", 2 * ROW)
    assert locate(device, everything).why == "their place is known only roughly"
    monkeypatch.setattr("millrace.storage.scrub.locate_blocks.SCANNED", 1 << 19)
    monkeypatch.setattr("millrace.storage.scrub.locate_blocks.MOST", 4)
    limited = locate(device, everything)
    assert (restorable_of(limited.blocks), limited.why) == (32, "more than 4 blocks do not match")


def restorable_of(found: Sequence[LocatedBlocks]) -> int:
    return sum(one.end - one.begin for one in found)


def test_check_of_an_earlier_release_is_repeated_before_a_repair(md: Md) -> None:
    raid(md).rot(FIRST, AT, ROT)
    old = check(md).model_copy(update={"located": [], "unlocated": ""})
    change(lambda kept: kept.having(data().model_copy(update={"last": old})))
    assert "no drive was searched for until the next check" in located_in_words(old, {})[0]
    with pytest.raises(Refused, match="did not search for the wrong drive; check again"):
        scrub_repair.ask(pool(), scrub_repair.to_repair(pool(), "data"), md.run)
    assert repair(md, keep_data=True).left == 0


def xfs(ctime: int, what: str = "inode 131 data 0..7 8") -> Runner:
    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        assert list(argv[:3]) == ["xfs_io", "-r", "-c"] and argv[4:] == ["/srv/pool"]
        if argv[3] == "bulkstat_single 131":
            return Result(0, f"bs_ino = 131\n\tbs_mtime = 1.0\n\tbs_ctime = {ctime}.123456\n", "")
        begin, end = argv[3].removeprefix("fsmap -d ").split()
        return Result(0, f"\t0: 9:127 [{begin}..{end}]: {what}\n", "")

    return run


def test_file_that_was_not_changed_since_a_check_without_mismatch_is_restored_unasked(md: Md) -> None:
    began = check(md).started
    assert data().clean == began
    raid(md).rot(FIRST, AT, ROT)
    assert check(md).mismatches == 8 and data().clean == began
    arrays, before = scrub_repair.to_repair(pool(), "data"), int(datetime.fromisoformat(began).timestamp())
    assert changed_since(pool(), arrays, xfs(before - 1)) == []
    assert changed_since(pool(), arrays, xfs(before, "free space 8")) == []
    for run in (xfs(before), xfs(0, "inode btree 8")):
        (note,) = changed_since(pool(), arrays, run)
        assert "array data: 1 of 1 files or metadata there changed since" in note


def test_check_of_a_clock_that_was_ahead_proves_no_file_older(md: Md) -> None:
    check(md)
    raid(md).rot(FIRST, AT, ROT)
    check(md)
    change(lambda old: old.having(data().model_copy(update={"clean": "2069-01-01T00:00:00+00:00"})))
    (note,) = changed_since(pool(), scrub_repair.to_repair(pool(), "data"), xfs(0))
    assert note == "array data: no check before this one found all of it to match"


def test_first_check_of_a_pool_has_nothing_to_compare_with(md: Md) -> None:
    raid(md).rot(FIRST, AT, ROT)
    check(md)
    arrays = scrub_repair.to_repair(pool(), "data")
    (note,) = changed_since(pool(), arrays, xfs(0))
    assert note == "array data: no check before this one found all of it to match"
