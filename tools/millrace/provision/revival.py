# SPDX-License-Identifier: Apache-2.0
"""Start an array whose drives are back after more of them were gone than it survives.

By itself only where it is certain which members have everything that was acknowledged; what left before is rebuilt.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from millrace.errors import Failed
from millrace.provision import apart, failures, md, unclean
from millrace.provision.choice import Choice, choose, went_on
from millrace.provision.gather import members_present
from millrace.provision.membership import absent
from millrace.provision.model import ArrayRecord, MemberRecord
from millrace.provision.superblock import Superblock, examine, updated
from millrace.provision.system import System
from millrace.system.names import several

REVIVE = "millrace pool revive"


@dataclass(frozen=True)
class Situation:
    """An array that does not run: what is there of it by kernel name, and what it can be started with.

    `choice` is None where enough members were members until the end, as far as they know: `unseen` are the slots of
    those that are not there and may have gone on without them. `broke` is when it broke, in seconds since 1970, None
    where that was not recorded. `written` has when each superblock was written, in the same way.
    """

    record: ArrayRecord
    found: Mapping[str, MemberRecord]
    blocks: Mapping[str, Superblock]
    written: Mapping[str, int | None]
    choice: Choice | None
    broke: float | None
    unseen: Sequence[int] = ()

    @property
    def needed(self) -> int:
        """How many members the array needs to start."""
        return md.needed(self.record.array)

    @cached_property
    def missing(self) -> list[str]:
        """The serials of recorded members that are not there."""
        return [one.serial for one in absent(self.record.members, list(self.found.values()))]

    def serials(self, members: Collection[Superblock]) -> list[str]:
        """Return the serials of members."""
        return [self.found[one.name].serial for one in members]

    @property
    def doubt(self) -> str | None:
        """Why this array does not start by itself, in words; None where it does."""
        choice = self.choice
        if choice is None and self.unseen:
            return self._newer(self.unseen, [*self.blocks.values()])
        if choice is None or choice.proven:
            return None
        if choice.lacking:
            filling = f"; {several(self.serials(choice.partial))} hold no data" if choice.partial else ""
            gone = f"; missing: {', '.join(self.missing)}" if self.missing else ""
            return f"{choice.lacking} more of its members are needed{gone}{filling}"
        if choice.rivals:
            return f"{several(self.serials(choice.rivals))} were not in use at the same time, and contradict each other"
        if choice.later:
            return self._newer(choice.later, choice.brought)
        return f"it is not known which of {several(self.serials(choice.tied))} left last"

    def _newer(self, slots: Sequence[int], members: Collection[Superblock]) -> str:
        gone = several([self.record.members[slot].serial for slot in slots])
        return f"{gone} may have left after {several(self.serials(members))}, and would be newer"


def situation(
    system: System, record: ArrayRecord, found: Mapping[str, MemberRecord] | None = None, wanted: Collection[str] = ()
) -> Situation:
    """Examine the members of an array; `wanted` are kernel names of members that an administrator brings back."""
    if found is None:
        gathered = members_present(system, record)
        out = apart.left_out(system, record, gathered)
        found = {name: one for name, one in gathered.items() if name not in out}
    blocks = {name: block for name in found if (block := examine(system, name)) is not None}
    written = {name: updated(system, name) for name in blocks}
    there = [found[name] for name in blocks]
    gone = {slot for slot, one in enumerate(record.members) if absent([one], there)}
    last, broke = _last(record, found, written)
    needed = md.needed(record.array)
    choice = choose(list(blocks.values()), needed, gone, last, wanted)
    unseen = went_on(list(blocks.values()), needed, gone) if choice is None else []
    return Situation(record, found, blocks, written, choice, broke, unseen)


def start(system: System, one: Situation) -> str:
    """Start an array with the members of its choice; return what the sentence about it ends with. Failed: mdadm fails.

    It is recorded before, as a power cut may interrupt it. Where the boot drive takes no record it is started all the
    same.
    """
    assert one.choice is not None and one.choice.possible
    record, names = one.record, [block.name for block in one.choice.start]
    now = system.now()
    slots = unclean.free_slots(record, one.choice.start)
    unrecorded = unclean.add_if_possible(record, slots, _last_write(one), now)
    try:
        md.assemble(system, record, [f"/dev/{name}" for name in names], force=True)
    except Failed:
        if not unrecorded:
            unclean.withdraw_if_possible(record, now)
        raise
    back = several(one.serials(one.choice.brought))
    return f", with {back} again: files written in the last minutes before it broke may be damaged{unrecorded}"


def _last_write(one: Situation) -> int | None:
    """When something may have been written last: not later than when the array broke."""
    assert one.choice is not None
    known = [when for block in one.choice.brought if (when := one.written[block.name]) is not None]
    if one.broke is not None:
        return int(one.broke)
    return min(known, default=None)


def _last(
    record: ArrayRecord, found: Mapping[str, MemberRecord], written: Mapping[str, int | None]
) -> tuple[list[str], float | None]:
    """Return the members that failed when the array broke or after that, and when it broke, by the record of failures.

    A member that is missing has no kernel name. A record of another time than that of the superblocks does not count.
    """
    needed = md.needed(record.array)
    failed = failures.last_of(record.uuid, needed, failures.since_start(record.uuid))
    if not failed:
        return [], None
    names = {one.partuuid or one.serial: name for name, one in found.items()}
    last = [names.get(one.member, f" {one.member}") for one in failed]
    at = failed[0].at
    newest = max((when for when in written.values() if when is not None), default=0)
    latest = at + failures.TOLERANCE
    # written after it broke: that was another time
    again = any((when := written.get(name)) is not None and when > latest for name in last[:1])
    if newest < at - failures.TOLERANCE or again:
        return [], None
    return last, at
