# SPDX-License-Identifier: Apache-2.0
"""Members that were away while their array ran: re-added by themselves, so that md copies only what they missed.

millrace-readd.service runs `readd` where a member appears while the arrays run. A drive that comes and goes is left out
after MOST times a day: each resync reads all its neighbours (`/var/lib/millrace/returns.json`). Where the boot drive
takes no record, as when it is full, `/run/millrace/returns.json` counts until the restart, and members are re-added.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from millrace.plan.labels import array_path
from millrace.storage.array import md
from millrace.storage.array.found_member import FoundMember, found, is_still_there
from millrace.storage.array.gather import members_present
from millrace.storage.array.machine import Report, System
from millrace.storage.array.superblock import Superblock, examine, updated
from millrace.storage.assemble import apart, standstill, unclean
from millrace.storage.record import removal_record
from millrace.storage.record.membership import absent
from millrace.storage.record.model import ArrayRecord, MemberRecord
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.writer import READDING, writing
from millrace.system import ages, paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.text import moment

MOST = 3
"""Times that a drive is re-added to one array within DAY."""
DAY = timedelta(hours=24)
SETTLE = 30
"""Seconds for udev to read what is on a drive: two partitions of one come one after the other."""
LONGEST = 30 * 60
"""Seconds in which arrays that are being started are waited for."""
POLL = 5
"""Seconds between two looks at that."""


class Return(Contract):
    """A member that came back. `at` is ISO 8601 in UTC; `left-out` is one that came too often."""

    serial: str
    array: str
    at: str
    outcome: Literal["re-added", "failed", "left-out"]


class Returns(Contract):
    """The members that came back within a day, the latest last (`/var/lib/millrace/returns.json`)."""

    schema_version: Literal[1] = 1
    returns: list[Return]


def recent(now: datetime) -> list[Return]:
    """Return what came back within a day; nothing where the record is missing or cannot be parsed."""
    # That of this boot has what the record had, too.
    return unrecorded(now) or _within_a_day(paths.returns_file(), now)


def unrecorded(now: datetime) -> list[Return]:
    """Return what came back within a day where the boot drive did not take the last return; else nothing."""
    return _within_a_day(paths.unrecorded_returns_file(), now)


def readd(system: System, report: Report) -> None:
    """Re-add every member that is back, a few times a day for each drive; `report` receives a line for each.

    One that was taken out on purpose is left alone. Waits while provisioning or a change of drives is under way.

    Refused: the caller is not root, or there is no pool.
    """
    with writing(READDING, wait=True):
        seen: set[tuple[str, FoundMember]] = set()
        # What appears while this runs starts no second run: it is looked for once more.
        while _readd_new(system, report, seen):
            pass
    _start_again(system, report)


def _start_again(system: System, report: Report) -> None:
    """Start what stands still, once nothing else starts it: a slow shelf shows its drives one by one."""
    for _ in range(LONGEST // POLL):
        with writing(READDING, wait=True):
            if not standstill.start_again(system, load_pool(), report):
                return
        # without the lock, which a revival asks for
        system.wait(POLL)
    report(f"the arrays are being started for more than {LONGEST // 60} minutes; see systemctl list-jobs")


@dataclass(frozen=True)
class Returning:
    """A member that a running array is without. `slot` is what its superblock names, None for a hot spare.

    `taken` are the slots that have a member, the same set for all members of the array.
    """

    one: FoundMember
    slot: int | None
    taken: set[int]

    @property
    def is_free(self) -> bool:
        """Whether its slot is free."""
        return self.slot is not None and self.slot not in self.taken

    def has_joined(self) -> None:
        """Its slot is not free any more: md assigns it a moment later."""
        if self.slot is not None:
            self.taken.add(self.slot)


def returning(system: System, record: ArrayRecord) -> Iterator[Returning]:
    """Yield each member that a running array is without.

    Recorded members come first and hot spares last: one that was being filled for a slot takes it from nobody.

    Nothing joins an array that is broken: it is started again. Nor does md let anything join one that is read-only.
    """
    active = md.find(system, record.uuid)
    if active is None or not active.running or record.array.over_arrays:
        return
    # what joins a broken array gets a superblock that says it was not filled
    if md.broken(system, record, active) or md.is_read_only(system, active):
        return
    live = system.md_members(active.device)
    taken, names = {member.slot for member in live if member.slot is not None}, {member.name for member in live}

    def order(item: tuple[str, MemberRecord]) -> int:
        return 0 if not absent([item[1]], record.members) else 2 if not absent([item[1]], record.spares) else 1

    for name, who in sorted(members_present(system, record).items(), key=order):
        if name not in names:
            member, block = found(system, name, who), examine(system, name)
            yield Returning(member, block.slot if block else None, taken)


def hot_spares(system: System, record: ArrayRecord) -> Iterator[FoundMember]:
    """Yield each hot spare that a running array was started without."""
    for each in returning(system, record):
        if not each.is_free and is_spare(system, record, each.one):
            yield each.one


def is_spare(system: System, record: ArrayRecord, member: FoundMember) -> bool:
    """Whether a member whose slot is taken is a hot spare, or is recorded as one that is missing.

    That is one that was being filled when the array broke, or a member that was away until a hot spare had taken its
    place. What it holds is older than what is in sync there.
    """
    block = examine(system, member.name)
    if block is None or block.slot is None:
        return block is not None
    if absent([member.who], record.spares):
        return False
    active = md.find(system, record.uuid)
    in_place = active is not None and block.slot in md.in_sync_slots(system, active)
    return in_place or (block.recovering and not block.by_bitmap)


class Joined(NamedTuple):
    """Whether a member has joined its array, and the sentence about it."""

    done: bool
    sentence: str


def join(system: System, record: ArrayRecord, member: FoundMember) -> Joined:
    """Let a member join its running array.

    md copies what its bitmap has, or all where the array was started without this member after too many were gone: then
    the bitmap of the members that it was started with knows nothing of this one.
    """
    array, serial = array_path(record.array.name), member.who.serial
    moved = Joined(False, f"{serial} ({member.name}) is gone again, or is another drive now; nothing was written to it")
    by_hand = f"mdadm {array} --add {member.device}"
    failed = Joined(False, f"{serial} ({member.name}) returned and cannot be re-added; to rebuild it: {by_hand}")
    block, written = examine(system, member.name), updated(system, member.name)
    if block is None or not is_still_there(system, record, member):
        return moved
    erased = _is_filled_with_nothing(block)
    if erased:
        # md would go on behind what it lists as copied and unreadable
        if system.attempt(["mdadm", "--zero-superblock", member.device]).status != 0:
            return failed
    elif system.attempt(["mdadm", array, "--re-add", member.device]).status == 0:
        return Joined(True, f"{serial} returned and is resyncing")
    elif not unclean.started_without(record.array.name, serial, block.events, written):
        # the superblock of a member that is seconds behind is not replaced because mdadm failed for another reason
        return failed
    if not is_still_there(system, record, member, erased):
        return moved
    added = system.attempt(["mdadm", array, "--add", member.device]).status == 0
    return Joined(True, f"{serial} returned and is being rebuilt") if added else failed


def _is_filled_with_nothing(block: Superblock) -> bool:
    """Whether a member was being filled from one that could not be read: what it got is in its list of bad blocks.

    One that was filled by the bitmap has its own data, and an entry is a block of its own or of the gap that it missed.
    """
    return block.recovering and block.has_bad and not block.by_bitmap


def left_alone(serial: str, name: str, out: Mapping[str, str]) -> str:
    """Return the sentence about a drive that is back and is among those that were taken out."""
    return f"{serial} ({name}) was taken out of the pool on {moment(out[serial])} and is left alone"


def _readd_new(system: System, report: Report, seen: set[tuple[str, FoundMember]]) -> bool:
    """Whether a member was found that is not among `seen`."""
    system.attempt(["udevadm", "settle", f"--timeout={SETTLE}"])
    before, out = len(seen), removal_record.load()
    for record in load_pool().arrays:
        title = md.title(record.array)
        if unclean.holds(record.array.name):
            report(f"{title}: no member is added yet: {unclean.WAITS}")
            continue
        for each in list(returning(system, record)):
            member = each.one
            if member.who.serial in out:
                if _is_new(record, member, seen):
                    report(f"{title}: {left_alone(member.who.serial, member.name, out)}")
            elif each.is_free and _is_new(record, member, seen):
                if kept_apart := apart.refusal(system, record, member.name):
                    report(f"{title}: {kept_apart}")
                else:
                    joined, sentence = _readd(system, record, member)
                    report(f"{title}: {sentence}")
                    if joined:
                        each.has_joined()
        # after the members: md fills a hot spare at once where a slot is free
        for spare in list(hot_spares(system, record)):
            if spare.who.serial not in out and _is_new(record, spare, seen):
                report(f"{title}: {add_spare(system, record, spare)}")
    return len(seen) > before


def _is_new(record: ArrayRecord, one: FoundMember, seen: set[tuple[str, FoundMember]]) -> bool:
    """Whether a member is not among `seen`; it is from now on."""
    key = (record.array.name, one)
    is_new = key not in seen
    seen.add(key)
    return is_new


def add_spare(system: System, record: ArrayRecord, spare: FoundMember) -> str:
    """Add a hot spare to its running array; return a sentence about it."""
    failed = f"hot spare {spare.who.serial} ({spare.name}) cannot be added"
    block = examine(system, spare.name)
    if block is None or not is_still_there(system, record, spare):
        return failed
    if block.slot is not None:
        if kept_apart := apart.refusal(system, record, spare.name):
            return kept_apart
        # md would take it for a member of that slot
        if system.attempt(["mdadm", "--zero-superblock", spare.device]).status != 0:
            return failed
        if not is_still_there(system, record, spare, erased=True):
            return failed
    added = system.attempt(["mdadm", array_path(record.array.name), "--add", spare.device]).status == 0
    return f"{spare.who.serial} is a hot spare again" if added else failed


def _readd(system: System, record: ArrayRecord, member: FoundMember) -> Joined:
    known, serial = recent(ages.when(system.now())), member.who.serial
    if _times(known, serial, record.array.name) >= MOST:
        lost = _keep(known, Return(serial=serial, array=record.array.name, at=system.now(), outcome="left-out"))
        return Joined(
            False, f"{serial} ({member.name}) returned more than {MOST} times in 24 hours and is left out{lost}"
        )
    # Before the attempt: one that hangs or kills the server counts.
    tried = Return(serial=serial, array=record.array.name, at=system.now(), outcome="failed")
    lost = _keep(known, tried)
    joined = join(system, record, member)
    if joined.done:
        lost = _keep(known, tried.model_copy(update={"outcome": "re-added"}))
    return Joined(joined.done, f"{joined.sentence}{lost}")


def _times(known: Sequence[Return], serial: str, array: str) -> int:
    return sum((one.serial, one.array) == (serial, array) and one.outcome != "left-out" for one in known)


def _within_a_day(path: Path, now: datetime) -> list[Return]:
    try:
        found = read_model(path, Returns).returns
    except MillraceError:
        return []
    return [one for one in found if ages.is_recent(one.at, DAY, now)]


def _keep(known: Sequence[Return], new: Return) -> str:
    """Record a return; return what the sentence about it ends with: nothing, or why it could not be recorded.

    An array without its member is worse than a count that is lost with the next restart.
    """
    returns, here = Returns(returns=[*known, new]), paths.unrecorded_returns_file()
    try:
        write_model(paths.returns_file(), returns)
    except OSError as error:
        with suppress(OSError):
            write_model(here, returns)
        return f"; this return could not be recorded: {error.strerror or type(error).__name__}"
    here.unlink(missing_ok=True)
    return ""
