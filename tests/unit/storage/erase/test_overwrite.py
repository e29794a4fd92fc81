# SPDX-License-Identifier: Apache-2.0
"""A drive is blank after all of it was written and read, and never before."""

import os
from pathlib import Path

import pytest

from millrace.inventory.surface import ERASE_INTERRUPTED, surface
from millrace.storage.erase.overwrite import CHUNK, RawDrive, exclusively
from millrace.system.errors import Failed, Refused
from millrace.system.text import KIB, MIB

SIZE = 32 * MIB + 4 * KIB
# head, tail and what is between are written and read
STEPS = 2 * (2 + -(-(SIZE - 2 * CHUNK) // CHUNK))


@pytest.fixture
def device(tmp_path: Path) -> Path:
    path = tmp_path / "drive"
    path.write_bytes(b"\xa5" * SIZE)
    return path


def findings(device: Path) -> set[str]:
    return {one.evidence.finding for one in surface(device, SIZE)}


def test_every_byte_is_zero_afterwards_and_was_read_back(device: Path) -> None:
    lines: list[tuple[str, int, int]] = []
    with exclusively(device, SIZE) as raw:
        raw.mark()
        raw.overwrite(lambda *line: lines.append(line))
    assert not any(device.read_bytes())
    assert lines[-1] == ("reading back", 2 * SIZE, 2 * SIZE)
    assert [done for _, done, _ in lines] == sorted({done for _, done, _ in lines})
    assert findings(device) == set()


@pytest.mark.parametrize("moment", range(1, STEPS))
def test_a_drive_that_is_half_erased_is_not_blank_at_any_moment(moment: int, device: Path) -> None:
    class Cut(Exception):
        pass

    # its ends are zero before: what the inventory reads would be blank without the mark
    device.write_bytes(bytes(CHUNK) + b"\xa5" * (SIZE - 2 * CHUNK) + bytes(CHUNK))
    lines = iter(range(1, STEPS))

    def cut(*_: object) -> None:
        if next(lines) == moment:
            raise Cut

    with pytest.raises(Cut), exclusively(device, SIZE) as raw:
        raw.mark()
        raw.overwrite(cut)
    # the head is written last, when everything else was read back
    whole = moment == STEPS - 1
    assert (ERASE_INTERRUPTED in findings(device)) is not whole
    assert any(device.read_bytes()) is not whole


def test_samples_tell_old_data_and_the_marks_from_zeros(device: Path) -> None:
    with exclusively(device, SIZE) as raw:
        assert len(raw.samples()) > 100
        raw.overwrite(lambda *_: None)
        assert raw.samples() == {}
        raw.mark()
        assert len(raw.samples()) == 2
        raw.clear_ends()
    assert not any(device.read_bytes())


def test_each_end_is_on_the_drive_before_it_is_read_back(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    read = os.preadv

    def reading(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        order.append("read")
        return read(descriptor, buffers, offset)

    with exclusively(device, SIZE) as raw:
        own = {
            os.path.realpath(f"/proc/self/fd/{descriptor}"): int(descriptor)
            for descriptor in os.listdir("/proc/self/fd")
        }[str(device)]
        monkeypatch.setattr(os, "fsync", lambda descriptor: order.append("sync" if descriptor == own else "another"))
        monkeypatch.setattr(os, "preadv", reading)
        raw.clear_ends()
    assert order == ["sync", "read"] * 2


def test_a_drive_that_returns_something_else_is_found(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pwrite", lambda descriptor, data, offset: len(data))
    with exclusively(device, SIZE) as raw, pytest.raises(Failed, match="returns something else"):
        raw.overwrite(lambda *_: None)


@pytest.mark.parametrize(("call", "words"), [("pwrite", "written at byte 0"), ("preadv", "read at byte 0")])
def test_a_drive_that_fails_is_named_with_the_byte(
    call: str, words: str, device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, call, fail)
    action = RawDrive.mark if call == "pwrite" else RawDrive.samples
    with exclusively(device, SIZE) as raw, pytest.raises(Failed, match=rf"{words} \(Input/output error\)"):
        action(raw)


def test_a_drive_that_ends_early_is_an_error(device: Path) -> None:
    with exclusively(device, SIZE) as raw:
        os.truncate(device, SIZE - 4 * KIB)
        with pytest.raises(Failed, match="ended at byte"):
            raw.samples()


def test_another_size_and_a_drive_in_use_are_refused(device: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="bytes and not"), exclusively(device, SIZE + 1):
        pass
    with pytest.raises(Refused, match="cannot be opened exclusively"), exclusively(tmp_path / "none", SIZE):
        pass
    assert device.read_bytes() == b"\xa5" * SIZE
