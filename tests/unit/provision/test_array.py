# SPDX-License-Identifier: Apache-2.0
"""What of an array is there after a creation that was cut short."""

from millrace.provision.array import ArrayStep
from millrace.provision.drives import Drives
from millrace.provision.step import Found
from tests.fakes.drives.world import World
from tests.unit.provision.plans import raid6_plan
from tests.unit.provision.server import built


def test_an_array_that_runs_without_its_link_has_to_be_activated(world: World) -> None:
    record = built(world, raid6_plan()).arrays[0]
    step = ArrayStep(world, Drives(world), record)
    assert step.inspect() is Found.COMPLETE
    world.md_link = lambda name: None  # type: ignore[method-assign]
    assert step.inspect() is Found.STOPPED
