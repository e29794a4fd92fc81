# SPDX-License-Identifier: Apache-2.0
"""Assemble the arrays of the pool by UUID in every boot, also degraded ones."""

from collections.abc import Mapping

from millrace.plan.labels import array_path
from millrace.plan.model import Role
from millrace.storage.array import discard, md
from millrace.storage.array.gather import WaitTime, gather
from millrace.storage.array.machine import Report, System
from millrace.storage.array.superblock import Superblock, examine, updated
from millrace.storage.assemble import (
    apart,
    external_device,
    grown_legs,
    in_sync,
    passed_over,
    readd,
    revival,
    standstill,
    started_by_hand,
    unclean,
)
from millrace.storage.record import change_journal, removal_record
from millrace.storage.record.membership import absent
from millrace.storage.record.model import ArrayRecord, MemberRecord, Pool
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.writer import assembling, starting
from millrace.system import paths
from millrace.system.errors import Failed, MillraceError
from millrace.system.files import describe, write_text

READD = "millrace-readd.service"


def assemble(system: System, report: Report) -> Pool:
    """Start every array of pool.json; change nothing where they run. `report` receives one line for each array.

    All are tried, and the record of the members is updated. A pool on an external device waits for that. Waits for who
    writes to drives, and starts the arrays beside a change of drives that takes longer; members that returned are
    re-added after it then. Failed: at least one array does not run, or the device is missing; a sentence for each, with
    the serials that are missing. Refused: something else is starting or stopping the arrays.
    """
    pool = load_pool()
    if pool.backend == "external":
        return external_device.gather(system, pool, report)
    with assembling(system.wait) as other:
        if other is None:
            return start_arrays(system, report)
        report(f"{other}; the arrays are started now, and members that returned are re-added after it")
        try:
            return start_arrays(system, report, readding=False)
        finally:
            # which waits for the lock
            system.attempt(["systemctl", "--no-block", "start", READD])


def start_arrays(
    system: System,
    report: Report,
    chosen: Mapping[str, revival.Situation] | None = None,
    readding: bool = True,
) -> Pool:
    """Do this for who holds the lock of the writer. `chosen` are arrays by UUID that are started in spite of a doubt.

    Without `readding` no member is added to an array. Failed: as `assemble`. Refused: another start does not end.
    """
    with starting(system.wait):
        return _start_all(system, load_pool(), report, chosen or {}, readding)


def _start_all(
    system: System, pool: Pool, report: Report, chosen: Mapping[str, revival.Situation], readding: bool
) -> Pool:
    md.load_modules(system)
    discard.prepare(system, pool, report)
    order = sorted(pool.arrays, key=lambda item: item.array.over_arrays)
    problems = _stop_broken(system, pool, order, report)
    started_by_hand.look(system, pool, report)
    waited = WaitTime()
    for record in order:
        if record.uuid in problems:
            continue
        try:
            outcome = _start(system, record, pool, waited, chosen.get(record.uuid))
        except MillraceError as error:
            problems[record.uuid] = str(error)
        else:
            joined = _readd_returned(system, record) if readding else []
            report(f"{md.title(record.array)}: {'; '.join([outcome, *joined])}")
    pool = in_sync.record(system, pool, report, growth=lambda waiting: grown_legs.began(system, pool, waiting))
    try:
        # before the file: what it lets start compares with this, and would try the same drives again
        standstill.record(system, pool)
        grown_legs.go_on(system, pool)
    except OSError as error:
        report(f"cannot record which arrays do not run: {describe(error)}")
    finally:
        # From here on udev starts millrace-readd.service for members that appear.
        write_text(paths.assembled_file(), "")
    if problems:
        raise Failed("; ".join(problems.values()))
    return pool


def _stop_broken(system: System, pool: Pool, order: list[ArrayRecord], report: Report) -> dict[str, str]:
    """Stop what runs without enough members, so that it can be started again; what went wrong, by UUID."""
    dead: set[str] = set()
    problems = {}
    for record in order:
        active = md.find(system, record.uuid)
        lost = record.array.over_arrays and dead & set(record.array.members)
        if active is not None and active.running and (lost or md.broken(system, record, active)):
            dead.add(record.array.name)
    if dead:
        # md forgets with the array which half of a mirror went last
        in_sync.record(system, pool, report)
    # a raid0 holds its legs
    for record in reversed([record for record in order if record.array.name in dead]):
        try:
            md.stop(system, record)
        except Failed as error:
            problems[record.uuid] = (
                f"{md.title(record.array)} is broken: too many of its drives were gone, and it is still in use "
                f"({error}); once they are back in: {revival.REVIVE}"
            )
    return problems


def _start(
    system: System, record: ArrayRecord, pool: Pool, waited: WaitTime, chosen: revival.Situation | None = None
) -> str:
    active = md.find(system, record.uuid)
    if active is not None and active.running:
        is_writable = md.make_writable(system, record)
        md.ensure_link(system, record)
        return "already running" + ("" if is_writable else _held_read_only(record))
    if record.array.over_arrays:
        return _start_over(system, record, pool)
    # md starts a copy that a power cut stopped with the drive that it is written to, or not at all
    gathered = gather(system, record, waited, change_journal.joining(record.array.name))
    out = apart.left_out(system, record, gathered)
    members = _without_removed(record, {name: member for name, member in gathered.items() if name not in out})
    passed_over.forget(system, record, members)
    present = list(members.values())
    kept = list(out.values())
    missing = [member.serial for member in absent([*record.members, *record.spares], [*present, *kept])]
    apart_now = f"; kept apart: {', '.join(member.serial for member in kept)}" if kept else ""
    if len(members) < md.needed(record.array):
        raise Failed(
            f"{md.title(record.array)} cannot start: {len(members)} of {len(record.members)} members present, "
            f"{md.needed(record.array)} required; missing: {', '.join(missing) or 'none'}{apart_now}{_remedy(record)}"
        )
    in_sync.refuse_stale(record, present)
    forced = ""
    if chosen is None:
        revival.refuse_unseen(system, record, members)
    elif chosen.choice is None:
        # mdadm needs no force there: half of a mirror whose other half may have gone on
        forced = revival.record_passed(chosen, [*chosen.blocks.values()], system.now())
    with started_by_hand.starting(record):
        try:
            md.assemble(system, record, [f"/dev/{name}" for name in _assembled(system, record, members)])
        except Failed as error:
            try:
                started = _force(system, record, members) or _revive(system, record, members, chosen)
            except Failed:
                if md.works(system, record):
                    # it stays read-only, and nobody else started it
                    started_by_hand.started(record)
                raise
            if not started:
                now = revival.situation(system, record, members)
                reason = now.doubt if now.choice is not None else None
                raise Failed(
                    f"{md.title(record.array)} does not start ({reason or error}); "
                    f"missing: {', '.join(missing) or 'none'}{apart_now}{_revivable(now)}"
                ) from error
            forced += started
    md.ensure_link(system, record)
    return _started(system, record) + forced


def _held_read_only(record: ArrayRecord) -> str:
    """An administrator copies data from it, maybe after a start by force."""
    writable = f"mdadm --readwrite {array_path(record.array.name)}"
    return f", read-only, which Millrace leaves as it is; to make it writable: {writable}"


def _remedy(record: ArrayRecord) -> str:
    """What is left where the log cannot start."""
    if record.array.role is not Role.LOG:
        return ""
    return ". Put them back in and restart the server; if they do not come back: millrace pool rescue"


def _without_removed(record: ArrayRecord, found: dict[str, MemberRecord]) -> dict[str, MemberRecord]:
    """Leave out what an administrator took out, and md would use again as a hot spare, unless too few are left."""
    out = removal_record.load()
    kept = {name: one for name, one in found.items() if one.serial not in out}
    return kept if len(kept) >= md.needed(record.array) else found


def _start_over(system: System, record: ArrayRecord, pool: Pool) -> str:
    legs = [leg for leg in pool.arrays if leg.array.name in record.array.members]
    down = [leg.array.name for leg in legs if (active := md.find(system, leg.uuid)) is None or not active.running]
    if down:
        raise Failed(f"{md.title(record.array)} cannot start without {', '.join(down)}")
    words = [f"started, {md.count(len(record.array.members), 0)}"]
    if pool.growth is not None and pool.growth.array == record.array.name:
        words.append(grown_legs.start(system, record, pool))
    else:
        md.assemble(system, record, [array_path(name) for name in record.array.members])
    md.ensure_link(system, record)
    return "; ".join(words)


def _force(system: System, record: ArrayRecord, present: dict[str, MemberRecord]) -> str:
    """Start an array that was written while degraded when the power went; empty where that is not what keeps it."""
    blocks: list[Superblock] = [block for name in present if (block := examine(system, name)) is not None]
    members = unclean.forceable(blocks, md.needed(record.array))
    if not members:
        return ""
    last_write = max((when for block in members if (when := updated(system, block.name)) is not None), default=None)
    names = [block.name for block in members]
    spares = [name for name, member in present.items() if name not in names and not absent([member], record.spares)]
    rebuilding = any(block.recovering for block in blocks if block.name in spares)
    now = system.now()
    # before the start: after a power cut in between nothing else tells that it was forced
    events = max(block.events for block in members)
    slots = unclean.free_slots(record, members)
    lost = unclean.if_possible(lambda: unclean.add(record, slots, last_write, now, rebuilding, events))
    with_spares = [] if unclean.holds(record.array.name) else spares
    try:
        md.assemble(
            system,
            record,
            [f"/dev/{name}" for name in [*names, *with_spares]],
            force=True,
            read_only=lambda: unclean.keep_regions(system, record, now),
        )
    except Failed:
        if not lost:
            unclean.withdraw_unless_running(system, record, now)
        raise
    return f", unclean while degraded: {unclean.IN_DOUBT}{lost}"


def _assembled(system: System, record: ArrayRecord, found: dict[str, MemberRecord]) -> list[str]:
    """The members to start with: md would fill a hot spare at once, and correct the parity that tells the torn rows."""
    if not unclean.holds(record.array.name):
        return [*found]
    return [name for name in found if (block := examine(system, name)) is None or block.slot is not None]


def _revive(
    system: System, record: ArrayRecord, present: dict[str, MemberRecord], chosen: revival.Situation | None
) -> str:
    """Start an array whose drives were gone, by itself or as it was `chosen`; empty where that is not to be."""
    situation = chosen or revival.situation(system, record, present)
    if situation.choice is None or not (situation.choice.possible if chosen else situation.choice.proven):
        return ""
    # missing members were waited for, and mdadm takes any member of the array under a name
    if any(present.get(block.name) != situation.found[block.name] for block in situation.choice.start):
        raise Failed(f"{md.title(record.array)}: drives came or went meanwhile; nothing was started: run it again")
    return revival.start(system, situation)


def _revivable(now: revival.Situation) -> str:
    return f". See {revival.REVIVE}" if now.choice is not None and now.choice.possible else ""


def _readd_returned(system: System, record: ArrayRecord) -> list[str]:
    """Re-add members that were away while the array ran; returns a sentence for each.

    md leaves them out of the start; its bitmap has what they must catch up on.
    """
    sentences, out = [], removal_record.load()
    held = unclean.holds(record.array.name)
    for each in list(readd.returning(system, record)):
        member, free, serial, name = each.one, each.is_free, each.one.who.serial, each.one.name
        if serial in out:
            sentences.append(readd.left_alone(serial, name, out))
        elif held:
            sentences.append(f"{serial} ({name}) is not added yet: {unclean.WAITS}")
        elif not free and readd.is_spare(system, record, member):
            sentences.append(readd.add_spare(system, record, member))
        elif not free:
            sentences.append(f"{serial} ({name}) was a member and is ignored: the array has a replacement")
        elif kept_apart := apart.refusal(system, record, name):
            sentences.append(kept_apart)
        else:
            joined = readd.join(system, record, member)
            sentences.append(joined.sentence)
            if joined.done:
                each.has_joined()
    return sentences


def _started(system: System, record: ArrayRecord) -> str:
    seen = in_sync.running_members(system, record)
    if seen is None:
        raise Failed(f"{md.title(record.array)} lost members during the start; see `journalctl -k`")
    if len(seen.in_sync) < len(record.members):
        return f"started without {', '.join(one.serial for one in absent(seen.record.members, seen.in_sync))}"
    return f"started, {md.count(len(seen.in_sync), len(seen.present) - len(seen.in_sync))}"
