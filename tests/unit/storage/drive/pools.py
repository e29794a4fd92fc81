# SPDX-License-Identifier: Apache-2.0
"""A server with a pool whose drives die and are replaced."""

from collections.abc import Callable
from contextlib import suppress

from millrace.plan.model import Plan
from millrace.storage.change import change_job, change_proposal
from millrace.storage.change.plan_replace import PoolServer, replacement
from millrace.storage.record.drive_change import DriveChange, DrivePlan, DriveProposal
from millrace.storage.record.pool_file import load_pool
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import plug_in
from tests.unit.storage.plans import DATA_SIZE
from tests.unit.storage.server import built, server_for

SECTOR = 4096


def pool_of(plan: Plan) -> World:
    """A server of drives with equal sectors whose pool is built; a rebuild is over as soon as somebody waits for it."""
    world = server_for(plan)
    # the blank drive that was not planned would always be the one that fits
    world.disks = [disk for disk in world.disks if disk.serial != "UNUSED"]
    for disk in world.disks:
        disk.block = SECTOR
    world.boot()
    built(world, plan)
    world.rebuilds = True
    return world


def new_disk(serial: str, size: int = DATA_SIZE, block: int = SECTOR, foreign: str | None = None) -> Disk:
    return Disk(serial, size, block, foreign=foreign)


def put_in(world: World, *serials: str) -> None:
    for serial in serials:
        plug_in(world, new_disk(serial, max(disk.size for disk in world.disks)))


def replacing(old: str, new: str | None = None) -> Callable[[PoolServer], DrivePlan]:
    return lambda server: replacement(server, old, new)


def proposed(world: World, old: str, new: str | None = None) -> DriveProposal:
    return change_proposal.proposed(world, replacing(old, new), old)


def confirmed(world: World, old: str, new: str | None = None) -> DriveChange:
    """A replacement that an administrator has confirmed and that has not begun."""
    proposal = proposed(world, old, new)
    return change_proposal.confirm(world, proposal, proposal.sha256, "admin")


def applied(world: World) -> list[str]:
    """What millrace-drive.service reports."""
    said: list[str] = []
    change_job.execute(world, said.append)
    return said


def replaced(world: World, old: str, new: str | None = None) -> list[str]:
    confirmed(world, old, new)
    return applied(world)


def members(array: str = "data") -> list[str]:
    (record,) = [one for one in load_pool().arrays if one.array.name == array]
    return [one.serial for one in record.members]


def spares(array: str) -> list[str]:
    (record,) = [one for one in load_pool().arrays if one.array.name == array]
    return [one.serial for one in record.spares]


def drop(world: World, serial: str) -> None:
    """What was pulled is not in the server any more, after the next boot either."""
    with suppress(StopIteration):
        world.disks.remove(next(disk for disk in world.disks if disk.serial == serial))


def fail(world: World, array: str, serial: str) -> None:
    """md gives up a member that is still there."""
    running = world.running(f"/dev/md/millrace-{array}")
    running.faulty |= {one for one in running.members if serial in world.serials(one)}
