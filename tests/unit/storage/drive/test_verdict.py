# SPDX-License-Identifier: Apache-2.0
"""The verdict on a drive: md's word for members, what was found on all others, and unknown where nobody looked."""

import dataclasses

import pytest

from millrace.inventory.model import DriveState
from millrace.inventory.surface import ERASE_INTERRUPTED
from millrace.storage.array.live_model import MemberState
from millrace.storage.drive.facts import Contents, ServerFacts
from millrace.storage.drive.verdict import CHANGED, NOT_EXAMINED, DriveJudgement, Judge
from millrace.storage.record.apart_record import Apart
from millrace.storage.record.erasure import INTERRUPTED
from tests.unit.storage.drive.servers import NEEDED, ON_DISK, drive, examined, server

FOREIGN_UUID = "deadbeef-0000-0000-0000-000000000000"
OURS = Contents(frozenset([ON_DISK["data"]]), millrace=True, other="GPT partition table")
TABLE = Contents(other="GPT partition table, XFS file system")


def verdict(facts: ServerFacts, serial: str) -> DriveJudgement:
    (one,) = [each for each in facts.present if each.serial == serial]
    return Judge(facts).drive(one)


@pytest.mark.parametrize("state", ["in-sync", "rebuilding", "spare", "faulty", "unknown"])
def test_a_member_is_what_md_says(state: MemberState) -> None:
    assert verdict(server(states={"D1": state}), "D1") == DriveJudgement(state)


def test_of_a_drive_in_two_arrays_the_worse_counts() -> None:
    facts = server(states={"L0": "faulty"})
    assert verdict(facts, "L0") == DriveJudgement("faulty")


def test_a_drive_that_lost_one_of_its_arrays_is_what_it_is_in_the_other() -> None:
    # the spare part of the log, which a drive that was added as a whole does not have
    facts = server()
    facts.live[1].members.append(facts.live[1].members[0].model_copy(update={"serial": "D1", "state": "missing"}))
    assert verdict(facts, "D1") == DriveJudgement("in-sync", "not in array log")
    assert Judge(facts).gone == []


def test_a_member_by_hand_that_an_inventory_took_for_mounted_is_a_member() -> None:
    # a whole drive under md carries /srv/pool, and no Millrace partition tells that it is ours
    facts = server(drive("X"), states={"X": "in-sync"}, at_boot=[examined("X", DriveState.BOOT, "carries /srv/pool")])
    assert verdict(facts, "X") == DriveJudgement("in-sync")


def test_a_member_that_is_back_has_returned() -> None:
    facts = server(drive("D1"), without=["D1"], contents={"D1": OURS})
    assert verdict(facts, "D1") == DriveJudgement("returned")
    assert Judge(facts).gone == []


def test_a_member_of_long_ago_has_returned_too() -> None:
    assert verdict(server(drive("OLD"), contents={"OLD": OURS}), "OLD") == DriveJudgement("returned")


def test_a_member_that_was_taken_out_on_purpose_has_the_day() -> None:
    facts = server(drive("OLD"), contents={"OLD": OURS})
    facts = dataclasses.replace(facts, removed={"OLD": "2026-11-22T10:00:00+00:00"})
    assert verdict(facts, "OLD") == DriveJudgement("returned", "taken out on 2026-11-22 10:00 UTC, not re-added")
    # one that is a member again, by hand, is in sync
    facts = dataclasses.replace(facts, removed={"D1": "2026-11-22T10:00:00+00:00"})
    assert verdict(facts, "D1") == DriveJudgement("in-sync")


def test_a_member_that_ran_without_its_array_is_of_another_pool() -> None:
    facts = server(drive("D1"), without=["D1"], contents={"D1": OURS})
    one = Apart(array="data", serial="D1", partuuid="p", written="2026-11-28T07:00:00+00:00")
    what = "ran without array data after it left it, last written 2026-11-28 07:00 UTC"
    assert verdict(dataclasses.replace(facts, apart={"D1": one}), "D1") == DriveJudgement("other pool", what)
    newer = one.model_copy(update={"written": None, "started": "2026-11-28T08:00:00+00:00"})
    what = "may be newer than array data, which was started without it on 2026-11-28 08:00 UTC"
    assert verdict(dataclasses.replace(facts, apart={"D1": newer}), "D1") == DriveJudgement("other pool", what)
    # what is in sync was added by an administrator, and a drive that was erased has nothing of the array
    assert verdict(dataclasses.replace(server(), apart={"D1": one}), "D1") == DriveJudgement("in-sync")


def test_a_member_whose_array_does_not_run_is_not_called_returned() -> None:
    facts = server(drive("D1"), without=["D1"], contents={"D1": OURS}, runs=False)
    assert verdict(facts, "D1") == DriveJudgement("unknown", "array data does not run")


def test_a_member_that_came_back_empty_is_judged_by_what_is_on_it() -> None:
    facts = server(drive("D1"), without=["D1"], at_boot=[examined("D1", DriveState.OURS, "Millrace partition")])
    assert verdict(facts, "D1") == DriveJudgement("unknown", CHANGED)
    facts = dataclasses.replace(facts, contents={"nvme-D1": TABLE})
    assert verdict(facts, "D1") == DriveJudgement("foreign", "GPT partition table, XFS file system")


def test_drives_of_another_pool_are_told_from_ours_and_from_foreign_ones() -> None:
    other = Contents(frozenset([FOREIGN_UUID]), millrace=True, other="GPT partition table")
    assert verdict(server(drive("X"), contents={"X": other}), "X") == DriveJudgement(
        "other pool", f"arrays {FOREIGN_UUID}"
    )
    made = Contents(millrace=True, other="GPT partition table")
    assert verdict(server(drive("X"), contents={"X": made}), "X").verdict == "other pool"
    raid = Contents(frozenset([FOREIGN_UUID]), other="Linux md RAID member")
    assert verdict(server(drive("X"), contents={"X": raid}), "X") == DriveJudgement("foreign", "Linux md RAID member")


def test_a_drive_that_nobody_examined_is_not_blank() -> None:
    assert verdict(server(drive("X")), "X") == DriveJudgement("unknown", NOT_EXAMINED)


@pytest.mark.parametrize(
    ("state", "finding", "judgement"),
    [
        (DriveState.BLANK, "nothing", DriveJudgement("blank")),
        (DriveState.FOREIGN, "data at byte 7", DriveJudgement("foreign", "data at byte 7")),
        (DriveState.UNKNOWN, "cannot be read", DriveJudgement("unknown", "cannot be read")),
        (DriveState.OURS, "Millrace partition", DriveJudgement("unknown", CHANGED)),
        (DriveState.BOOT, "carries /", DriveJudgement("boot", "carries /")),
    ],
)
def test_what_the_inventory_found_holds(state: DriveState, finding: str, judgement: DriveJudgement) -> None:
    assert verdict(server(drive("X"), at_boot=[examined("X", state, finding)]), "X") == judgement


def test_what_is_on_a_drive_now_outweighs_an_inventory_that_found_nothing() -> None:
    facts = server(drive("X"), at_boot=[examined("X", DriveState.BLANK)], contents={"X": TABLE})
    assert verdict(facts, "X").verdict == "foreign"


def test_two_drives_with_one_serial_number_are_unknown() -> None:
    facts = server(drive("D1", name="nvme-twin"), at_boot=[examined("D1", DriveState.BLANK)])
    twins = [Judge(facts).drive(each) for each in facts.present if each.serial == "D1"]
    assert twins == [DriveJudgement("unknown", "2 drives have the serial number D1")] * 2


@pytest.mark.parametrize(
    ("without", "size", "judgement"),
    [
        (["D1"], NEEDED, DriveJudgement("blank")),
        (["D1"], NEEDED - 1, DriveJudgement("too small", lacks=1)),
        # the smaller one of two that are missing is what it could replace
        (["D1", "L0"], NEEDED - 1, DriveJudgement("blank")),
        ([], NEEDED - 1, DriveJudgement("blank")),
        ([], 1 << 30, DriveJudgement("too small", lacks=(3 << 30) + (2 << 20))),
    ],
)
def test_a_blank_drive_is_measured_by_the_drive_that_it_could_replace(
    without: list[str], size: int, judgement: DriveJudgement
) -> None:
    facts = server(drive("X", size=size), without=without, at_boot=[examined("X", DriveState.BLANK)])
    assert verdict(facts, "X") == judgement


def test_without_a_pool_no_drive_is_too_small_and_ours_is_of_another_pool() -> None:
    facts = server(drive("X", size=1), at_boot=[examined("X", DriveState.BLANK)], contents={"D1": OURS})
    facts = dataclasses.replace(facts, pool=None, live=[])
    assert verdict(facts, "X") == DriveJudgement("blank")
    assert verdict(facts, "D1").verdict == "other pool"


def test_what_a_drive_needs_is_not_known_of_a_pool_without_a_record_of_its_drives() -> None:
    facts = server()
    assert facts.pool is not None
    assert (Judge(facts).needs("L0"), Judge(facts).needs("D0"), Judge(facts).needs("BY HAND")) == (
        (4 << 30) + (2 << 20),
        NEEDED,
        NEEDED,
    )
    old = dataclasses.replace(facts, pool=facts.pool.model_copy(update={"drives": []}))
    assert Judge(old).needs("D0") == 0


def test_without_an_inventory_any_drive_may_be_the_one_that_boots() -> None:
    facts = dataclasses.replace(server(contents={"BOOT": TABLE}), examined=[])
    assert verdict(facts, "BOOT").verdict == "unknown"
    assert verdict(facts, "D1").verdict == "in-sync"


def test_a_drive_whose_erase_did_not_end_is_never_blank() -> None:
    blank = [examined("X", DriveState.BLANK)]
    facts = dataclasses.replace(server(drive("X"), at_boot=blank), unfinished={"X": INTERRUPTED, "D1": INTERRUPTED})
    assert verdict(facts, "X") == DriveJudgement("unknown", INTERRUPTED)
    # a drive that became a member since then is one
    assert verdict(facts, "D1") == DriveJudgement("in-sync")


def test_the_mark_of_an_erase_in_another_server_is_known() -> None:
    marked = examined("X", DriveState.FOREIGN, ERASE_INTERRUPTED)
    assert verdict(server(drive("X"), at_boot=[marked]), "X") == DriveJudgement("unknown", INTERRUPTED)
    assert verdict(server(drive("X"), at_boot=[marked], contents={"X": TABLE}), "X").verdict == "foreign"
