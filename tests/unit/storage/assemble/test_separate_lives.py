# SPDX-License-Identifier: Apache-2.0
"""No order of what can happen to a mirror mixes two lives, and none keeps a member apart that was merely away.

A model of md with two drives and two servers: what the kernel and mdadm do with superblocks, as their sources have it.
Each drive has the writes that are on it; a member is re-added with what it lacks of the other's, never without its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from millrace.plan.model import MdArray, Role
from millrace.storage.array.superblock import Superblock
from millrace.storage.assemble import separate_lives
from millrace.storage.assemble.separate_lives import Holder, LeftMember, RanApart
from millrace.storage.record.membership import absent
from millrace.storage.record.model import ArrayRecord, MemberRecord

NAMES = ("X", "Y")
WHO = {name: MemberRecord(serial=name, wwid=name, partuuid=name, label="") for name in "XYZ"}
ARRAY = MdArray(
    name="data",
    level="raid1",
    members=list(NAMES),
    over_arrays=False,
    role=Role.DATA,
    chunk=None,
    data_members=1,
    bitmap="internal",
    bitmap_chunk=None,
)
RECORD = ArrayRecord(array=ARRAY, uuid="u", members=[WHO["X"], WHO["Y"]])


class Impossible(Exception):
    """An action that cannot be taken now."""


@dataclass
class Drive:
    """A member: its superblock, the writes on it, and the server that it is in."""

    block: Superblock
    writes: set[int] = field(default_factory=set)
    where: str = "A"


@dataclass
class Server:
    """What it has recorded, and which members its array runs with; None while it is off.

    `elsewhere`: the array ran in the other server since this one recorded it.
    """

    members: list[MemberRecord] = field(default_factory=lambda: [*RECORD.members])
    last: list[MemberRecord] = field(default_factory=list)
    left: list[LeftMember] = field(default_factory=list)
    apart: set[str] = field(default_factory=set)
    running: list[str] | None = None
    elsewhere: bool = False

    @property
    def record(self) -> ArrayRecord:
        return RECORD.model_copy(update={"members": self.members})


class Machines:
    """Two servers and the drives of one mirror."""

    def __init__(self) -> None:
        blocks = [Superblock(name, slot, 100, True, False, "AA") for slot, name in enumerate(NAMES)]
        self.drives = {one.name: Drive(one) for one in blocks}
        # a blank drive, which becomes a member where it is used
        self.drives["Z"] = Drive(Superblock("Z", None, 0, True, False, ""), where="shelf")
        self.servers = {"A": Server(last=[WHO[name] for name in NAMES]), "B": Server()}
        self.number = 0
        self.forgot = False

    def holders(self, names: list[str]) -> list[Holder]:
        return [Holder(self.drives[name].block, WHO[name]) for name in names]

    def here(self, where: str) -> list[str]:
        return [name for name, drive in self.drives.items() if drive.where == where]

    def update(self, server: Server, times: int = 1) -> None:
        """md writes the superblocks of a running array."""
        names = server.running or []
        events = times + max(self.drives[name].block.events for name in names)
        slots = {self.drives[name].block.slot for name in names}
        states = "".join("A" if slot in slots else "." for slot in range(2))
        for name in names:
            drive = self.drives[name]
            drive.block = replace(drive.block, events=events, states=states)
        self.write_on(names)
        for other in self.servers.values():
            other.elsewhere |= other is not server

    def write_on(self, names: list[str]) -> None:
        """Also what md writes of its own is a change: a member with a change that others lack went on without them."""
        self.number += 1
        for name in names:
            self.drives[name].writes.add(self.number)

    def record(self, server: Server) -> None:
        names = server.running or []
        live = {self.drives[name].block.slot: WHO[name] for name in names}
        in_sync = {slot: who for slot, who in live.items() if slot is not None}
        events = max(self.drives[name].block.events for name in names)
        # without a record all members of pool.json count as in sync before
        last = server.last or server.members
        server.left = separate_lives.left_now(server.left, last, in_sync, list(in_sync.values()), events)
        server.members = [in_sync.get(slot, member) for slot, member in enumerate(server.members)]
        server.last = [in_sync[slot] for slot in sorted(in_sync)]
        # what is recorded of those that left stays as old as it is
        server.elsewhere = server.elsewhere and bool(server.left)

    def start(self, where: str) -> None:
        server, names = self.servers[where], self.here(where)
        if server.running is not None or not names:
            raise Impossible
        in_sync = [name for name in names if not absent([WHO[name]], server.last)]
        if server.last and not in_sync:
            # in_sync.refuse_stale
            raise Impossible
        members = self.holders([name for name in names if name not in server.apart])
        try:
            apart = separate_lives.chosen(server.record, members, server.last, server.left)
        except RanApart:
            raise Impossible from None
        for holder in apart:
            self.accuse(server, holder.block.name, in_sync)
        server.apart |= {holder.block.name for holder in apart}
        taken = [name for name in names if name not in server.apart]
        # mdadm: the most events; one that is older by two, or calls that one missing, is ignored (Assemble.c)
        best = max(taken, key=lambda name: self.drives[name].block.events)
        newest = self.drives[best].block
        slot = newest.slot
        assert slot is not None
        fresh = [
            name
            for name in taken
            if self.drives[name].block.events + 1 >= newest.events
            and self.drives[name].block.states[slot] == "A"
            and newest.states[self.drives[name].block.slot or 0] == "A"
        ]
        fresh = [name for name in fresh if not any(self.beats(other, name) for other in fresh)]
        contents = [self.drives[name].writes for name in fresh]
        assert all(content == contents[0] for content in contents), f"members with other data start together: {fresh}"
        server.running = fresh
        self.update(server)
        before = set(server.apart)
        self.readd(where)
        chosen = {who.serial for who in server.last}
        silent = {serial for serial in server.apart - before if not chosen or serial in chosen}
        assert not silent, f"{silent} is kept apart, and nobody chose the others"
        for name in (
            candidate for candidate in names if candidate not in server.apart and candidate not in server.running
        ):
            # one whose place is taken is ignored; no other has changes that the array lacks
            slots = {self.drives[member].block.slot for member in server.running}
            lost = self.drives[name].writes - contents[0]
            assert self.drives[name].block.slot in slots or not lost, f"{name} has {lost} and is not kept apart"
        self.record(server)

    def beats(self, one: str, other: str) -> bool:
        """Whether mdadm takes one of two members with a slot in common."""
        mine, theirs = self.drives[one].block, self.drives[other].block
        return one != other and mine.slot == theirs.slot and (mine.events, one) > (theirs.events, other)

    def fill(self, where: str) -> None:
        """The blank drive takes the place of a member that is missing, and all is copied to it."""
        server, blank = self.servers[where], self.drives["Z"]
        if self.forgot or server.running is None or len(server.running) > 1 or blank.block.slot is not None:
            raise Impossible
        source = self.drives[server.running[0]]
        slot = 1 - (source.block.slot or 0)
        self.drives["Z"] = Drive(replace(source.block, name="Z", slot=slot), set(source.writes), where)
        server.running.append("Z")
        # the start of the copy, its end, and the new member
        self.update(server, 3)
        self.record(server)

    def readd(self, where: str) -> None:
        """Members that are back are re-added, unless they are kept apart."""
        server = self.servers[where]
        if server.running is None:
            raise Impossible
        back = [name for name in self.here(where) if name not in server.running]
        for name in back:
            # the first that is re-added may take the place of another
            drive = self.drives[name]
            if drive.block.slot in {self.drives[member].block.slot for member in server.running}:
                continue
            known = name in server.apart and bool(absent([WHO[name]], server.last))
            left = separate_lives.left_of(server.left, WHO[name])
            current = self.holders(server.running)
            if known or separate_lives.ran_apart(drive.block, current, left, running=True):
                self.accuse(server, name, server.running)
                server.apart.add(name)
                continue
            other = self.drives[server.running[0]]
            assert drive.writes <= other.writes, f"{name} is mixed: {drive.writes - other.writes} is in no bitmap"
            drive.writes = set(other.writes)
            drive.block = replace(drive.block, events=other.block.events)
            server.running.append(name)
            # when it is added, and when it is in sync (md.c add_bound_rdev, md_reap_sync_thread)
            self.update(server, 2)

    def accuse(self, server: Server, name: str, others: list[str]) -> None:
        """A member is kept apart only where it has changes that the others lack, and they have some that it lacks.

        Else the record is older than the array, in a server to which the pool comes home from another one, or the
        member was never in the array of this one.
        """
        known = [*server.members, *(left.member for left in server.left)]
        if server.elsewhere or absent([WHO[name]], known):
            return
        mine, theirs = self.drives[name].writes, self.drives[others[0]].writes
        assert mine - theirs and theirs - mine, f"{name} is kept apart and was only away"

    def write(self, where: str) -> None:
        server = self.servers[where]
        if server.running is None:
            raise Impossible
        self.update(server)

    def stop(self, where: str) -> None:
        server = self.servers[where]
        if server.running is None:
            raise Impossible
        self.record(server)
        self.update(server)
        server.running = None

    def forget(self, where: str) -> None:
        """The boot drive is lost. Without a record, a half that got another partner elsewhere is known by events alone,
        which have to be more than those of the array: that is left out here.
        """
        filled = self.drives["Z"].block.slot is not None
        if filled or self.servers[where].running is not None or not self.servers[where].last:
            raise Impossible
        self.forgot = True
        self.servers[where] = Server()

    def move(self, name: str, where: str) -> None:
        """A drive is pulled, also from a running array, and put into the other server, also while that runs."""
        drive = self.drives[name]
        if drive.where == where or drive.block.slot is None:
            raise Impossible
        source, target = self.servers[drive.where], self.servers[where]
        drive.where = where
        if source.running is not None and name in source.running:
            source.running.remove(name)
            if source.running:
                self.update(source)
                self.record(source)
            else:
                source.running = None
        if target.running is not None:
            self.readd(where)
            self.record(target)

    def copy(self) -> "Machines":
        made = Machines.__new__(Machines)
        made.drives = {name: Drive(drive.block, set(drive.writes), drive.where) for name, drive in self.drives.items()}
        made.servers = {
            name: replace(
                server,
                members=[*server.members],
                left=[*server.left],
                apart={*server.apart},
                running=None if server.running is None else [*server.running],
            )
            for name, server in self.servers.items()
        }
        made.number, made.forgot = self.number, self.forgot
        return made

    def key(self) -> str:
        """Two states with one key go on alike: what each drive has that the other lacks counts, not how much."""
        own = [bool(drive.writes - other.writes) for drive in self.drives.values() for other in self.drives.values()]
        blocks = [
            (drive.block.slot, drive.block.events, drive.block.states, drive.where) for drive in self.drives.values()
        ]
        servers = [
            (
                [who.serial for who in server.members],
                [who.serial for who in server.last],
                [(left.member.serial, left.events, left.beside) for left in server.left],
                sorted(server.apart),
                server.running,
                server.elsewhere,
            )
            for server in self.servers.values()
        ]
        return repr((own, blocks, servers, self.forgot))


Action = Callable[[Machines], None]
ACTIONS: dict[str, Action] = {
    "start A": lambda machines: machines.start("A"),
    "start B": lambda machines: machines.start("B"),
    "write A": lambda machines: machines.write("A"),
    "write B": lambda machines: machines.write("B"),
    "stop A": lambda machines: machines.stop("A"),
    "stop B": lambda machines: machines.stop("B"),
    "X to A": lambda machines: machines.move("X", "A"),
    "X to B": lambda machines: machines.move("X", "B"),
    "Y to A": lambda machines: machines.move("Y", "A"),
    "Y to B": lambda machines: machines.move("Y", "B"),
    "forget A": lambda machines: machines.forget("A"),
    "fill A": lambda machines: machines.fill("A"),
    "fill B": lambda machines: machines.fill("B"),
    "Z to A": lambda machines: machines.move("Z", "A"),
    "Z to B": lambda machines: machines.move("Z", "B"),
}


def walk(depth: int) -> int:
    """Take every order of so many actions; how many states they led to."""
    level: dict[str, tuple[Machines, tuple[str, ...]]] = {"": (Machines(), ())}
    count = 0
    for _ in range(depth):
        after: dict[str, tuple[Machines, tuple[str, ...]]] = {}
        for machines, done in level.values():
            for name, action in ACTIONS.items():
                copy = machines.copy()
                try:
                    action(copy)
                except Impossible:
                    continue
                except AssertionError as error:
                    raise AssertionError(f"{error}; after {', '.join((*done, name))}") from error
                after.setdefault(copy.key(), (copy, (*done, name)))
        level = after
        count += len(level)
    return count


def test_no_order_of_starts_writes_and_moves_mixes_two_lives() -> None:
    assert walk(8) > 10_000
