# SPDX-License-Identifier: Apache-2.0
"""Drives that leave a running pool, and what is started when they are back."""

import json

from millrace.storage.assemble import in_sync
from millrace.storage.assemble.readd import readd
from millrace.storage.record.failure_record import Failure
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.files import append_line
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import die, plug_in, writing

RESTART = ["systemctl", "--no-block", "restart", "millrace-assemble.service"]
REVIVE = ["systemctl", "--no-block", "start", "millrace-pool-change@revive.service"]


def disk(world: World, serial: str) -> Disk:
    return next(one for one in world.disks if one.serial == serial)


def run(world: World) -> list[str]:
    """What millrace-readd.service says."""
    lines: list[str] = []
    readd(world, lines.append)
    return lines


def started(world: World) -> list[list[str]]:
    found = [command for command in world.calls if command in (RESTART, REVIVE)]
    world.calls.clear()
    return found


def boot_without(world: World, *serials: str) -> None:
    world.boot()
    world.names = {name: one for name, one in world.names.items() if one.serial not in serials}


def one_after_another(world: World, *serials: str) -> None:
    """Drives leave a running array, with writes in between."""
    for serial in serials:
        die(world, serial)
        in_sync.record(world, load_pool(), lambda _: None)
        writing(world, "data")


def fail_together(world: World) -> None:
    """D0 leaves; later D1 and D2 at once: their superblocks are equal."""
    one_after_another(world, "D0")
    die(world, "D1", "D2")
    writing(world, "data")
    for serial in ("D0", "D1", "D2"):
        plug_in(world, disk(world, serial))


def recorded(world: World, serial: str, left: int, broken: bool, at: float) -> None:
    (member,) = [one for one in load_pool().arrays[0].members if one.serial == serial]
    failure = Failure("boot", 1, at, load_pool().arrays[0].uuid, member.partuuid, left, broken)
    append_line(paths.failures_file(), json.dumps(failure._asdict()))


# when the superblocks of the fake are written
WRITTEN = 1795000000.0
