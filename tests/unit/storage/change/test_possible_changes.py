# SPDX-License-Identifier: Apache-2.0
"""A row offers no change that its verb refuses, and needs no command to a drive to know."""

import dataclasses

import pytest

from millrace.inventory.model import DriveState
from millrace.observe.drive.rows import row
from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.smart import DriveSmart
from tests.unit.storage.drive.servers import LOG, NEEDED, drive, examined, server

BLANK = [examined("X", DriveState.BLANK)]


def changes(one: DriveRow) -> list[str]:
    return [each for each in one.actions if each in ("replace", "add", "remove")]


def test_blank_drive_replaces_a_member_or_becomes_a_hot_spare() -> None:
    facts = server(drive("X"), at_boot=BLANK)
    assert (changes(row(facts, "D1")), row(facts, "D1").needs_bytes) == (["replace"], NEEDED)
    assert (changes(row(facts, "X")), row(facts, "X").needs_bytes) == (["add"], None)


def test_drive_that_was_just_put_in_is_examined_by_the_verb_and_offered_before() -> None:
    facts = server(drive("X"))
    assert row(facts, "X").verdict == "unknown"
    assert (changes(row(facts, "D1")), changes(row(facts, "X"))) == (["replace"], ["add"])


def test_drive_whose_examination_failed_is_not_offered() -> None:
    facts = server(drive("X"), at_boot=[examined("X", DriveState.UNKNOWN, "blkid failed")])
    assert (changes(row(facts, "D1")), changes(row(facts, "X"))) == ([], [])


def test_member_waits_for_a_drive_that_is_not_there_yet() -> None:
    one = row(server(), "D1")
    assert (changes(one), one.needs_bytes) == ([], NEEDED)


def test_hot_spare_replaces_no_member_by_command_and_is_removed() -> None:
    facts = server(drive("S"), states={"S": "spare"}, spares=["S"], without=["D1"])
    assert changes(row(facts, "D1")) == []
    assert (changes(row(facts, "S")), row(facts, "S").needs_bytes) == (["remove"], None)


def test_readable_member_of_a_degraded_array_is_not_replaced() -> None:
    facts = server(drive("X"), without=["D1"], at_boot=BLANK)
    assert changes(row(facts, "D1")) == ["replace"]
    assert (changes(row(facts, "D2")), row(facts, "D2").needs_bytes) == ([], None)


def test_degraded_array_takes_no_hot_spare() -> None:
    assert changes(row(server(drive("X"), without=["D1"], at_boot=BLANK), "X")) == []


def test_drive_with_other_sectors_is_neither_added_nor_a_replacement() -> None:
    other = {"logical_block": 4096}
    facts = server(drive("X", **other), at_boot=[examined("X", DriveState.BLANK, **other)])
    assert (changes(row(facts, "D1")), changes(row(facts, "X"))) == ([], [])


def test_drive_that_fits_the_log_only_is_no_hot_spare_of_data() -> None:
    facts = server(drive("X", size=LOG), at_boot=[examined("X", DriveState.BLANK, size=LOG)])
    assert row(facts, "X").verdict == "blank"
    assert changes(row(facts, "X")) == []
    assert (changes(row(facts, "L0")), changes(row(facts, "D0"))) == (["replace"], [])


def test_member_that_the_pool_does_not_record_is_not_replaced() -> None:
    facts = server(drive("HAND"), drive("X"), states={"HAND": "in-sync"}, at_boot=BLANK)
    assert (changes(row(facts, "HAND")), row(facts, "HAND").needs_bytes) == ([], None)


def test_faulty_member_that_its_other_array_uses_is_not_removed() -> None:
    facts = server(drive("X"), states={"D1": "faulty"}, at_boot=BLANK)
    assert changes(row(facts, "D1")) == ["replace", "remove"]
    log = facts.live[1]
    log.members[1] = log.members[1].model_copy(update={"serial": "D1"})
    assert changes(row(facts, "D1")) == ["replace"]


@pytest.mark.parametrize("serial", ["D1", "X"])
def test_array_that_does_not_run_allows_no_change(serial: str) -> None:
    assert changes(row(server(drive("X"), at_boot=BLANK, runs=False), serial)) == []


def test_array_that_lost_too_many_members_allows_no_change() -> None:
    facts = server(drive("X"), without=["D1", "D2"], at_boot=BLANK)
    assert (changes(row(facts, "D1")), row(facts, "D1").needs_bytes) == ([], None)


@pytest.mark.parametrize("serial", ["D1", "D2", "X"])
def test_change_that_is_not_finished_allows_no_other(serial: str) -> None:
    states = {"D2": "faulty"} if serial == "D2" else {}
    one = row(server(drive("X"), states=states, at_boot=BLANK, changing=True), serial)
    assert (changes(one), one.needs_bytes) == ([], None)
    assert "locate" in one.actions


def test_blank_drive_that_is_failing_is_proposed_for_nothing() -> None:
    said = DriveSmart(name="nvme-X", serial="X", transport="nvme", boot=False, known=True, critical_warning=1 << 3)
    facts = dataclasses.replace(server(drive("X"), at_boot=BLANK), smart={"X": said})
    found = row(facts, "X")
    assert found.verdict == "blank" and "is failing" in (found.what or "")
    assert changes(found) == []
    assert changes(row(facts, "D1")) == []
    fine = dataclasses.replace(facts, smart={"X": said.model_copy(update={"critical_warning": 0})})
    assert (changes(row(fine, "X")), changes(row(fine, "D1"))) == (["add"], ["replace"])
