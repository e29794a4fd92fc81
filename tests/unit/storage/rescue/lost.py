# SPDX-License-Identifier: Apache-2.0
"""Servers whose log is lost, and what an administrator does about it."""

from collections.abc import Callable

from millrace.plan.model import Plan
from millrace.storage.record.model import ArrayRecord
from millrace.storage.record.pool_file import load_pool
from millrace.storage.rescue.diagnosis import log_of
from millrace.storage.rescue.rescue import carry_out
from millrace.storage.rescue.rescue_model import RescueState
from millrace.storage.rescue.rescue_steps import Choices
from millrace.storage.rescue.step_names import STEPS, StepName
from tests.fakes.drives.without_log import WithoutLog, without_log
from tests.unit.storage.drive.pools import drop, pool_of, put_in
from tests.unit.storage.drive_life import die
from tests.unit.storage.plans import planned, planned_1u12, raid6_plan

NEW = ("N1", "N2")
NOTHING = Choices()
SERVERS: dict[str, tuple[Callable[[], Plan], Choices]] = {
    "small drives, blank ones are inserted": (raid6_plan, Choices(drives=NEW)),
    "small drives, partitions are free": (planned_1u12, NOTHING),
    "partitions of the data drives": (lambda: planned(7), NOTHING),
}


def log_record() -> ArrayRecord:
    return log_of(load_pool())


def lost(plan: Plan, *more: str) -> WithoutLog:
    """Both drives of the log are pulled while the pool serves; `more` are blank drives that are put in."""
    world = without_log(pool_of(plan))
    gone = [member.serial for member in log_record().members]
    die(world, *gone)
    # md has no member of it any more that it could write to
    put_in(world, *more)
    world.pulled = {serial: next(disk for disk in world.disks if disk.serial == serial) for serial in gone}
    for serial in gone:
        drop(world, serial)
    return world


def put_back(world: WithoutLog) -> None:
    """The drives of the lost log are in the server again."""
    for serial, disk in world.pulled.items():
        if disk not in world.disks:
            world.disks.append(disk)
            number = next(number for number in range(100) if f"nvme{number}n1" not in world.names)
            world.names[f"nvme{number}n1"] = world.pulled[serial]


def done(world: WithoutLog, *names: StepName, choices: Choices = NOTHING) -> RescueState:
    """These steps, confirmed one after the other."""
    for name in names:
        state = carry_out(world, name, choices, "admin", lambda _: None)
    return state


def rescued(world: WithoutLog, choices: Choices = NOTHING) -> RescueState:
    return done(world, *STEPS, choices=choices)
