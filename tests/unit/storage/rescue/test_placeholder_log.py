# SPDX-License-Identifier: Apache-2.0
"""The device in the place of the log is of the log's size, and goes away, also what a kill left behind."""

from pathlib import Path

import pytest

from millrace.storage.record.pool_file import load_pool
from millrace.storage.rescue.placeholder_log import clean_up, mount_point, stand_in
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.drives.without_log import DATA, WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.rescue.lost import NEW, done, lost

__all__ = ["root"]


@pytest.fixture
def world(root: Path) -> WithoutLog:
    world = lost(raid6_plan(), *NEW)
    done(world, "stop")
    return world


def test_it_has_the_size_of_the_log_and_takes_no_room(world: WithoutLog) -> None:
    with stand_in(world, load_pool()) as device:
        backing = paths.run_dir() / "rescue-log"
        assert device == "/dev/loop0"
        assert backing.stat().st_size == load_pool().filesystem.log_size and backing.stat().st_blocks == 0
    assert not backing.exists() and not world.loops


def killed_while_judging(world: WithoutLog) -> None:
    backing = paths.run_dir() / "rescue-log"
    backing.parent.mkdir(parents=True, exist_ok=True)
    backing.write_text("")
    mount_point().mkdir(parents=True)
    world.loops.add("/dev/loop3")
    world.mount(DATA, str(mount_point()))


def test_what_a_kill_left_behind_is_removed_before_the_next_step(world: WithoutLog) -> None:
    killed_while_judging(world)
    assert done(world, "image").next == "judge"
    assert not world.loops and not world.points
    assert world.called("umount") and world.called("losetup --detach /dev/loop3")


def test_directory_that_is_in_use_is_named(world: WithoutLog) -> None:
    killed_while_judging(world)
    world.broken["umount"] = Result(32, "", "umount: /run/millrace/verify-rescue: target is busy.")
    with pytest.raises(Failed, match="verify-rescue: target is busy"):
        clean_up(world)
    assert world.loops == {"/dev/loop3"}
