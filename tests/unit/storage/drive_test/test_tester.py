# SPDX-License-Identifier: Apache-2.0
"""A drive that lies about its capacity, loses writes or changes data does not pass; a good one is blank afterwards."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from millrace.inventory.surface import MARK_SIZE, TEST_INTERRUPTED, TEST_MARK, surface
from millrace.storage.array.machine import System
from millrace.storage.drive_test import tester
from millrace.storage.drive_test.pattern import BLOCK, CHUNK, SECTOR, Pattern, PatternBlock, everything, sample
from millrace.storage.drive_test.tester import Cancelled, DriveTester
from millrace.storage.erase.overwrite import RawDrive, exclusively
from millrace.storage.record.test_order import DriveTestProgress
from millrace.system.errors import Failed
from millrace.system.text import GIB, MIB
from tests.unit.storage.drive.servers import drive as drive_called

SIZE = 20 * MIB
NVME = "nvme0n1"


@pytest.fixture
def device(tmp_path: Path) -> Path:
    path = tmp_path / "drive"
    path.write_bytes(bytes(SIZE))
    return path


@pytest.fixture
def raw(device: Path) -> Iterator[RawDrive]:
    with exclusively(device, SIZE) as opened:
        yield opened


class Trial:
    """A test of a drive whose requests a story changes."""

    def __init__(self, raw: RawDrive, quick: bool = False, cancel_after: int | None = None, **drive: object) -> None:
        self.lines: list[DriveTestProgress] = []
        self.raw = raw
        self._left = cancel_after
        found = drive_called("S", name=NVME, size=SIZE, transport="virtio", **drive)
        self.tester = DriveTester(
            cast(System, None), found, raw, quick, self.lines.append, self.cancelled, clock=iter(range(10**9)).__next__
        )

    def cancelled(self) -> bool:
        if self._left is None:
            return False
        self._left -= 1
        return self._left < 0

    def run(self) -> str:
        self.tester.mark()
        return self.tester.test()


def findings(device: Path) -> set[str]:
    return {one.evidence.finding for one in surface(device, SIZE)}


@pytest.mark.parametrize("quick", [False, True])
def test_good_drive_passes_and_is_blank(raw: RawDrive, device: Path, quick: bool) -> None:
    trial = Trial(raw, quick)
    assert trial.run() == "none"
    assert not any(device.read_bytes())
    assert findings(device) == set()
    assert trial.lines[-1].done <= trial.lines[-1].total
    assert [one.what for one in trial.lines][-1] == "writing zeros"
    assert trial.tester.measured.written > (8 * BLOCK if quick else SIZE - 3 * MARK_SIZE)
    assert trial.tester.measured.milliseconds("read") is not None
    assert trial.tester.measured.rate("write") and trial.tester.measured.rate("read")


def test_every_sector_of_a_full_test_is_written_with_contents_of_its_own(
    raw: RawDrive, device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []
    flush = RawDrive.flush

    def flushed(one: RawDrive) -> None:
        flush(one)
        seen.append(device.read_bytes())

    trial = Trial(raw)
    trial.tester.mark()
    monkeypatch.setattr(RawDrive, "flush", flushed)
    trial.tester.test()
    written = seen[0]
    sectors = [written[at : at + SECTOR] for at in range(MARK_SIZE, SIZE - MARK_SIZE, SECTOR)]
    assert len(set(sectors)) == len(sectors)


def wraps(raw: RawDrive, monkeypatch: pytest.MonkeyPatch, real: int) -> None:
    """A drive of `real` bytes that reports more: addresses begin again."""
    write, read = RawDrive.write, RawDrive.read

    def written(one: RawDrive, data: object, offset: int, length: int) -> None:
        write(one, data, offset % real, length)  # type: ignore[arg-type]

    monkeypatch.setattr(RawDrive, "write", written)
    monkeypatch.setattr(RawDrive, "read", lambda one, offset, length: read(one, offset % real, length))


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("real", [SIZE // 2, 7 * MIB + 12 * 1024])
def test_drive_with_less_capacity_than_it_reports_fails(
    raw: RawDrive, monkeypatch: pytest.MonkeyPatch, quick: bool, real: int
) -> None:
    wraps(raw, monkeypatch, real)
    with pytest.raises(Failed, match=r"has less capacity than it reports|returns something else"):
        Trial(raw, quick).run()


def test_drive_that_swallows_what_is_beyond_its_capacity_fails(raw: RawDrive, monkeypatch: pytest.MonkeyPatch) -> None:
    write = RawDrive.write

    def written(one: RawDrive, data: object, offset: int, length: int) -> None:
        if offset < SIZE // 2:
            write(one, data, offset, length)  # type: ignore[arg-type]

    monkeypatch.setattr(RawDrive, "write", written)
    with pytest.raises(Failed, match=r"returns zeros at byte .* it lost a write"):
        Trial(raw, quick=True).run()


@pytest.mark.parametrize("nth", [0, 7, -1])
def test_one_write_that_is_lost_is_found(
    raw: RawDrive, device: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    places = list(everything(SIZE))
    lost, write = places[nth].offset, RawDrive.write
    trial = Trial(raw)
    trial.tester.mark()

    def written(one: RawDrive, data: object, offset: int, length: int) -> None:
        if offset != lost:
            write(one, data, offset, length)  # type: ignore[arg-type]

    monkeypatch.setattr(RawDrive, "write", written)
    with pytest.raises(Failed, match=f"returns zeros at byte {lost} instead of what was written"):
        trial.tester.test()
    # what failed is not blank for anybody
    assert findings(device) == {TEST_INTERRUPTED}


def test_contents_of_an_earlier_test_are_not_taken_for_those_of_this_one() -> None:
    place = PatternBlock(8 * MIB, CHUNK)
    before = Pattern()
    old = before.fill(place)[:]
    assert before.difference(place, old) is None
    wrong = Pattern().difference(place, old)
    assert wrong is not None and "something else" in wrong


def test_one_changed_bit_is_named_with_its_sector() -> None:
    pattern, place = Pattern(), PatternBlock(3 * MIB, CHUNK)
    read = bytearray(pattern.fill(place)[:])
    read[5 * SECTOR + 100] ^= 1
    assert f"at byte {3 * MIB + 5 * SECTOR} " in (pattern.difference(place, bytes(read)) or "")


def trims(monkeypatch: pytest.MonkeyPatch, zeroes: bool = True, taken: bool = True) -> list[int]:
    """A drive that takes trims and, with `zeroes`, returns zeros afterwards."""
    offsets: list[int] = []

    def discarded(one: RawDrive, offset: int, length: int) -> bool:
        offsets.append(offset)
        if taken and zeroes:
            for at in range(offset, offset + length, 8 * MIB):
                one.zero(at, min(8 * MIB, offset + length - at))
        return taken

    monkeypatch.setattr(RawDrive, "discard", discarded)
    return offsets


@pytest.mark.parametrize("quick", [False, True])
def test_trim_leaves_zeros_where_the_drive_guarantees_them(
    raw: RawDrive, device: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    found = trims(monkeypatch)
    trial = Trial(raw, quick, dlfeat=9, max_discard=2 * GIB)
    assert trial.run() == "reads zeroes"
    assert found == [MARK_SIZE] and not any(device.read_bytes())
    assert {one.what for one in trial.lines} == {"writing", "reading back", "reading zeros"}


@pytest.mark.parametrize("quick", [False, True])
def test_marks_are_there_at_every_moment_of_a_trim(
    raw: RawDrive, device: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    trims(monkeypatch)
    trimmed = RawDrive.discard
    ends: list[tuple[bytes, bytes]] = []

    def discarded(one: RawDrive, offset: int, length: int) -> bool:
        assert not cancelled, "nothing is trimmed once it is to end"
        taken = trimmed(one, offset, length)
        data = device.read_bytes()
        ends.append((data[: len(TEST_MARK)], data[-MARK_SIZE:][: len(TEST_MARK)]))
        cancelled.append(True)
        return taken

    cancelled: list[bool] = []
    monkeypatch.setattr(RawDrive, "discard", discarded)
    monkeypatch.setattr(tester, "TRIM", 8 * MIB)
    trial = Trial(raw, quick, dlfeat=9, max_discard=2 * GIB)
    monkeypatch.setattr(trial.tester, "_cancelled", lambda: bool(cancelled))
    trial.tester.mark()
    with pytest.raises(Cancelled):
        trial.tester._trim()
    assert ends == [(TEST_MARK, TEST_MARK)]
    assert findings(device) == {TEST_INTERRUPTED}


def test_drive_that_trims_whole_granules_only_passes(
    raw: RawDrive, device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def discarded(one: RawDrive, offset: int, length: int) -> bool:
        first, last = -(-offset // MIB) * MIB, (offset + length) // MIB * MIB
        for at in range(first, last, MIB):
            one.zero(at, MIB)
        return True

    monkeypatch.setattr(RawDrive, "discard", discarded)
    assert Trial(raw, dlfeat=9, max_discard=2 * GIB).run() == "reads zeroes"
    assert not any(device.read_bytes())


def test_drive_that_breaks_its_guarantee_of_zeros_fails(
    raw: RawDrive, device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trims(monkeypatch, zeroes=False)
    with pytest.raises(Failed, match=r"guarantees zeros after a trim \(DLFEAT\) and returns data"):
        Trial(raw, dlfeat=9, max_discard=2 * GIB).run()
    assert findings(device) == {TEST_INTERRUPTED}


@pytest.mark.parametrize(("taken", "said"), [(True, "accepted"), (False, "refused")])
def test_without_the_guarantee_zeros_are_written(
    raw: RawDrive, device: Path, monkeypatch: pytest.MonkeyPatch, taken: bool, said: str
) -> None:
    trims(monkeypatch, zeroes=False, taken=taken)
    assert Trial(raw, dlfeat=0, max_discard=2 * GIB).run() == said
    assert not any(device.read_bytes())


@pytest.mark.parametrize("after", [0, 9, 30])
@pytest.mark.parametrize("guaranteed", [False, True])
def test_cancelled_full_test_leaves_a_blank_drive_or_one_that_says_that_it_is_not(
    raw: RawDrive, device: Path, monkeypatch: pytest.MonkeyPatch, after: int, guaranteed: bool
) -> None:
    trims(monkeypatch)
    more = {"dlfeat": 9, "max_discard": GIB} if guaranteed else {}
    with pytest.raises(Cancelled) as ended:
        Trial(raw, cancel_after=after, **more).run()
    assert ended.value.blank is guaranteed
    assert any(device.read_bytes()) is not guaranteed
    assert findings(device) == (set() if guaranteed else {TEST_INTERRUPTED})


def test_cancelled_quick_test_leaves_a_blank_drive(raw: RawDrive, device: Path) -> None:
    with pytest.raises(Cancelled) as ended:
        Trial(raw, quick=True, cancel_after=20).run()
    assert ended.value.blank and not any(device.read_bytes())


class Cut(Exception):
    """The power goes."""


@pytest.mark.parametrize("moment", [1, 12, 30, 45, 70])
@pytest.mark.parametrize("guaranteed", [False, True])
def test_drive_whose_test_is_cut_is_not_blank_at_any_moment(
    raw: RawDrive, device: Path, monkeypatch: pytest.MonkeyPatch, moment: int, guaranteed: bool
) -> None:
    trims(monkeypatch)
    trial = Trial(raw, **({"dlfeat": 9, "max_discard": GIB} if guaranteed else {}))
    trial.tester.mark()
    requests = iter(range(1, 10**6))

    def counted(of: Callable[..., object]) -> Callable[..., object]:
        def request(*given: object) -> object:
            if next(requests) == moment:
                raise Cut
            return of(*given)

        return request

    monkeypatch.setattr(RawDrive, "read", counted(RawDrive.read))
    monkeypatch.setattr(RawDrive, "write", counted(RawDrive.write))
    with suppress(Cut):
        trial.tester.test()
    monkeypatch.undo()
    # not blank, or blank all over
    assert findings(device) == {TEST_INTERRUPTED} or not any(device.read_bytes())


@pytest.mark.parametrize("size", [64 * MIB, GIB, 960 * 10**9, 7_681_501_126_656, 245 * 10**12])
def test_sample_lies_on_the_drive_and_reaches_both_ends(size: int) -> None:
    size -= size % 4096
    places = sample(size, b"run")
    assert all(place.offset % BLOCK == 0 and place.length % BLOCK == 0 and place.length <= CHUNK for place in places)
    assert min(place.offset for place in places) == MARK_SIZE
    assert max(place.offset + place.length for place in places) >= size - MARK_SIZE - BLOCK
    assert max(place.offset + place.length for place in places) <= size - MARK_SIZE
    total = sum(place.length for place in places)
    # minutes, also on the largest drive
    assert total <= max(size // 3, 8 * GIB)
    assert places == sample(size, b"run")


def test_marks_that_changed_are_found(raw: RawDrive, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(raw)
    read = RawDrive.read
    monkeypatch.setattr(
        RawDrive,
        "read",
        lambda one, offset, length: b"\xff" * length if offset == 0 else read(one, offset, length),
    )
    with pytest.raises(Failed, match="something else than was written at byte 0"):
        trial.run()


def test_mark_is_not_that_of_an_erase() -> None:
    assert bytes(len(TEST_MARK)) != TEST_MARK and b"erase" not in TEST_MARK


def test_cancelled_test_of_a_drive_that_breaks_its_word_about_trims_does_not_write_for_hours(
    raw: RawDrive, device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trims(monkeypatch, taken=False)
    trial = Trial(raw, cancel_after=12, dlfeat=9, max_discard=GIB)
    with pytest.raises(Cancelled) as ended:
        trial.run()
    assert not ended.value.blank and findings(device) == {TEST_INTERRUPTED}
    assert "writing zeros" not in {one.what for one in trial.lines}
