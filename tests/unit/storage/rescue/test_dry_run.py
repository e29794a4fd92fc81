# SPDX-License-Identifier: Apache-2.0
"""What can be read without the log is counted, and what xfs_repair would change is shown; nothing is written."""

from pathlib import Path

import pytest

from millrace.storage.record.pool_file import load_pool
from millrace.storage.rescue import dry_run as judging
from millrace.storage.rescue.dry_run import judge
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.drives.without_log import WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.rescue.lost import NEW, done, lost

__all__ = ["root"]

DAMAGE = """Phase 1 - find and verify superblock...
        - scan filesystem freespace and inode maps...
agi unlinked bucket 3 is 131 in ag 0 (inode=131)
bad directory block magic # 0 in block 0 for directory inode 132
No modify flag set, skipping phase 5
"""


@pytest.fixture
def world(root: Path) -> WithoutLog:
    world = lost(raid6_plan(), *NEW)
    world.files = {"a/one": "12345", "a/b/two": "123", "three": ""}
    done(world, "stop")
    return world


def test_files_are_counted(world: WithoutLog) -> None:
    world.writes.clear()
    found = judge(world, load_pool())
    assert (found.files, found.directories, found.size, found.unreadable) == (3, 3, 8, 0)
    assert found.complete and found.problems == [] and found.note is None
    assert world.writes == [] and not world.points and not world.loops


def test_what_xfs_repair_would_change_is_listed(world: WithoutLog) -> None:
    world.broken["xfs_repair -n"] = Result(1, DAMAGE, "")
    found = judge(world, load_pool())
    assert found.problem_count == 2 and found.problems[0].startswith("agi unlinked bucket 3")


def test_file_system_that_the_kernel_does_not_mount_is_still_examined(world: WithoutLog) -> None:
    world.broken["mount -t xfs"] = Result(
        32, "", "mount: /run/x: mount(2) system call failed: Structure needs cleaning."
    )
    found = judge(world, load_pool())
    assert found.note == (
        "the kernel does not mount it read-only: mount: /run/x: mount(2) system call failed: Structure needs cleaning"
    )
    assert found.files == 0 and world.called("xfs_repair -n") and not world.loops


def test_xfs_repair_that_cannot_run(world: WithoutLog) -> None:
    world.broken["xfs_repair -n"] = Result(2, "", "xfs_repair: out of memory")
    with pytest.raises(Failed, match="cannot examine the file system: xfs_repair: out of memory"):
        judge(world, load_pool())
    assert not world.loops


def test_walk_ends_with_its_time(world: WithoutLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "LIMIT", -1.0)
    assert judge(world, load_pool()).complete is False


def test_control_characters_in_names_are_escaped(world: WithoutLog) -> None:
    world.broken["xfs_repair -n"] = Result(1, 'entry "\x1b[2J" in directory inode 128\n', "")
    assert judge(world, load_pool()).problems == ['entry "\\x1b[2J" in directory inode 128']
