# SPDX-License-Identifier: Apache-2.0
"""The plan that a pool was made from."""

import pytest

from millrace.errors import BadInput
from millrace.provision.pool_file import approved_plan
from tests.fakes.drives.world import World
from tests.unit.provision.plans import raid6_plan
from tests.unit.provision.server import built


def test_the_plan_of_the_pool_is_kept(world: World) -> None:
    with pytest.raises(BadInput):
        approved_plan()
    built(world, raid6_plan())
    assert approved_plan() == raid6_plan()
