# SPDX-License-Identifier: Apache-2.0
"""Our arrays, by UUID, in every boot; degraded too."""

from collections.abc import Callable

from millrace import paths, store
from millrace.errors import Failed, Refused
from millrace.plan.labels import array_path
from millrace.provision import md
from millrace.provision.model import ArrayRecord, Pool
from millrace.provision.system import System

GRACE = 30.0
"""Seconds that late drives get before an array starts without them."""

POLL = 0.5
"""Seconds between two looks."""

Say = Callable[[str], None]


def assemble(system: System, say: Say) -> Pool:
    """Start every array of pool.json. Changes nothing where they run. `say` gets one line for each array.

    Raises Failed naming the serials that are missing where an array has too few members.
    """
    pool = load_pool()
    md.load_modules(system)
    for record in sorted(pool.arrays, key=lambda item: item.array.over_arrays):
        say(f"{md.title(record.array)}: {_start(system, record)}")
    return pool


def load_pool() -> Pool:
    """The pool of this server; Refused if it has none."""
    if not paths.pool_file().exists():
        raise Refused("this server has no pool yet; read its plan with `millrace plan`")
    return store.read_model(paths.pool_file(), Pool)


def _start(system: System, record: ArrayRecord) -> str:
    active = md.find(system, record.uuid)
    if active is not None and active.running:
        md.ensure_link(system, record)
        return "runs already"
    devices, missing = _members(system, record)
    if len(devices) < md.needed(record.array):
        raise Failed(
            f"{md.title(record.array)} cannot start: {md.needed(record.array)} of {len(record.array.members)} members "
            f"are needed, {len(devices)} are there; missing: {', '.join(missing)}"
        )
    try:
        md.assemble(system, record, devices)
    except Failed as error:
        raise Failed(
            f"{md.title(record.array)} does not start ({error}); missing: {', '.join(missing) or 'none'}"
        ) from error
    md.ensure_link(system, record)
    return (
        f"started without {', '.join(missing)}"
        if missing
        else f"started, {md.count(len(record.array.members), len(record.spares))}"
    )


def _members(system: System, record: ArrayRecord) -> tuple[list[str], list[str]]:
    """Devices to pass to mdadm, and the serials of the drives that did not come in time."""
    if record.array.over_arrays:
        return [array_path(name) for name in record.array.members], []
    # A hot spare may have taken the place of a member since the pool was made.
    wanted = [*record.members, *record.spares]
    waited = 0.0
    while True:
        missing = [member for member in wanted if system.partition(member.partuuid) is None]
        if not missing or waited >= GRACE:
            break
        system.wait(POLL)
        waited += POLL
    devices = [f"/dev/disk/by-partuuid/{member.partuuid}" for member in wanted if member not in missing]
    return devices, [member.serial for member in missing]
