# SPDX-License-Identifier: Apache-2.0
"""Members that ran without the array that they left: kept apart, because a resync would mix what both have.

Half of a mirror that runs in another server goes on writing its superblock there. md has no rule against such a member:
mdadm starts the half with more events, and `--re-add` copies only the blocks of the running array's own bitmap (md.c
super_1_validate looks for members that are too old, never for one that is too new). Two things cannot be in the
superblock of a member that was merely away: a slot that it calls missing although its member was in sync then, and more
events than the array had when the member left.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from millrace.storage.array import md
from millrace.storage.array.superblock import Superblock
from millrace.storage.record.membership import absent, same
from millrace.storage.record.model import ArrayRecord, MemberRecord
from millrace.system.documents import Contract
from millrace.system.errors import Failed, Refused

MOST = 16
"""Members that left which are remembered for each array, the latest first."""

MARGIN = 1
"""The power may fail between the writes of two superblocks (md.c super_1_validate accepts it as well)."""

PRESENT = ("A", "R")


class LeftMember(Contract):
    """A member that is not in its array any more.

    `events` is the count of the array when it was first recorded without the member, so that the member's own was not
    higher. `beside` are the slots whose members were in sync before and after that.
    """

    member: MemberRecord
    events: int
    beside: list[int]


@dataclass(frozen=True)
class Holder:
    """A member with data in this server: its superblock, and its drive and partition."""

    block: Superblock
    who: MemberRecord

    @property
    def slot(self) -> int:
        """Its slot; a holder of data has one."""
        assert self.block.slot is not None
        return self.block.slot


class RanApart(Failed):
    """Members of an array ran without each other, and no record shows which of them this server used last."""


def possible(slots: int, needed: int) -> bool:
    """Whether two sets of an array's members without a common one can both run: mirrors, RAID6 of four."""
    return 2 * needed <= slots


def holders(found: Mapping[str, MemberRecord], blocks: Iterable[Superblock]) -> list[Holder]:
    """Return the members that have data, from the superblocks of those that were found by kernel name."""
    return [Holder(one, found[one.name]) for one in blocks if one.slot is not None and not one.recovering]


def left_now(
    before: Sequence[LeftMember],
    last: Sequence[MemberRecord],
    in_sync: Mapping[int, MemberRecord],
    present: Sequence[MemberRecord],
    events: int,
) -> list[LeftMember]:
    """Return the members that are out of a running array, the latest first.

    `before` and `last` are those that were out, and in sync, when it was recorded last; `in_sync` by slot and `present`
    are those that md has now.
    """
    # Where none of the last is in sync, an administrator started another life: what is in sync now has gone on alone.
    beside = [slot for slot, member in in_sync.items() if not absent([member], last)] or list(in_sync)
    new = [LeftMember(member=member, events=events, beside=sorted(beside)) for member in absent(last, present)]
    here = [*present, *(left.member for left in new)]
    return [*new, *(left for left in before if absent([left.member], here))][:MOST]


def split(slots: int, needed: int, members: Sequence[Holder]) -> tuple[list[Holder], list[Holder]] | None:
    """Return two lives of an array whose members ran without each other; None where one of them goes on from another.

    Each calls all members of the other missing, and has enough of its own to run.
    """
    if not possible(slots, needed):
        return None
    for holder, other in combinations(members, 2):
        sets = _with_data(holder.block), _with_data(other.block)
        if min(map(len, sets)) >= needed and not sets[0] & sets[1]:
            return _of(members, holder), _of(members, other)
    return None


def ran_apart(
    block: Superblock,
    current: Sequence[Holder],
    left: LeftMember | None,
    places: Collection[int] = (),
    running: bool = False,
) -> bool:
    """Whether a member has changes that the array lacks while the array has changes that it lacks.

    `current` are the members that the array goes on with, `left` is when it left them, `places` are the slots of all
    that were in sync last, also of those that are not here. An array that is `running` without it has gone on, whatever
    is in the superblocks already.
    """
    newest = max(current, key=lambda holder: holder.block.events, default=None)
    if block.slot is None or block.recovering or newest is None:
        return False
    went_on = running or block.slot in places or newest.block.states[block.slot : block.slot + 1] not in PRESENT
    if not went_on:
        return False
    if left is not None:
        alone = not set(left.beside) <= _with_data(block)
    else:
        # One of several may have been away when the member left, and have come back since.
        slots = {*places, *(holder.slot for holder in current)}
        alone = _with_data(block).isdisjoint(slots)
        # A member that was never in the array here, in the place of one that is: one of both went on without the
        # others. An older one was replaced, and md takes none of these.
        fewer = len(_with_data(newest.block)) < len(newest.block.states)
        recent = block.events + MARGIN >= newest.block.events
        alone |= block.slot in slots and recent and (fewer or not slots <= _with_data(block))
    ahead = block.events > newest.block.events + MARGIN or (left is not None and block.events > left.events + MARGIN)
    return alone or ahead


def chosen(
    record: ArrayRecord, members: Sequence[Holder], last: Sequence[MemberRecord], left: Sequence[LeftMember]
) -> list[Holder]:
    """Return the members that ran apart from those that this server used `last`, to be left out of a start.

    RanApart: members ran without each other, and the record does not show which of them this server used last.
    """
    slots, needed = len(record.members), md.needed(record.array)
    if not possible(slots, needed):
        return []
    current = [holder for holder in members if not absent([holder.who], last)]
    # Fewer than needed were in sync here: the rest is not judged by them.
    known = len({holder.slot for holder in current}) >= needed
    if lives := split(slots, needed, current if known else members):
        raise RanApart(_which(md.title(record.array), lives))
    if not known:
        return []
    others = [holder for holder in members if absent([holder.who], last)]
    # also the place of a member that is not here: the others may not have been written since it went
    places = {slot for slot, member in enumerate(record.members) if not absent([member], last)}
    return [holder for holder in others if ran_apart(holder.block, current, left_of(left, holder.who), places)]


def left_of(left: Sequence[LeftMember], who: MemberRecord) -> LeftMember | None:
    """Return when a member left; None where that was not recorded."""
    return next((one for one in left if same(one.member, who)), None)


def refuse_split(name: str, slots: int, needed: int, members: Sequence[Holder]) -> None:
    """Verify that no two lives of an array are in this server. Refused: they are, with the drives of each."""
    if lives := split(slots, needed, members):
        one, other = (_serials(life) for life in lives)
        raise Refused(
            f"array {name} ran twice, on {one} and on {other} without each other, and each has changes that the other "
            "lacks; leave only the drives to go on with in this server, and run `millrace pool find` again"
        )


def _which(title: str, lives: tuple[Sequence[Holder], Sequence[Holder]]) -> str:
    one, other = (_serials(life) for life in lives)
    return (
        f"{title} is not started: it ran on {one} and on {other} without each other, and each has changes that the "
        "other lacks. Choose which to go on with, take the other out of the server, then: "
        "systemctl restart millrace-assemble"
    )


def _with_data(block: Superblock) -> set[int]:
    return {slot for slot, letter in enumerate(block.states) if letter in PRESENT}


def _of(members: Sequence[Holder], life: Holder) -> list[Holder]:
    """The members of one life: those that its superblock calls present, and that do not deny it."""
    slots = _with_data(life.block)
    return [one for one in members if one.slot in slots and life.slot in _with_data(one.block)]


def _serials(members: Sequence[Holder]) -> str:
    return ", ".join(sorted({one.who.serial for one in members}))
