# SPDX-License-Identifier: Apache-2.0
"""Arrays of the pool that did not start or are broken, and what happens when their drives come back.

Drives of a slow switch appear a minute after boot, and those that were pulled by mistake are put in again. Then the
arrays are started without an administrator, where it is certain that they have everything.
"""

from typing import Literal

from pydantic import Field

from millrace.plan.labels import array_path
from millrace.storage.array import md
from millrace.storage.array.gather import members_present
from millrace.storage.array.machine import Report, System
from millrace.storage.assemble import revival_limit
from millrace.storage.assemble.revival import REVIVE as BY_HAND
from millrace.storage.assemble.revival import Situation, situation
from millrace.storage.record.membership import absent
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.jobs import kinds
from millrace.system.units import is_working

ASSEMBLE = "millrace-assemble.service"
SERVING = "millrace-serving.target"
REVIVE = kinds.REVIVE.unit


class StoppedArray(Contract):
    """An array that does not run, or is broken. `present` are GUIDs of partitions, else serials; the rest are serials.

    `behind` were not members until the end. `current`: without these there are enough, and no missing one may have
    gone on without them. `proven`: it is certain which of them to start with. `doubt` is why it does not start. `tried`
    is what was present when a start was tried last, null where none was.
    """

    uuid: str
    name: str
    broken: bool
    present: list[str]
    behind: list[str] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    current: bool
    proven: bool
    doubt: str | None = None
    tried: list[str] | None = None

    @property
    def starts(self) -> bool:
        """Whether it starts by itself."""
        return self.current or self.proven


class StoppedArrays(Contract):
    """The arrays that did not start in this boot or are broken (`/run/millrace/stopped.json`)."""

    schema_version: Literal[1] = 1
    arrays: list[StoppedArray]


def load() -> dict[str, StoppedArray]:
    """Return them by the UUID of the array; nothing where there is no record, or none that can be parsed."""
    try:
        return {one.uuid: one for one in read_model(paths.stopped_file(), StoppedArrays).arrays}
    except MillraceError:
        return {}


def of(system: System, record: ArrayRecord) -> StoppedArray | None:
    """Return how an array stands; None where it runs with enough members."""
    active = md.find(system, record.uuid)
    running = active is not None and active.running
    if active is not None and running and not md.broken(system, record, active):
        return None
    try:
        return _stopped(situation(system, record), running)
    except MillraceError as error:
        return _undecided(system, record, running, str(error))


def record(system: System, pool: Pool, tried: bool = True) -> dict[str, StoppedArray]:
    """Record which arrays do not run; return them. `tried`: with what is there of them a start was tried."""
    before, stopped = load(), {}
    for array_record in pool.arrays:
        now = None if array_record.array.over_arrays else of(system, array_record)
        if now is not None:
            known = before.get(array_record.uuid)
            last = known.tried if known is not None and known.broken == now.broken else None
            stopped[array_record.uuid] = now.model_copy(update={"tried": now.present if tried else last})
    write_model(paths.stopped_file(), StoppedArrays(arrays=list(stopped.values())))
    return stopped


def start_again(system: System, pool: Pool, report: Report) -> bool:
    """Start the arrays whose drives have come since the last attempt, with all that depends on them.

    Nothing is tried twice with the same drives; who starts them records at the end of that with which. Return whether
    this is to be called again: while they are being started nothing is done, as a restart would kill that.
    """
    now = record(system, pool, tried=False)
    if not any(_has_more(array) for array in now.values()):
        return False
    if is_starting(system):
        return True
    for array_record in pool.arrays:
        stopped = now.get(array_record.uuid)
        if stopped and not stopped.starts and stopped.doubt:
            report(f"{md.title(array_record.array)} does not start by itself: {stopped.doubt}")
    if not all(array.starts for array in now.values()):
        record(system, pool)
        return False
    spent = [
        why
        for array_record in pool.arrays
        if array_record.uuid in now and (why := revival_limit.refusal(array_record, system.now()))
    ]
    if spent and any(array.broken for array in now.values()):
        report(f"{'; '.join(spent)}, and is not started by itself any more: {BY_HAND}")
        record(system, pool)
        return False
    names = ", ".join(array_path(array.name) for array in now.values())
    report(f"{names}: the drives are back; starting the pool")
    if any(array.broken for array in now.values()):
        system.attempt(["systemctl", "--no-block", "start", REVIVE])
    else:
        system.attempt(["systemctl", "--no-block", "restart", ASSEMBLE])
    return False


def is_starting(system: System) -> bool:
    """Whether the arrays are being started, or are about to."""
    return any(is_working(unit, system.attempt) for unit in (ASSEMBLE, REVIVE))


def _has_more(one: StoppedArray) -> bool:
    return one.tried is None or bool(set(one.present) - set(one.tried))


def _undecided(system: System, record: ArrayRecord, running: bool, doubt: str) -> StoppedArray:
    """An array of which the members say that nothing is to be started with them, as a mirror that ran twice."""
    there = list(members_present(system, record).values())
    return StoppedArray(
        uuid=record.uuid,
        name=record.array.name,
        broken=running,
        present=sorted(who.partuuid or who.serial for who in there),
        missing=[member.serial for member in absent(record.members, there)],
        current=False,
        proven=False,
        doubt=doubt,
    )


def _stopped(state: Situation, running: bool) -> StoppedArray:
    choice = state.choice
    blocks = [] if choice is None else [*choice.brought, *choice.behind]
    return StoppedArray(
        uuid=state.record.uuid,
        name=state.record.array.name,
        broken=running,
        present=sorted(who.partuuid or who.serial for who in state.found.values()),
        behind=sorted(state.serials(blocks)),
        missing=state.missing,
        current=choice is None and bool(state.blocks) and not state.unseen,
        proven=choice is not None and choice.proven,
        doubt=state.doubt,
    )
