# SPDX-License-Identifier: Apache-2.0
"""Which members an array that lost too many of its drives is started with, once they are back. Pure functions.

md acknowledges no write between the failure of a member and the superblocks that record it (raid5.c, `Blocked`), and
none after the failure that broke the array (md.c, MD_BROKEN). The members that were in sync right before that failure
therefore have all acknowledged data, and they are as many as the array needs. Every other member is older.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from millrace.storage.array.gather import latest_members
from millrace.storage.array.superblock import Superblock


@dataclass(frozen=True)
class MemberChoice:
    """`current` left last, if at all; `brought` left before and are needed; `behind` are rebuilt, `partial` too.

    `partial` were being filled, and never hold data. `lacking` is how many more members the array needs. `later` are
    slots of members that are not there and may have left later than `brought`. `tied` are members of which the order
    is not known; `rivals` contradict each other, and nothing is started with either.
    """

    current: list[Superblock]
    brought: list[Superblock]
    behind: list[Superblock]
    partial: list[Superblock]
    lacking: int = 0
    later: list[int] = field(default_factory=list)
    tied: list[Superblock] = field(default_factory=list)
    rivals: list[Superblock] = field(default_factory=list)

    @property
    def possible(self) -> bool:
        """Whether the array can be started with these, if an administrator decides so."""
        return not self.lacking and not self.rivals

    @property
    def proven(self) -> bool:
        """Whether these have everything that was acknowledged."""
        return self.possible and not self.later and not self.tied

    @property
    def start(self) -> list[Superblock]:
        """The members to start with, exactly as many as the array needs."""
        return [*self.current, *self.brought]


def choose(
    blocks: Sequence[Superblock],
    needed: int,
    absent: Collection[int] = (),
    last: Collection[str] = (),
    wanted: Collection[str] = (),
) -> MemberChoice | None:
    """Return the members to start an array with; None where enough of them were members until the end.

    `absent` are slots whose member is not there. `last` are the kernel names of all members that failed when the array
    broke or after that, where it was recorded. `wanted` are those that an administrator brings back.
    """
    partial = [block for block in blocks if block.slot is None or block.recovering]
    filled = [block for block in blocks if block not in partial]
    current = [block for block in latest_members(list(blocks)) if block in filled]
    taken = {block.slot for block in current}
    if len(taken) >= needed:
        return None
    # the newest first; of equal ones the one that saw more of the others leave
    candidates = sorted(
        (block for block in filled if block.slot not in taken),
        key=lambda block: (block.name in wanted, block.events, -_letters(block), block.name in last, block.name),
        reverse=True,
    )
    brought = list[Superblock]()
    for block in candidates:
        if len(taken) < needed and block.slot not in taken:
            brought.append(block)
            taken.add(block.slot)
    behind = [block for block in filled if block not in brought and block not in current]
    # a hot spare may have taken the slot of a member that is still recorded for it
    gone = {*absent} - {block.slot for block in current}
    # The order in which they failed was written down. A start that a power cut interrupted has made some of them
    # current, and has not brought back any other.
    names = {block.name for block in brought}
    known = names <= {*last} <= names | {block.name for block in current}
    return MemberChoice(
        current=current,
        brought=brought,
        behind=behind,
        partial=partial,
        lacking=needed - len(taken),
        later=[] if known else _later(brought, behind, partial, gone),
        tied=[] if known else _tied(brought, behind),
        rivals=_rivals(current, brought, behind),
    )


def went_on(blocks: Sequence[Superblock], needed: int, absent: Collection[int]) -> list[int]:
    """Return slots of members that are not there and may have gone on without all that are; none where it cannot be.

    Members that left at once say that all are in sync, as they do after a stop. Those that stayed are newer, if they
    were as many as the array needs: the other half of a mirror, two of a RAID6 of four.
    """
    current = latest_members(list(blocks))
    # one that took the place of a recorded member is there
    slots = {*absent} - {block.slot for block in current}
    slots = {slot for slot in slots if any(block.states[slot : slot + 1] in ("A", "R") for block in current)}
    return sorted(slots) if len(slots) >= needed else []


def is_older(one: Superblock, other: Superblock) -> bool:
    """Whether `one` left its array before `other`, by what their superblocks say.

    One that left and was rebuilt since is missing in the superblock of another that left meanwhile; it has more events.
    """
    if one.events != other.events:
        return one.events < other.events
    return _saw_leave(other, one) and not _saw_leave(one, other)


def _saw_leave(one: Superblock, other: Superblock) -> bool:
    """Whether `one` was written after `other` had left."""
    return other.slot is not None and one.states[other.slot : other.slot + 1] == "."


def _letters(one: Superblock) -> int:
    return sum(letter != "." for letter in one.states)


def _later(
    brought: Sequence[Superblock], behind: Sequence[Superblock], partial: Sequence[Superblock], absent: Collection[int]
) -> list[int]:
    """The slots of members that are not there and that none of `brought` saw leave.

    A slot that is not open in a superblock, two events and more after a member for it had left, had another member.
    """
    filling = {block.slot for block in partial}
    replaced = {
        other.slot
        for block in brought
        for other in behind
        if other.slot is not None
        and other.slot != block.slot
        and other.slot not in filling
        and other.events + 1 < block.events
        and not _saw_leave(block, other)
    }
    gone = {slot for slot in absent if any(block.states[slot : slot + 1] != "." for block in brought)}
    return sorted(replaced | gone)


def _tied(brought: Sequence[Superblock], behind: Sequence[Superblock]) -> list[Superblock]:
    """Members that left at the same time by their superblocks, and of which only some are started with."""
    pairs = [(one, other) for one in brought for other in behind if not is_older(other, one)]
    return _named({one for pair in pairs for one in pair})


def _rivals(
    current: Sequence[Superblock], brought: Sequence[Superblock], behind: Sequence[Superblock]
) -> list[Superblock]:
    """Members that are older than another which would not be used, or that went on without each other."""
    slots = [one.slot for one in current]
    pairs = [(one, other) for one in brought for other in behind if is_older(one, other)]
    # these were in sync when the array broke: who saw one of them leave has missed its rebuild
    pairs += [(one, other) for one in brought for other in current if _saw_leave(one, other)]
    pairs += [(one, other) for one in brought for other in brought if _missed(one, other)]
    return _named({*(one for one in current if slots.count(one.slot) > 1), *(one for pair in pairs for one in pair)})


def _missed(one: Superblock, other: Superblock) -> bool:
    """Whether `one` left while `other` was away, and has missed its rebuild."""
    mutual = one.events == other.events and _saw_leave(other, one)
    return _saw_leave(one, other) and (one.events < other.events or mutual)


def _named(found: Iterable[Superblock]) -> list[Superblock]:
    return sorted(found, key=lambda one: one.name)
