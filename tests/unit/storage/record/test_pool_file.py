# SPDX-License-Identifier: Apache-2.0
"""The plan that a pool was made from."""

from millrace.storage.record.pool_file import approved_plan
from millrace.system import paths
from tests.fakes.drives.world import World
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built


def test_the_plan_of_the_pool_is_kept(world: World) -> None:
    assert approved_plan() is None
    built(world, raid6_plan())
    assert approved_plan() == raid6_plan()


def test_a_damaged_plan_is_no_plan(world: World) -> None:
    built(world, raid6_plan())
    paths.approved_plan_file().write_text("{")
    assert approved_plan() is None
