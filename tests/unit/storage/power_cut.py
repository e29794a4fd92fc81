# SPDX-License-Identifier: Apache-2.0
"""The power goes while a degraded array is written, and what the next start says."""

from millrace.storage.assemble import in_sync
from millrace.storage.assemble.assemble import assemble
from millrace.storage.record.pool_file import load_pool
from millrace.system.errors import Failed
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import die, writing


def started(world: World) -> list[str]:
    """What an assembly says; a failure is its last line."""
    lines: list[str] = []
    try:
        assemble(world, lines.append)
    except Failed as error:
        lines.append(f"failed: {error}")
    return lines


def cut_while_written(world: World, array: str, *lost: str) -> None:
    """Drives are gone, something is written, the power goes; the next boot is without these drives."""
    die(world, *lost)
    in_sync.record(world, load_pool(), lambda _: None)
    writing(world, array)
    world.disks = [disk for disk in world.disks if disk.serial not in lost]
    world.boot()
    world.calls.clear()


def forced(world: World) -> list[list[str]]:
    return [command for command in world.calls if "--force" in command and "--assemble" in command]
