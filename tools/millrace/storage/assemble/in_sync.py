# SPDX-License-Identifier: Apache-2.0
"""The record of the members: pool.json has who belongs to an array, in-sync.json who held its data last.

`/run/millrace/in-sync.json` counts in this boot, also where the boot drive takes no record.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from millrace.plan.labels import array_path
from millrace.plan.model import Role
from millrace.storage.array import md
from millrace.storage.array.machine import LiveMember, Report, System
from millrace.storage.array.superblock import examine
from millrace.storage.assemble import separate_lives
from millrace.storage.assemble.separate_lives import LeftMember
from millrace.storage.record import apart_record, removal_record
from millrace.storage.record.membership import absent, up_to_date
from millrace.storage.record.model import ArrayRecord, DriveRecord, MemberRecord, Pool, WaitingGrowth
from millrace.storage.record.pool_file import known_pool, save_pool
from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import Failed, MillraceError
from millrace.system.locks import held


class InSyncArray(Contract):
    """The members of one array that were in sync, and those that have left it. `uuid` in mdadm's form."""

    uuid: str
    members: list[MemberRecord]
    left: list[LeftMember] = Field(default_factory=list)


class InSync(Contract):
    """The members that were in sync when they were last recorded (`/var/lib/millrace/in-sync.json`)."""

    schema_version: Literal[1] = 1
    arrays: list[InSyncArray]


@dataclass(frozen=True)
class RunningMembers:
    """A running array: its record brought up to date, its members in sync, and all that md has of it.

    `slots` has the members in sync. `events` is how often md has written its superblocks; None where no superblock can
    be read, and for an array that cannot run twice.
    """

    record: ArrayRecord
    in_sync: list[MemberRecord]
    present: list[MemberRecord]
    slots: dict[int, MemberRecord]
    events: int | None


def record(
    system: System,
    pool: Pool,
    report: Report,
    drives: Callable[[list[DriveRecord]], list[DriveRecord]] | None = None,
    given_up: Mapping[str, str | None] | None = None,
    growth: Callable[[WaitingGrowth | None], WaitingGrowth | None] | None = None,
) -> Pool:
    """Record the members that md has now; return the pool as it is recorded.

    An array that does not run keeps its record. `drives` returns the new record of the partitions from the old one.
    `given_up` has arrays with the serial of a hot spare that they are to have no more. `growth` returns what is left of
    a growth. An OSError is reported and not raised.
    """
    with ExitStack() as stack:
        # an event of md has another process record them, maybe at the same time; where there is no room for the lock
        # the record cannot be written, which is reported there
        with suppress(OSError):
            stack.enter_context(held(paths.pool_lock()))
            pool = known_pool() or pool
        now = _Now(drives(pool.drives) if drives else pool.drives, growth(pool.growth) if growth else pool.growth)
        return _record(system, pool, report, now, given_up or {})


@dataclass(frozen=True)
class _Now:
    """What a change made of the partitions of the drives, and what is left of a growth."""

    drives: list[DriveRecord]
    growth: WaitingGrowth | None


def _record(
    system: System,
    pool: Pool,
    report: Report,
    now: _Now,
    given_up: Mapping[str, str | None],
) -> Pool:
    arrays, in_sync = [], []
    before = {array.uuid: array for array in _recorded().arrays}
    present, filled = set[str](), dict[str, list[MemberRecord]]()
    for array in (_without(array, given_up.get(array.array.name)) for array in pool.arrays):
        seen = None if array.array.over_arrays else running_members(system, array)
        arrays.append(seen.record if seen else array)
        last = _now(seen, before.get(array.uuid)) if seen else _last_half(system, array, before.get(array.uuid))
        if last is not None:
            in_sync.append(last)
        present |= {member.serial for member in seen.present} if seen else set()
        filled[array.array.name] = seen.in_sync if seen else []
    update = {"arrays": arrays, "drives": now.drives, "growth": now.growth}
    changed = pool.model_copy(update={**update, "generation": pool.generation + 1})
    try:
        _write_now(InSync(arrays=in_sync))
    except OSError as error:
        report(f"cannot record the members of the arrays for this boot: {error}")
    try:
        removal_record.forget(present)
        apart_record.forget_newer(filled)
        apart_record.keep()
        _write(InSync(arrays=in_sync))
        if update == {"arrays": pool.arrays, "drives": pool.drives, "growth": pool.growth}:
            # a file that was torn is written again
            save_pool(pool)
            return pool
        save_pool(changed)
    except OSError as error:
        report(f"cannot record the members of the arrays: {error}")
    return changed


def _now(seen: RunningMembers, before: InSyncArray | None) -> InSyncArray:
    """A running array as it is recorded."""
    last = before.members if before else seen.record.members
    out = before.left if before else []
    if seen.events is not None:
        out = separate_lives.left_now(out, last, seen.slots, seen.present, seen.events)
    return InSyncArray(uuid=seen.record.uuid, members=seen.in_sync, left=out)


def _last_half(system: System, array: ArrayRecord, before: InSyncArray | None) -> InSyncArray | None:
    """An array that does not run as it is recorded: as before, but of a broken mirror only the half that went last.

    md never gives that one up. This may be the first look since the other half left, and the last before the array is
    stopped: its superblock may say that both are in sync.
    """
    active = None if array.array.level != "raid1" else md.find(system, array.uuid)
    if active is None or not active.running:
        return before
    slots = system.md_kept_slots(active.device)
    kept = {slot: array.members[slot] for slot in sorted(slots) if slot < len(array.members)}
    if not kept or (before and absent([*kept.values()], before.members)):
        # pool.json has another member in this slot than the array had
        return before
    left, events = before.left if before else [], _events(system, system.md_members(active.device))
    if before and events is not None:
        left = separate_lives.left_now(left, before.members, kept, [*kept.values()], events)
    return InSyncArray(uuid=array.uuid, members=[*kept.values()], left=left)


def _events(system: System, live: Iterable[LiveMember]) -> int | None:
    """How often md has written the superblocks of members in sync; None where none of them can be read."""
    blocks = (examine(system, member.name) for member in live if member.in_sync)
    return max((block.events for block in blocks if block is not None), default=None)


def _write_now(found: InSync) -> None:
    """Write what counts in this boot. OSError: it can be neither written nor, with what it had before, removed."""
    try:
        write_model(paths.in_sync_now_file(), found)
    except OSError:
        paths.in_sync_now_file().unlink(missing_ok=True)


def _write(in_sync: InSync) -> None:
    """Write what counts in the next boots. OSError: it cannot be written.

    One that has other members is removed then: a half of a mirror that has left since would be as good as the other.
    """
    path = paths.in_sync_file()
    try:
        write_model(path, in_sync)
    except OSError:
        with suppress(OSError, MillraceError):
            if _members(read_model(path, InSync)) != _members(in_sync):
                path.unlink()
        raise


def _members(found: InSync) -> list[tuple[str, list[MemberRecord]]]:
    return [(one.uuid, one.members) for one in found.arrays]


def last_of(one: ArrayRecord) -> InSyncArray:
    """Return what is recorded of an array; nothing where it was never recorded."""
    found = (array for array in _recorded().arrays if array.uuid == one.uuid)
    return next(found, InSyncArray(uuid=one.uuid, members=[]))


def forget_left() -> None:
    """Forget when members left: a record that is older than the arrays would accuse those that came back since.

    That of this boot is forgotten with it. OSError: the record cannot be written.
    """
    paths.in_sync_now_file().unlink(missing_ok=True)
    if paths.in_sync_file().exists():
        kept = [one.model_copy(update={"left": []}) for one in _recorded().arrays]
        write_model(paths.in_sync_file(), InSync(arrays=kept))


def refuse_stale(raid: ArrayRecord, present: Sequence[MemberRecord]) -> None:
    """Verify that a member that is present was in sync last. Failed: none was; their data is old, and md cannot know.

    Halves of a mirror that went at different times, or two of four members of a RAID6.
    """
    last = last_of(raid).members
    if not last or len(absent(last, present)) < len(last):
        return
    old, gone = _serials(present), _serials(last)
    lost = (
        "An older log must not be replayed; if it does not come back: millrace pool rescue"
        if raid.array.role is Role.LOG
        else f"Without it only older data is left; to start that: mdadm --assemble --run {array_path(raid.array.name)} "
        f"--uuid={raid.uuid} and the device of {old}, then: systemctl restart millrace-assemble."
    )
    raise Failed(
        f"{md.title(raid.array)} is not started: {old} is present, but was out of sync when the array last ran; "
        f"{gone} was in sync. Reinsert {gone}, then: systemctl restart millrace-assemble. {lost}"
    )


def running_members(system: System, array: ArrayRecord) -> RunningMembers | None:
    """Return the members that md runs an array with; None where it does not run with enough of them."""
    active = md.find(system, array.uuid)
    if active is None or not active.running or md.broken(system, array, active):
        return None
    live = {member: system.identity(member.name) for member in system.md_members(active.device)}
    in_sync = {member.slot: who for member, who in live.items() if member.in_sync and member.slot is not None}
    spares = [who for member, who in live.items() if member.slot is None and "spare" in member.flags]
    present = [who for member, who in live.items() if "faulty" not in member.flags]
    twice = separate_lives.possible(len(array.members), md.needed(array.array))
    return RunningMembers(
        up_to_date(array, in_sync, present, spares),
        [in_sync[slot] for slot in sorted(in_sync)],
        present,
        in_sync,
        _events(system, live) if twice else None,
    )


def _without(one: ArrayRecord, spare: str | None) -> ArrayRecord:
    return one.model_copy(update={"spares": [member for member in one.spares if member.serial != spare]})


def _recorded() -> InSync:
    """Return the record; nothing where no file of it is there or can be parsed: it guards, it must not stop."""
    for path in (paths.in_sync_now_file(), paths.in_sync_file()):
        with suppress(MillraceError):
            return read_model(path, InSync)
    return InSync(arrays=[])


def _serials(members: Sequence[MemberRecord]) -> str:
    return ", ".join(member.serial for member in members)
