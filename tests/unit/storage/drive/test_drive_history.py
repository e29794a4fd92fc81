# SPDX-License-Identifier: Apache-2.0
"""A drive that left is known by its bay, its size and its last day, also after a restart."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from millrace.storage.drive import drive_history
from millrace.storage.drive.drive_history import KnownDrives, load, seen
from millrace.system import paths
from tests.unit.storage.drive.servers import DATA, drive

DAY = date(2026, 11, 1)
EMPTY = KnownDrives(drives=[])


def test_what_a_drive_was_stays_when_it_is_gone() -> None:
    before = seen(EMPTY, [drive("A", bay="7"), drive("B", slot="8")], {"A": 3, "B": None}, DAY)
    after = {one.serial: one for one in seen(before, [drive("B")], {"B": 1}, DAY + timedelta(days=1)).drives}
    assert (after["A"].bay, after["A"].size, after["A"].last_seen) == ("7", DATA, DAY)
    assert [step.percent for step in after["A"].wear] == [3]
    # one whose bay is not known today was in the one of yesterday
    assert (after["B"].bay, after["B"].last_seen) == ("8", DAY + timedelta(days=1))
    assert [step.percent for step in after["B"].wear] == [1]


def test_a_drive_that_moved_is_where_it_is_now() -> None:
    before = seen(EMPTY, [drive("A", bay="7", firmware="1.0")], {}, DAY)
    [one] = seen(before, [drive("A", bay="9", firmware="1.1")], {}, DAY).drives
    assert (one.bay, one.firmware) == ("9", "1.1")


def test_a_drive_without_a_serial_number_is_not_kept() -> None:
    assert seen(EMPTY, [drive("")], {}, DAY) == EMPTY


def test_drives_that_left_long_ago_are_forgotten_first() -> None:
    found = EMPTY
    for number in range(drive_history.KEPT + 10):
        found = seen(found, [drive("HERE"), drive(f"S{number}")], {}, DAY + timedelta(days=number))
    kept = {one.serial for one in found.drives}
    assert len(kept) == drive_history.KEPT and "HERE" in kept and "S10" not in kept and "S11" in kept


def test_the_record_outlives_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    assert load() == EMPTY
    paths.state_dir().mkdir(parents=True)
    found = seen(EMPTY, [drive("A", bay="7")], {"A": 3}, DAY)
    drive_history.save(found)
    assert load() == found
    paths.known_drives_file().write_text("{")
    assert load() == EMPTY
