# SPDX-License-Identifier: Apache-2.0
"""What of an array is there after a creation that was cut short."""

from millrace.storage.drive.attached import Drives
from millrace.storage.provision.create_array import ArrayStep
from millrace.storage.record.step import FoundContent
from tests.fakes.drives.world import World
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built


def test_an_array_that_runs_without_its_link_has_to_be_activated(world: World) -> None:
    record = built(world, raid6_plan()).arrays[0]
    step = ArrayStep(world, Drives(world), record)
    assert step.inspect() is FoundContent.COMPLETE
    world.md_link = lambda name: None  # type: ignore[method-assign]
    assert step.inspect() is FoundContent.STOPPED
