# SPDX-License-Identifier: Apache-2.0
"""What of the file system is there after a mkfs.xfs that was cut short."""

import pytest

from millrace.storage.provision.filesystem import FilesystemStep, carriers
from millrace.storage.record.step import FoundContent
from tests.fakes.drives.world import World
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built


@pytest.mark.parametrize(
    ("gone", "found"),
    [
        ((), FoundContent.COMPLETE),
        (("data",), FoundContent.INCOMPLETE),
        (("data", "log"), FoundContent.ABSENT),
    ],
)
def test_a_log_without_its_data_is_incomplete(world: World, gone: tuple[str, ...], found: FoundContent) -> None:
    pool = built(world, raid6_plan())
    for record in pool.arrays:
        if record.array.name in gone:
            del world.on_arrays[record.uuid]
    step = FilesystemStep(world, pool.filesystem, pool.filesystem_uuid, carriers(pool.drives, pool.arrays))
    assert step.inspect() is found
