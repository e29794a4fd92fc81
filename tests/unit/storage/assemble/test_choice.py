# SPDX-License-Identifier: Apache-2.0
"""The members that an array is started with after too many were gone have everything that was acknowledged.

A small md, as its source has it: no write is acknowledged between the failure of a member and the superblocks that
record it, none once the array is broken, and a superblock may reach some members and not others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations, product

import pytest

from millrace.storage.array.superblock import Superblock
from millrace.storage.assemble.choice import choose

# What happens around a failure: nothing is written, the superblocks are; they are, and a write is acknowledged; first
# a clean or dirty mark is written, which the failed member does not get any more.
BETWEEN = ("nothing", "recorded", "written", "marked")


@dataclass
class Md:
    """An array of `slots` members that survives `lost`; `acknowledged` counts writes, `held` what each member has."""

    slots: int
    lost: int
    events: int = 10
    gone: list[int] = field(default_factory=list)
    blocks: dict[int, tuple[int, str]] = field(default_factory=dict)
    held: dict[int, int] = field(default_factory=dict)
    acknowledged: int = 1

    def __post_init__(self) -> None:
        self.held = dict.fromkeys(range(self.slots), 1)
        self.blocks = {slot: (self.events, "A" * self.slots) for slot in range(self.slots)}

    @property
    def broken(self) -> bool:
        return len(self.gone) > self.lost

    def record(self, without: Sequence[int] = ()) -> None:
        """Superblocks are written; `without` are gone, which md does not know yet."""
        self.events += 1
        states = "".join("." if slot in self.gone else "A" for slot in range(self.slots))
        for slot in range(self.slots):
            if slot not in (*self.gone, *without):
                self.blocks[slot] = (self.events, states)

    def write(self) -> None:
        if not self.broken:
            self.acknowledged += 1
            self.held |= {slot: self.acknowledged for slot in range(self.slots) if slot not in self.gone}

    def fail(self, slot: int, then: str) -> None:
        if then == "marked":
            self.record([slot])
        self.gone.append(slot)
        if then != "nothing":
            self.record()
        if then == "written":
            self.write()

    def rejoin(self, slot: int) -> None:
        """A member is rebuilt."""
        self.gone.remove(slot)
        self.held[slot] = self.acknowledged
        self.record()
        self.record()

    def found(self, absent: Sequence[int] = ()) -> list[Superblock]:
        return [
            Superblock(f"d{slot}", slot, events, True, False, states)
            for slot, (events, states) in self.blocks.items()
            if slot not in absent
        ]


def histories(slots: int, lost: int) -> Iterator[tuple[Md, list[int]]]:
    """Every way in which an array breaks, and goes on losing a member; the order of failure."""
    for count in (lost + 1, lost + 2):
        for order in permutations(range(slots), count):
            for then in product(BETWEEN, repeat=count):
                md = Md(slots, lost)
                for slot, what in zip(order, then, strict=True):
                    md.fail(slot, what)
                md.record()
                yield md, list(order)


@pytest.mark.parametrize(("slots", "lost"), [(3, 1), (4, 1), (4, 2)])
def test_whatever_starts_by_itself_has_all_that_was_acknowledged(slots: int, lost: int) -> None:
    needed, started, asked = slots - lost, 0, 0
    for md, order in histories(slots, lost):
        for missing in (0, 1):
            for absent in combinations(range(slots), missing):
                choice = choose(md.found(absent), needed, absent)
                if choice is None or not choice.proven:
                    asked += 1
                    continue
                started += 1
                assert len(choice.start) == needed
                assert all(md.held[member.slot or 0] == md.acknowledged for member in choice.start), (md, order, choice)
    assert started and asked


@pytest.mark.parametrize(("slots", "lost"), [(3, 1), (4, 1), (4, 2)])
def test_recorded_order_decides_where_the_superblocks_do_not(slots: int, lost: int) -> None:
    needed, proven = slots - lost, 0
    for md, order in histories(slots, lost):
        last = [f"d{slot}" for slot in order[lost:]]
        for missing in (0, 1):
            for absent in combinations(range(slots), missing):
                choice = choose(md.found(absent), needed, absent, last)
                if choice is None or not choice.proven:
                    continue
                assert all(md.held[member.slot or 0] == md.acknowledged for member in choice.start), (md, order, choice)
        whole = choose(md.found(), needed, (), last)
        if whole is None:
            # all are gone at once, and nothing says so: they start as after a power cut
            assert len(order) == slots
            continue
        if len(order) == lost + 1 and not whole.rivals:
            # those that left last are the ones that are brought back, wherever the superblocks do not say otherwise
            assert whole.proven
            proven += 1
    assert proven


@pytest.mark.parametrize("first", range(4))
def test_member_that_was_rebuilt_meanwhile_is_newer_than_who_saw_it_leave(first: int) -> None:
    """One leaves, another leaves, the first is rebuilt; then a third leaves, and the first again, which breaks it."""
    second, third = (first + 1) % 4, (first + 2) % 4
    md = Md(4, 2)
    md.fail(first, "written")
    md.fail(second, "written")
    md.rejoin(first)
    md.write()
    md.fail(third, "written")
    md.fail(first, "recorded")
    choice = choose(md.found(), 2)
    assert choice is not None and choice.proven
    assert [member.slot for member in choice.brought] == [first]
    # and without it nobody is taken for it
    without = choose(md.found([first]), 2, [first])
    assert without is not None and not without.proven


def test_member_whose_place_another_took_that_is_gone_is_not_trusted() -> None:
    """D0 failed long ago, a replacement took its slot, left last and is not there."""
    md = Md(4, 2)
    md.fail(0, "written")
    old = md.found([1, 2, 3])
    md.rejoin(0)
    for slot in (1, 2, 0):
        md.fail(slot, "written")
    choice = choose([*old, *md.found([0])], 2)
    assert choice is not None and not choice.proven
    assert choice.later == [0]


def test_member_whose_place_another_took_that_is_in_use_is_not_missed() -> None:
    """The slot of D0 is recorded as that of a member that is not there; what took it was in use until the end."""
    md = Md(4, 2)
    for slot in (1, 2, 3):
        md.fail(slot, "written")
    choice = choose(md.found(), 2, [0])
    assert choice is not None and choice.proven
    assert [one.slot for one in choice.brought] == [3]


def block(slot: int | None, events: int, states: str, recovering: bool = False) -> Superblock:
    return Superblock(f"d{slot}{'r' * recovering}", slot, events, True, recovering, states)


def test_member_that_was_being_filled_is_never_started_with() -> None:
    blocks = [block(0, 9, "A.A"), block(2, 8, "A.A", recovering=True), block(None, 9, "A.A")]
    choice = choose(blocks, 2)
    assert choice is not None and choice.lacking == 1 and not choice.possible


def test_two_that_left_at_the_same_time_are_a_decision() -> None:
    tied = [
        block(0, 9, "AA..."),
        block(1, 9, "AA..."),
        block(2, 7, "AAAA."),
        block(3, 7, "AAAA."),
        block(4, 5, "AAAAA"),
    ]
    choice = choose(tied, 3)
    assert choice is not None and choice.possible and not choice.proven
    assert [member.name for member in choice.tied] == ["d2", "d3"]
    for name, slot in (("d2", 2), ("d3", 3)):
        by_record = choose(tied, 3, last=[name])
        assert by_record is not None and by_record.proven
        assert [member.slot for member in by_record.brought] == [slot]
        chosen = choose(tied, 3, wanted=[name])
        assert chosen is not None and chosen.possible
        assert [member.slot for member in chosen.brought] == [slot]


def test_older_member_is_not_started_with_although_it_is_wanted() -> None:
    blocks = [
        block(0, 9, "AA..."),
        block(1, 9, "AA..."),
        block(2, 7, "AAAA."),
        block(3, 6, "AAAA."),
        block(4, 5, "AAAAA"),
    ]
    choice = choose(blocks, 3, wanted=["d4"])
    assert choice is not None and not choice.possible
    assert {member.name for member in choice.rivals} >= {"d2", "d4"}


def test_member_that_missed_a_rebuild_of_another_is_of_another_generation() -> None:
    blocks = [block(0, 9, "AA.."), block(1, 9, "AA.."), block(2, 4, "A.AA"), block(3, 3, "A.AA")]
    choice = choose(blocks, 3)
    assert choice is not None and not choice.possible
    assert {one.name for one in choice.rivals} == {"d1", "d2"}


def test_array_with_enough_members_is_none_of_these() -> None:
    assert choose([block(0, 9, "AAA"), block(1, 8, "AAA"), block(2, 3, "AAA")], 2) is None


def interrupted(*raised: str) -> list[Superblock]:
    """A RAID6 of eight that lost a and b, then c and d: the power went when `mdadm --force` had raised some of them.

    mdadm raises the events of a member, and leaves what that says of the others.
    """
    left = [
        Superblock(name, slot, 12 if name in raised else 9, True, False, "A" * 8) for slot, name in enumerate("abcd")
    ]
    return [*left, *(Superblock(f"s{slot}", slot, 12, True, False, "....AAAA") for slot in range(4, 8))]


@pytest.mark.parametrize("order", [1, -1], ids=["left-first", "left-last"])
@pytest.mark.parametrize("raised", ["", "c", "d"])
def test_power_cut_within_a_forced_start_leaves_the_choice_proven(raised: str, order: int) -> None:
    choice = choose(interrupted(*raised)[::order], 6, last=["c", "d"])
    assert choice is not None and choice.proven
    assert {one.name for one in choice.start} == {"c", "d", "s4", "s5", "s6", "s7"}


@pytest.mark.parametrize("order", [1, -1], ids=["left-first", "left-last"])
def test_power_cut_within_a_forced_start_with_an_older_member_stays_a_doubt(order: int) -> None:
    choice = choose(interrupted("a")[::order], 6, last=["c", "d"])
    assert choice is not None and not choice.proven
