# SPDX-License-Identifier: Apache-2.0
"""What a member's md superblock says of it."""

from millrace.provision.superblock import examine
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.provision.drive_life import add_by_hand, die, rebuilt
from tests.unit.provision.plans import DATA_SIZE, raid6_plan
from tests.unit.provision.server import built


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
