# SPDX-License-Identifier: Apache-2.0
"""Discards reach the drives only where the plan says so and every member of now guarantees zeroes.

md takes devices_handle_discard_safely when it starts an array (kernel 7.2: drivers/md/raid5.c raid5_set_limits), for
the drives that join later, too. Those limits stay until the array is stopped, but the block layer refuses
discards as soon as queue/discard_max_bytes is 0.
"""

from collections.abc import Sequence

from millrace.plan.model import Plan, Role
from millrace.storage.array import md
from millrace.storage.array.machine import Report, System
from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.model import ArrayRecord, DriveRecord, Pool
from millrace.system.errors import BadInput, Failed


def without_guarantee(pool: Pool) -> list[str]:
    """Return the serials of members and hot spares of the data that keep discards from the drives, although planned.

    A drive that was added by hand is among them, and one that an open change is adding.
    """
    if not pool.filesystem.discard:
        return []
    safe = {drive.serial for drive in pool.drives if drive.discard}
    serials = {member.serial for record in _data(pool.arrays) for member in (*record.members, *record.spares)}
    try:
        journal = ChangeJournal.load()
    except BadInput:
        journal = None
    new = journal.change.drive if journal else None
    return sorted({*(serials - safe), *({new.serial} if new and _harms(new) else set())})


def allowed(pool: Pool) -> bool | None:
    """Whether discards may reach the drives now; None for a pool that was made before that was planned."""
    planned = pool.filesystem.discard
    return planned if not planned else not without_guarantee(pool)


def prepare(system: System, pool: Pool, report: Report) -> None:
    """Set what arrays with parity start with, before they are started. A pool without a decision is left as it is."""
    _set(system, allowed(pool), pool.arrays, report)
    if names := without_guarantee(pool):
        report(f"discards are kept from the drives: {', '.join(names)} may not read as zeroes after one")


def prepare_new(system: System, plan: Plan, arrays: Sequence[ArrayRecord], report: Report) -> None:
    """Set what the arrays of a new pool start with."""
    _set(system, plan.filesystem.discard, arrays, report)


def keep_from(system: System, pool: Pool, drive: DriveRecord) -> None:
    """Keep discards from all drives of the data before a drive joins that may not read as zeroes after one.

    Failed: the kernel still passes them on; the drive must not join.
    """
    if not pool.filesystem.discard or not _harms(drive):
        return
    for record in _data(pool.arrays):
        active = md.find(system, record.uuid)
        if active is None:
            continue
        try:
            system.md_no_discard(active.device)
        except OSError as error:
            raise Failed(
                f"{md.title(record.array)} still passes discards on ({error.strerror or error}), and drive "
                f"{drive.serial} may not read as zeroes after one; use a drive that does"
            ) from error


def _set(system: System, wanted: bool | None, arrays: Sequence[ArrayRecord], report: Report) -> None:
    if wanted is None or not any(one.array.level in ("raid5", "raid6") for one in arrays):
        return
    try:
        system.md_discard(wanted)
    except OSError as error:
        report(f"cannot set whether md passes discards on: {error.strerror or error}")


def _harms(new: DriveRecord) -> bool:
    """Whether a drive is to hold data and may not read as zeroes after a discard."""
    return not new.discard and any(one.role is Role.DATA for one in new.partitions)


def _data(arrays: Sequence[ArrayRecord]) -> list[ArrayRecord]:
    """The arrays of the data, the raid0 over legs included."""
    return [one for one in arrays if one.array.role is Role.DATA]
