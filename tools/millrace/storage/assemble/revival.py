# SPDX-License-Identifier: Apache-2.0
"""Start an array whose drives are back after more of them were gone than it survives.

By itself only where it is certain which members have everything that was acknowledged; what left before is rebuilt.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from millrace.plan.model import Role
from millrace.storage.array import md
from millrace.storage.array.gather import latest_members, members_present
from millrace.storage.array.machine import System
from millrace.storage.array.superblock import Superblock, examine, updated
from millrace.storage.assemble import apart, in_sync, passed_over, separate_lives, unclean
from millrace.storage.assemble.choice import MemberChoice, choose, is_older, went_on
from millrace.storage.assemble.external_device import AGAIN
from millrace.storage.record import failure_record
from millrace.storage.record.membership import absent
from millrace.storage.record.model import ArrayRecord, MemberRecord
from millrace.system.errors import Failed
from millrace.system.names import several
from millrace.system.text import moment

REVIVE = "millrace pool revive"


@dataclass(frozen=True)
class Situation:
    """An array that does not run: what is there of it by kernel name, and what it can be started with.

    `choice` is None where enough members were members until the end, as far as they know: `unseen` are the slots of
    those that are not there and may have gone on without them. `broke` is when it broke, in seconds since 1970, None
    where that was not recorded. `written` has when each superblock was written, in the same way. `last` are the serials
    of all members that failed when it broke or after that, where it was recorded. `apart` are members that are there
    and that the array was started without: they may be newer.
    """

    record: ArrayRecord
    found: Mapping[str, MemberRecord]
    blocks: Mapping[str, Superblock]
    written: Mapping[str, int | None]
    choice: MemberChoice | None
    broke: float | None
    unseen: Sequence[int] = ()
    last: Sequence[str] = ()
    apart: Mapping[str, MemberRecord] = field(default_factory=dict)

    @property
    def needed(self) -> int:
        """How many members the array needs to start."""
        return md.needed(self.record.array)

    @cached_property
    def missing(self) -> list[str]:
        """The serials of recorded members that are not there."""
        return [one.serial for one in absent(self.record.members, [*self.found.values(), *self.apart.values()])]

    def serials(self, members: Collection[Superblock]) -> list[str]:
        """Return the serials of members."""
        return [self.found[one.name].serial for one in members]

    @property
    def is_older(self) -> bool:
        """Whether a member that is brought back left before the array broke, by the record of failures.

        A record that the superblocks contradict is of another time.
        """
        choice = self.choice
        if choice is None or choice.proven or not {*self.last} - {*self.serials(choice.start)}:
            return False
        last = [block for name, block in self.blocks.items() if self.found[name].serial in self.last]
        first = [block for block in choice.brought if block not in last]
        return bool(first) and not any(is_older(block, other) for block in last for other in first)

    @cached_property
    def newer(self) -> list[str]:
        """The serials of members that have, or may have, what was acknowledged and those to start with lack."""
        choice = self.choice
        if choice is None:
            return self._in_slots(self.unseen)
        tied = self.serials([one for one in choice.tied if one not in choice.brought])
        if self.is_older:
            started = self.serials(choice.start)
            return [*dict.fromkeys([*(one for one in self.last if one not in started), *tied])]
        return [*dict.fromkeys([*self._in_slots(choice.later), *tied])]

    @property
    def kept_apart(self) -> str:
        """The end of a sentence that names the members in `apart`; empty without any."""
        serials = sorted(who.serial for who in self.apart.values())
        return f"; kept apart since a start without them: {', '.join(serials)}" if serials else ""

    @cached_property
    def passed(self) -> list[MemberRecord]:
        """Members that may have left after those to start with. No start overwrites them: they are kept apart."""
        choice, there = self.choice, [*self.found.values()]
        slots = self.unseen if choice is None else choice.later
        gone = absent([self.record.members[slot] for slot in slots], there)
        if choice is None:
            return gone
        tied = [self.found[block.name] for block in choice.tied if block not in choice.start]
        started = [self.found[block.name] for block in choice.start]
        recorded = [*self.record.members, *self.record.spares]
        later = [who for who in [*there, *absent(recorded, there)] if self.is_older and who.serial in self.last]
        passed = [*gone, *tied, *absent(later, started)]
        return [who for number, who in enumerate(passed) if who not in passed[:number]]

    @property
    def since(self) -> int | None:
        """When the oldest member to start with was written, in seconds since 1970; None where that is not known.

        What was acknowledged after that may be on `newer` members alone.
        """
        blocks = self.choice.brought if self.choice is not None else self.blocks.values()
        return min((when for block in blocks if (when := self.written[block.name]) is not None), default=None)

    def _in_slots(self, slots: Sequence[int]) -> list[str]:
        return [self.record.members[slot].serial for slot in slots]

    @property
    def doubt(self) -> str | None:
        """Why this array does not start by itself, in words; None where it does."""
        choice = self.choice
        if choice is None and self.unseen:
            return self._newer(self.unseen, latest_members([*self.blocks.values()]))
        if choice is None or choice.proven:
            return None
        if choice.lacking:
            filling = f"; {several(self.serials(choice.partial))} hold no data" if choice.partial else ""
            gone = f"; missing: {', '.join(self.missing)}" if self.missing else ""
            return f"{choice.lacking} more of its members are needed{gone}{self.kept_apart}{filling}"
        if choice.rivals:
            return f"{several(self.serials(choice.rivals))} were not in use at the same time, and contradict each other"
        if self.is_older:
            return f"{several(self.newer)} left after {several(self.serials(choice.brought))}, and would be newer"
        if choice.later:
            return self._newer(choice.later, choice.brought)
        return f"it is not known which of {several(self.serials(choice.tied))} left last"

    def _newer(self, slots: Sequence[int], members: Collection[Superblock]) -> str:
        gone = several(self._in_slots(slots))
        return f"{gone} may have left after {several(self.serials(members))}, and would be newer"


def situation(
    system: System,
    record: ArrayRecord,
    present: Mapping[str, MemberRecord] | None = None,
    wanted: Collection[str] = (),
    kept: Mapping[str, MemberRecord] | None = None,
) -> Situation:
    """Examine the members of an array; `wanted` are kernel names of members that an administrator brings back.

    `kept` are those that are there besides `found`, and are kept apart.
    """
    if present is None:
        gathered = members_present(system, record)
        out = apart.left_out(system, record, gathered)
        present = {name: member for name, member in gathered.items() if name not in out}
    blocks = {name: block for name in present if (block := examine(system, name)) is not None}
    written = {name: updated(system, name) for name in blocks}
    there = [present[name] for name in blocks]
    gone = {slot for slot, member in enumerate(record.members) if absent([member], there)}
    last, broke = _last(record, present, written)
    needed = md.needed(record.array)
    choice = choose(list(blocks.values()), needed, gone, last, wanted)
    unseen = went_on(list(blocks.values()), needed, gone) if choice is None else []
    serials = {
        member.partuuid or member.serial: member.serial
        for member in (*record.members, *record.spares, *present.values())
    }
    failed = [present[name].serial if name in present else serials.get(name.strip(), name.strip()) for name in last]
    # what had left when the members in sync were recorded has not gone on
    known = in_sync.last_of(record).members if unseen else []
    if known:
        unseen = [slot for slot in unseen if not absent([record.members[slot]], known)]
        unseen = unseen if len(unseen) >= needed else []
    return Situation(record, present, blocks, written, choice, broke, unseen, failed, kept or {})


def refuse_unseen(system: System, record: ArrayRecord, present: Mapping[str, MemberRecord]) -> None:
    """Verify that no members that are not there have gone on without those that are. Failed: nothing shows that.

    A half of a mirror that left first is as good as the other by its superblock. What shows that it was in use until
    the end is the record of the members in sync, unless it failed after its superblock was written last.
    """
    gone = absent(record.members, list(present.values()))
    needed = md.needed(record.array)
    if not separate_lives.possible(len(record.members), needed) or len(gone) < needed:
        return
    state = situation(system, record, present)
    if state.choice is not None or not state.unseen or len(_until_the_end(state)) >= needed:
        return
    back = several([record.members[slot].serial for slot in state.unseen])
    risk = " An older log damages the file system." if record.array.role is Role.LOG else ""
    raise Failed(
        f"{md.title(record.array)} is not started: {state.doubt}.{risk} Reinsert {back}, then: {AGAIN}. "
        f"To start without {back}: {REVIVE}"
    )


def _until_the_end(state: Situation) -> list[str]:
    """The kernel names of members that were in sync when the array last ran, as far as that was recorded."""
    last = in_sync.last_of(state.record).members
    failed = [known for known in failure_record.load() if md.same_uuid(known.array, state.record.uuid)]
    return [
        name
        for name, who in state.found.items()
        if not absent([who], last)
        and not any(
            # without a name it may be this one
            known.member in (who.partuuid or who.serial, "")
            and known.at + failure_record.TOLERANCE >= (state.written.get(name) or 0)
            for known in failed
        )
    ]


def start(system: System, state: Situation) -> str:
    """Start an array with the members of its choice; return what the sentence about it ends with. Failed: mdadm fails.

    It is recorded before, as a power cut may interrupt it. Where the boot drive takes no record it is started all the
    same. Members that may be newer are kept apart; Failed: that cannot be recorded, not even for this boot.
    """
    assert state.choice is not None and state.choice.possible
    record, names = state.record, [block.name for block in state.choice.start]
    now = system.now()
    events = max(block.events for block in state.choice.start)
    slots = unclean.free_slots(record, state.choice.start)
    newer_lost = record_passed(state, state.choice.start, now)
    is_older = bool(state.newer)
    unrecorded = unclean.if_possible(
        lambda: unclean.add(record, slots, _last_write(state), now, events=events, older=is_older)
    )

    def read_only() -> None:
        # what a member lacks that left earlier, the bitmap of the others may have forgotten
        if not is_older:
            unclean.keep_regions(system, record, now)

    try:
        md.assemble(system, record, [f"/dev/{name}" for name in names], force=True, read_only=read_only)
    except Failed:
        if not unrecorded:
            unclean.withdraw_unless_running(system, record, now)
        raise
    return f", with {several(state.serials(state.choice.brought))} again: {_risk(state)}{unrecorded}{newer_lost}"


def record_passed(one: Situation, members: Collection[Superblock], now: str) -> str:
    """Record before a start with these `members` who may be newer; what the sentence about it ends with."""
    return passed_over.record_start(one.record, one.passed, [(one.found[block.name], block) for block in members], now)


def _risk(one: Situation) -> str:
    if not one.newer:
        return "files written in the last minutes before it broke may be damaged"
    when = f"after {moment(stamp(one.since))}" if one.since is not None else "since it left"
    return f"writes acknowledged {when} {'are' if one.is_older else 'may be'} lost without {several(one.newer)}"


def stamp(seconds: float) -> str:
    """Return a time in seconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _last_write(one: Situation) -> int | None:
    """When something may have been written last: not later than when the array broke.

    Files that were written after an older member had left are in doubt, too.
    """
    if one.broke is not None and not one.newer:
        return int(one.broke)
    return min((int(when) for when in (one.since, one.broke) if when is not None), default=None)


def _last(
    record: ArrayRecord, present: Mapping[str, MemberRecord], written: Mapping[str, int | None]
) -> tuple[list[str], float | None]:
    """Return the members that failed when the array broke or after that, and when it broke, by the record of failures.

    Of a mirror that is the half that left last: what the kernel logs of it is the failure of the other one.

    A member that is missing has no kernel name. A record of another time than that of the superblocks does not count.
    """
    known = failure_record.since_start(record.uuid)
    failed = [
        (failure.member, failure.at) for failure in failure_record.last_of(record.uuid, md.needed(record.array), known)
    ]
    if record.array.level == "raid1":
        half = failure_record.only_left(
            record.uuid, [member.partuuid or member.serial for member in record.members], known
        )
        failed = [half] if half else []
    if not failed:
        return [], None
    names = {member.partuuid or member.serial: name for name, member in present.items()}
    last = [names.get(member, f" {member}") for member, _ in failed]
    _, at = failed[0]
    newest = max((when for when in written.values() if when is not None), default=0)
    latest = at + failure_record.TOLERANCE
    # written after it broke: that was another time
    again = any((when := written.get(name)) is not None and when > latest for name in last[:1])
    if newest < at - failure_record.TOLERANCE or again:
        return [], None
    return last, at
