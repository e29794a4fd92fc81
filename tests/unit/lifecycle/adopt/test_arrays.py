# SPDX-License-Identifier: Apache-2.0
"""The arrays on the drives are known by their superblocks; what is not clear is refused, and nothing is written."""

import pytest

from millrace.lifecycle.adopt.arrays import OnDrives, of_one_pool, on_drives
from millrace.system.errors import Refused
from tests.unit.lifecycle.adopt.conftest import Drives, Held

DATA, LOG, OTHER = "11111111:1:1:1", "22222222:2:2:2", "33333333:3:3:3"
FIVE = ["a1", "b1", "c1", "d1", "e1"]


def test_complete_pool(drives: Drives) -> None:
    drives.array("data", DATA, "raid5", FIVE)
    drives.array("log", LOG, "raid1", ["a2", "b2"])
    found = on_drives(drives)
    assert [(one.name, one.level, one.slots, one.missing) for one in found] == [
        ("data", "raid5", 5, 0),
        ("log", "raid1", 2, 0),
    ]
    assert found[0].members == {name: name.upper() for name in FIVE}
    of_one_pool(found)


def test_dead_drive_is_no_obstacle(drives: Drives) -> None:
    drives.array("data", DATA, "raid5", FIVE[:4], slots=5)
    (found,) = on_drives(drives)
    assert (found.missing, found.can_start) == (1, True)
    of_one_pool([found])


def test_too_few_drives_are_refused(drives: Drives) -> None:
    drives.array("data", DATA, "raid5", FIVE[:3], slots=5)
    with pytest.raises(Refused, match="array data cannot start: 3 of 5 members are in this server; put the missing"):
        of_one_pool(on_drives(drives))


@pytest.mark.parametrize(("level", "slots", "there", "starts"), [("raid1", 2, 1, True), ("raid6", 6, 3, False)])
def test_how_many_members_an_array_needs(level: str, slots: int, there: int, starts: bool) -> None:
    members = {f"d{number}": f"D{number}" for number in range(there)}
    assert OnDrives(DATA, "data", level, slots, members, {}, {}).can_start is starts


def test_member_that_was_away_is_outdated_and_not_used(drives: Drives) -> None:
    drives.array("data", DATA, "raid5", FIVE)
    for name in FIVE[1:]:
        drives.held[name].events, drives.held[name].states = 20, ".AAAA"
    (found,) = on_drives(drives)
    assert (found.outdated, found.missing) == ({"a1": "A1"}, 1)


def test_hot_spare_is_neither_a_member_nor_outdated(drives: Drives) -> None:
    drives.array("log", LOG, "raid1", ["a1", "b1"])
    drives.put("c1", Held("log", LOG, "raid1", 2, None))
    (found,) = on_drives(drives)
    assert (found.spares, found.outdated, found.missing) == ({"c1": "C1"}, {}, 0)
    assert found.serials == ["A1", "B1", "C1"]


def test_two_drives_in_one_place_are_a_conflict(drives: Drives) -> None:
    drives.array("data", DATA, "raid5", FIVE)
    drives.put("x1", Held("data", DATA, "raid5", 5, 4))
    with pytest.raises(Refused, match="array data is in conflict: E1, X1 claim the same place"):
        on_drives(drives)


def test_drives_of_two_pools_are_named_and_refused(drives: Drives) -> None:
    drives.array("data", DATA, "raid5", FIVE)
    drives.array("data", OTHER, "raid5", ["x1", "y1", "z1"])
    with pytest.raises(Refused) as refused:
        of_one_pool(on_drives(drives))
    said = str(refused.value)
    assert "drives of 2 pools are in this server" in said and "Nothing was written" in said
    assert f"array data {OTHER} on X1, Y1, Z1" in said


def test_arrays_of_others_are_not_seen(drives: Drives) -> None:
    drives.put("a1", Held("data", DATA, "raid5", 5, 0))
    drives.broken["mdadm --examine --export"] = lambda words, stdin: drives.works(words, stdin).__class__(
        0, "MD_LEVEL=raid1\nMD_DEVICES=2\nMD_NAME=nas:md0\nMD_UUID=1:2:3:4\n", ""
    )
    assert on_drives(drives) == []


def test_two_lives_of_a_mirror_are_refused_and_both_are_named(drives: Drives) -> None:
    for slot, (name, states) in enumerate({"a1": "A.", "b1": ".A"}.items()):
        drives.put(name, Held("data", "1:1:1:1", "raid1", 2, slot, events=10 + 90 * slot, states=states))
    with pytest.raises(Refused, match="array data ran twice, on A1 and on B1 without each other"):
        on_drives(drives)


def test_half_of_a_mirror_that_was_away_is_outdated(drives: Drives) -> None:
    drives.put("a1", Held("data", "1:1:1:1", "raid1", 2, 0, events=100, states="A."))
    drives.put("b1", Held("data", "1:1:1:1", "raid1", 2, 1, events=10, states="AA"))
    [found] = on_drives(drives)
    assert (found.members, found.outdated) == ({"a1": "A1"}, {"b1": "B1"})
