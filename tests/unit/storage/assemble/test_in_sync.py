# SPDX-License-Identifier: Apache-2.0
"""The record follows the spares that md has."""

from millrace.plan.policy.model import LayoutPolicy, LogPolicy, Policy
from millrace.storage.assemble import in_sync
from millrace.storage.record.pool_file import load_pool
from tests.fakes.drives.disks import Disk
from tests.unit.storage.drive_life import add_by_hand, die
from tests.unit.storage.plans import planned
from tests.unit.storage.server import built, server_for


def test_a_spare_that_was_exchanged_by_hand_is_the_recorded_one() -> None:
    plan = planned(7, Policy(layout=LayoutPolicy(spares=1), log=LogPolicy(mode="internal")))
    world = server_for(plan)
    (before,) = built(world, plan).arrays[0].spares
    size = next(disk.size for disk in world.disks if disk.serial == before.serial)
    die(world, before.serial)
    add_by_hand(world, "data", Disk("N1", size))
    in_sync.record(world, load_pool(), lambda _: None)
    assert [one.serial for one in load_pool().arrays[0].spares] == ["N1"]
