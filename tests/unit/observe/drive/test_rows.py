# SPDX-License-Identifier: Apache-2.0
"""Every drive has one row: bay, role, verdict, what it said last, and the actions that are possible now."""

import dataclasses
from datetime import date, timedelta

import pytest

from millrace.inventory.drive_tests import CANCELLED
from millrace.inventory.drive_tests import INTERRUPTED as TEST_INTERRUPTED
from millrace.inventory.model import DriveState
from millrace.observe.drive.rows import row, rows
from millrace.storage.drive.drive_history import KnownDrive
from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.facts import Contents, ServerFacts
from millrace.storage.drive.smart import DriveSmart
from millrace.storage.drive.wear import WearStep
from millrace.storage.record.erasure import INTERRUPTED, RUNNING
from millrace.storage.record.test_order import DriveTestProgress
from millrace.system.errors import Refused
from tests.fakes.samples import external_pool
from tests.unit.storage.drive.servers import DATA, NEEDED, ON_DISK, TODAY, drive, examined, server


def by_serial(found: list[DriveRow]) -> dict[str, DriveRow]:
    assert len({one.serial for one in found}) == len(found)
    return {one.serial: one for one in found}


def smart(serial: str, **said: object) -> DriveSmart:
    about = {"name": f"nvme-{serial}", "serial": serial, "transport": "nvme", "boot": False, "known": True}
    return DriveSmart.model_validate({**about, **said})


def known(serial: str, bay: str | None, *percents: int) -> KnownDrive:
    """A drive that was last here yesterday, and wore by these steps, 50 days each, the last one 10 days ago."""
    last = TODAY - timedelta(days=10)
    days = [last - timedelta(days=50 * back) for back in reversed(range(len(percents)))]
    steps = [WearStep(percent=percent, day=day) for percent, day in zip(percents, days, strict=True)]
    return KnownDrive(
        serial=serial, model="OLD", firmware="0.9", size=7, bay=bay, last_seen=TODAY - timedelta(days=1), wear=steps
    )


def test_each_drive_has_its_role() -> None:
    found = by_serial(rows(server(drive("S"), states={"S": "spare"}, spares=["S"])))
    assert {serial: one.role for serial, one in found.items()} == {
        **{"D0": "data", "D1": "data", "D2": "data", "L0": "log", "L1": "log", "BOOT": "boot", "S": "spare"}
    }
    assert (found["D0"].arrays, found["BOOT"].arrays, found["BOOT"].what) == (["data"], [], "carries /")
    assert found["S"].verdict == "spare"


def test_a_drive_with_a_spare_part_of_the_log_is_one_of_data() -> None:
    facts = server()
    facts.live[1].members.append(facts.live[1].members[0].model_copy(update={"serial": "D1", "state": "spare"}))
    one = by_serial(rows(facts))["D1"]
    assert (one.role, one.verdict, one.arrays) == ("data", "in-sync", ["data", "log"])


def test_a_spare_that_is_missing_is_named_as_one() -> None:
    one = by_serial(rows(server(states={"S": "missing"}, spares=["S"])))["S"]
    assert (one.role, one.verdict, one.name) == ("spare", "missing", None)


def test_a_missing_member_keeps_its_bay_by_the_record_after_a_restart() -> None:
    found = by_serial(rows(server(without=["D1"], history=[known("D1", "7")])))["D1"]
    assert (found.bay, found.model, found.firmware, found.size_bytes) == ("7", "OLD", "0.9", 7)
    assert (found.name, found.verdict, found.role, found.last_seen) == (None, "missing", "data", "2026-11-21")


def test_a_missing_member_says_that_hot_plug_is_off_in_its_slot() -> None:
    facts = dataclasses.replace(server(without=["D1"], history=[known("D1", "7")]), unplugged={"7"})
    found = by_serial(rows(facts))["D1"]
    assert found.what == "hot plug is off in its slot: put the new drive in while the server is off"
    other = dataclasses.replace(facts, unplugged={"8"})
    assert by_serial(rows(other))["D1"].what is None
    # where no bay is known
    assert by_serial(rows(dataclasses.replace(facts, history={})))["D1"].what is None


def test_a_missing_member_without_a_record_is_what_it_was_at_boot_or_not_known() -> None:
    at_boot = [examined("D1", DriveState.OURS, "Millrace partition", slot="4")]
    found = by_serial(rows(server(without=["D1", "D2"], at_boot=at_boot)))
    assert (found["D1"].bay, found["D1"].size_bytes, found["D1"].last_seen) == ("4", DATA, None)
    assert (found["D2"].bay, found["D2"].size_bytes, found["D2"].model) == (None, None, "")


def test_what_a_drive_said_last_is_shown_and_what_it_did_not_say_is_not_known() -> None:
    said = smart("D0", temperature=41, wear=12, available_spare=100, media_errors=3, power_on_hours=9000)
    history = [known("D0", None, 3, 4, 5, 12)]
    drive_rows = by_serial(rows(server(smart=[said, smart("D1", known=False)], history=history)))
    row = drive_rows["D0"]
    assert (row.temperature_celsius, row.wear_percent, row.spare_percent) == (41, 12, 100)
    assert (row.media_errors, row.power_on_hours, row.last_seen) == (3, 9000, "2026-11-22")
    # 8 percent in 100 days: the other 88 take 1100
    assert row.wear_ends == str(TODAY - timedelta(days=10) + timedelta(days=1100))
    for silent in (drive_rows["D1"], drive_rows["D2"]):
        assert {silent.temperature_celsius, silent.wear_percent, silent.wear_ends, silent.power_on_hours} == {None}


def test_a_drive_that_is_gone_has_no_temperature() -> None:
    one = by_serial(rows(server(without=["D1"], smart=[smart("D1", temperature=41, wear=12)])))["D1"]
    assert (one.temperature_celsius, one.wear_percent) == (None, 12)


def test_drives_are_in_the_order_of_their_bays() -> None:
    more = [drive("A", bay="10"), drive("B", bay="9"), drive("C", slot="1")]
    found = [one.serial for one in rows(server(*more, without=["D1"], history=[known("D1", "9")]))]
    assert found[:4] == ["C", "B", "D1", "A"]
    assert len(found) == 9


def test_a_slot_without_a_medium_is_no_drive() -> None:
    assert "EMPTY" not in by_serial(rows(server(drive("EMPTY", size=0))))


@pytest.mark.parametrize(
    ("size", "replaceable"), [(None, False), (NEEDED - 1, False), (NEEDED, True)], ids=["none", "small", "fits"]
)
def test_a_replacement_needs_another_drive_that_is_large_enough(size: int | None, replaceable: bool) -> None:
    more = [] if size is None else [drive("X", size=size)]
    at_boot = [examined("X", DriveState.BLANK)]
    gone = row(server(*more, without=["D1"], at_boot=at_boot), "D1")
    faulty = row(server(*more, states={"D2": "faulty"}, at_boot=at_boot), "D2")
    assert gone.actions == (["replace"] if replaceable else [])
    assert faulty.actions == (["replace"] if replaceable else []) + ["remove", "locate"]
    assert (gone.needs_bytes, faulty.needs_bytes) == (NEEDED, NEEDED)


@pytest.mark.parametrize(
    ("state", "actions"),
    [
        (DriveState.BLANK, ["add", "test", "erase", "locate"]),
        (DriveState.FOREIGN, ["erase", "locate"]),
        (DriveState.BOOT, ["locate"]),
        (DriveState.UNKNOWN, ["locate"]),
    ],
)
def test_a_drive_outside_the_pool_allows_what_cannot_hurt(state: DriveState, actions: list[str]) -> None:
    assert by_serial(rows(server(drive("X"), at_boot=[examined("X", state, "it")])))["X"].actions == actions


def test_a_returned_drive_is_erased_only_where_the_pool_does_not_need_it() -> None:
    ours = {"OLD": Contents(frozenset([ON_DISK["data"]]), millrace=True)}
    found = by_serial(rows(server(drive("OLD"), contents=ours)))["OLD"]
    assert (found.verdict, found.actions) == ("returned", ["erase", "locate"])
    found = by_serial(rows(server(drive("OLD"), contents=ours, states={"D1": "rebuilding"})))["OLD"]
    assert (found.verdict, found.actions) == ("returned", ["locate"])


@pytest.mark.parametrize(("what", "actions"), [(INTERRUPTED, ["erase", "locate"]), (f"{RUNNING}, 3 %", ["locate"])])
def test_an_erase_that_did_not_end_can_be_run_again(what: str, actions: list[str]) -> None:
    facts = server(drive("X"), at_boot=[examined("X", DriveState.BLANK)])
    found = by_serial(rows(dataclasses.replace(facts, unfinished={"X": what})))["X"]
    assert (found.verdict, found.what, found.actions) == ("unknown", what, actions)


def goes_on(serial: str) -> DriveTestProgress:
    return DriveTestProgress(serial=serial, what="writing", done=1, total=3, bytes_per_second=None, seconds_left=None)


def test_blank_drive_can_be_tested_while_no_other_is() -> None:
    facts = server(drive("X"), at_boot=[examined("X", DriveState.BLANK)])
    found = by_serial(rows(facts))["X"]
    assert "test" in found.actions and found.test_seconds == 3 * DATA // 1_000_000_000 and found.testing is None
    found = by_serial(rows(dataclasses.replace(facts, testing={"Y": goes_on("Y")})))["X"]
    assert "test" not in found.actions and found.test_seconds is None
    found = by_serial(rows(dataclasses.replace(facts, testing={"X": goes_on("X")})))["X"]
    assert found.testing == goes_on("X")


@pytest.mark.parametrize(("what", "allowed"), [(CANCELLED, True), (TEST_INTERRUPTED, True), ("test failed: x", False)])
def test_test_that_did_not_end_can_be_run_again(what: str, allowed: bool) -> None:
    facts = server(drive("X"), at_boot=[examined("X", DriveState.BLANK)])
    found = by_serial(rows(dataclasses.replace(facts, unfinished={"X": what})))["X"]
    assert (found.verdict, "test" in found.actions) == ("unknown", allowed)


def test_drives_with_one_serial_number_allow_nothing() -> None:
    twins = rows(server(drive("X"), drive("X", name="nvme-twin")))
    assert [one.actions for one in twins if one.serial == "X"] == [[], []]


def test_a_drive_without_a_serial_number_allows_nothing() -> None:
    at_boot = [examined("", DriveState.BLANK, name="vda")]
    assert by_serial(rows(server(drive("", name="vda"), at_boot=at_boot)))[""].actions == []


def test_a_serial_number_finds_its_drive() -> None:
    assert row(server(), "D1").name == "nvme-D1"


@pytest.mark.parametrize("serial", ["D9", "", "d1", "\x1b[2J"])
def test_a_serial_number_that_no_drive_has_is_refused(serial: str) -> None:
    with pytest.raises(
        Refused, match=r"no drive has the serial number, bay or device name '.*'; for all of them: millrace drive list"
    ):
        row(server(), serial)


def test_a_serial_number_of_two_drives_is_refused() -> None:
    with pytest.raises(Refused, match="2 drives have the serial number 'D1': nvme-D1, nvme-twin; pull one of them"):
        row(server(drive("D1", name="nvme-twin")), "D1")


def test_two_drives_with_one_serial_number_are_two_rows_without_actions() -> None:
    twins = [one for one in rows(server(drive("D1", name="nvme-twin"))) if one.serial == "D1"]
    assert [(one.verdict, one.actions) for one in twins] == [("unknown", [])] * 2


def test_the_day_of_the_last_sight_is_a_day() -> None:
    assert date.fromisoformat(row(server(), "D1").last_seen or "") == TODAY


def with_backend(*serials: str, contents: Contents | None = None) -> ServerFacts:
    """A server whose pool is on the external device VOL, with these devices."""
    here = [drive(serial, transport="virtio") for serial in serials]
    known = {f"nvme-{one.serial}": contents or Contents(millrace=True) for one in here}
    pool = external_pool("VOL")
    return dataclasses.replace(server(), present=[*here, drive("BOOT")], contents=known, pool=pool, live=[])


def test_the_external_device_of_the_pool_is_a_backend_and_nothing_is_done_to_it() -> None:
    one = by_serial(rows(with_backend("VOL")))["VOL"]
    assert (one.role, one.verdict, one.what, one.arrays, one.actions) == ("backend", "in-sync", None, [], [])


def test_an_external_device_that_is_missing_has_its_row() -> None:
    one = by_serial(rows(with_backend()))["VOL"]
    assert (one.role, one.verdict, one.name, one.actions) == ("backend", "missing", None, [])


def test_an_external_device_without_the_partition_of_the_pool_is_not_in_order() -> None:
    one = by_serial(rows(with_backend("VOL", contents=Contents())))["VOL"]
    assert (one.role, one.verdict, one.actions) == ("backend", "unknown", [])
    assert one.what == "has the serial number of the pool's external device and not its partition"


def test_a_blank_drive_beside_an_external_device_takes_no_place_in_the_pool() -> None:
    facts = with_backend("VOL")
    blank = drive("X")
    facts = dataclasses.replace(
        facts, present=[*facts.present, blank], examined=[*facts.examined, examined("X", DriveState.BLANK)]
    )
    one = by_serial(rows(facts))["X"]
    assert (one.verdict, one.actions) == ("blank", ["test", "erase", "locate"])
