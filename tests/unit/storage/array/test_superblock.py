# SPDX-License-Identifier: Apache-2.0
"""What a member's md superblock says of it."""

import pytest

from millrace.storage.array.superblock import examine, updated
from millrace.system.run import Result
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import add_by_hand, die, rebuilt
from tests.unit.storage.plans import DATA_SIZE, raid6_plan
from tests.unit.storage.server import built


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("1795000000", 1795000000),
        ("8589934591", 8589934591),
        # of all 40 bits; year 1970 is what a server without a clock writes
        (str(2**40 - 1), None),
        (str(2**33), None),
        ("0", None),
        ("9" * 5000, None),
        ("²", None),
        ("", None),
    ],
)
def test_time_of_a_last_write_is_one_that_a_sentence_can_have(
    world: World, monkeypatch: pytest.MonkeyPatch, said: str, seconds: int | None
) -> None:
    monkeypatch.setattr(world, "attempt", lambda argv: Result(0, f"MD_LEVEL=raid1\nMD_UPDATE_TIME={said}\n", ""))
    assert updated(world, "sda1") == seconds


def test_a_member_that_is_still_filled_is_told_from_one_that_is_whole(world: World) -> None:
    built(world, raid6_plan())
    die(world, "D1")
    add_by_hand(world, "data", Disk("N1", DATA_SIZE))
    (name,) = [name for name, disk in world.names.items() if disk.serial == "N1"]
    filling = examine(world, name)
    assert filling is not None and filling.recovering
    rebuilt(world)
    whole = examine(world, name)
    assert whole is not None and not whole.recovering


@pytest.mark.parametrize(
    ("features", "by_bitmap"),
    [("0x83", True), ("0x8b", True), ("0x3", False), ("0xb", False), ("", False), ("x", False)],
)
def test_a_resync_by_the_bitmap_is_told_by_the_feature_map(
    world: World, monkeypatch: pytest.MonkeyPatch, features: str, by_bitmap: bool
) -> None:
    lines = f"    Feature Map : {features}\nRecovery Offset : 8192 sectors\n         Events : 7\n"
    monkeypatch.setattr(world, "attempt", lambda argv: Result(0, lines, ""))
    block = examine(world, "sda1")
    assert block is not None and block.recovering and block.by_bitmap is by_bitmap


@pytest.mark.parametrize("events", ["²", "9" * 4400, "-1", "5 of 7", ""])
def test_lines_in_the_name_of_an_array_are_not_taken_for_numbers(
    world: World, monkeypatch: pytest.MonkeyPatch, events: str
) -> None:
    text = f"           Name : x\nEvents : {events}\n    Device Role : Active device ²\n"
    monkeypatch.setattr(world, "attempt", lambda argv: Result(0, text, ""))
    assert examine(world, "sda1") is None
