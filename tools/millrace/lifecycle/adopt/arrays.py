# SPDX-License-Identifier: Apache-2.0
"""The arrays of Millrace on the drives of this server, from their superblocks. Nothing is started or written."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millrace.plan.labels import array_link
from millrace.storage.array.gather import latest_members
from millrace.storage.array.machine import System
from millrace.storage.array.md import HOMEHOST, LOST_MEMBERS
from millrace.storage.array.signature import exported
from millrace.storage.array.superblock import Superblock, examine
from millrace.storage.assemble import separate_lives
from millrace.storage.assemble.separate_lives import Holder
from millrace.system.errors import Refused

PREFIX = f"{HOMEHOST}:{array_link('')}"
MIXED = "Nothing was written; leave the drives of one pool in this server and run `millrace pool find` again"


@dataclass(frozen=True)
class OnDrives:
    """One array: members, hot spares, and members that were away when it was last written; serials by kernel name."""

    uuid: str
    name: str
    level: str
    slots: int
    members: Mapping[str, str]
    spares: Mapping[str, str]
    outdated: Mapping[str, str]

    @property
    def serials(self) -> list[str]:
        """The serials of all its drives in this server."""
        return sorted({*self.members.values(), *self.spares.values(), *self.outdated.values()})

    @property
    def missing(self) -> int:
        """How many members are not there."""
        return self.slots - len(self.members)

    @property
    def needed(self) -> int:
        """How many members it needs to start."""
        return needed(self.level, self.slots)

    @property
    def can_start(self) -> bool:
        """Whether enough members are there."""
        return len(self.members) >= self.needed


def on_drives(system: System, names: Sequence[str] | None = None) -> list[OnDrives]:
    """Return the arrays whose members are among `names`, of all block devices without them, by name.

    Refused: two members claim the same place in an array, or members of it ran without each other.
    """
    known: dict[str, list[str]] = defaultdict(list)
    about: dict[str, dict[str, str]] = {}
    for name in sorted(system.md_superblocks()) if names is None else names:
        fields = exported(system.attempt(["mdadm", "--examine", "--export", f"/dev/{name}"]).out)
        if fields.get("MD_NAME", "").startswith(PREFIX):
            known[fields["MD_UUID"]].append(name)
            about[fields["MD_UUID"]] = fields
    return sorted(
        (_array(system, about[uuid], members) for uuid, members in known.items()), key=lambda array: array.name
    )


def _array(system: System, about: Mapping[str, str], names: Sequence[str]) -> OnDrives:
    blocks: list[Superblock] = [block for name in names if (block := examine(system, name)) is not None]
    members = {name: system.identity(name) for name in names}
    _refuse_split(about, separate_lives.holders(members, blocks))
    latest = latest_members(blocks)
    serials = {name: member.serial for name, member in members.items()}
    array = about["MD_NAME"].removeprefix(PREFIX)
    twice = [slot for slot, count in Counter(block.slot for block in latest).items() if count > 1]
    # the member that a replacement is being filled for keeps its place until that is done
    rivals = [block for block in latest if block.slot in twice and not block.recovering]
    if len(rivals) > len(twice):
        drives = ", ".join(sorted(serials[block.name] for block in rivals))
        raise Refused(
            f"array {array} is in conflict: {drives} claim the same place in it; keep only the drives that were used "
            "last in this server, and run `millrace pool find` again"
        )
    current = {block.name for block in latest}
    spare = {block.name for block in blocks if block.slot is None}
    return OnDrives(
        uuid=about["MD_UUID"],
        name=array,
        level=about["MD_LEVEL"],
        slots=int(about["MD_DEVICES"]),
        members={name: serial for name, serial in serials.items() if name in current},
        spares={name: serial for name, serial in serials.items() if name in spare},
        outdated={name: serial for name, serial in serials.items() if name not in current | spare},
    )


def _refuse_split(about: Mapping[str, str], members: Sequence[Holder]) -> None:
    slots, level = int(about["MD_DEVICES"]), about["MD_LEVEL"]
    separate_lives.refuse_split(about["MD_NAME"].removeprefix(PREFIX), slots, needed(level, slots), members)


def needed(level: str, slots: int) -> int:
    """Return how many members an array needs to start."""
    return 1 if level == "raid1" else slots - LOST_MEMBERS.get(level, 0)


def named(one: OnDrives) -> str:
    """Return an array as a sentence names it: with its UUID and the drives that it is on."""
    return f"array {one.name} {one.uuid} on {', '.join(one.serials)}"


def of_one_pool(arrays: Sequence[OnDrives]) -> None:
    """Refused: the drives are those of several pools, or too few of one are there to start an array."""
    counts = Counter(array.name for array in arrays)
    several = sorted(name for name, count in counts.items() if count > 1)
    if several:
        pools = "; ".join(named(array) for array in arrays if array.name in several)
        raise Refused(f"drives of {max(counts.values())} pools are in this server: {pools}. {MIXED}")
    for array in arrays:
        if not array.can_start:
            raise Refused(
                f"array {array.name} cannot start: {_standing(array)}; {_remedy(array)}, or take these out if they are "
                f"of another pool: {', '.join(array.serials)}. Then run `millrace pool find` again"
            )


def _standing(one: OnDrives) -> str:
    """How many members are there, and which of them left the array before it was last written."""
    found = f"{len(one.members)} of {one.slots} members are in this server"
    if not one.outdated:
        return found
    return f"{found} as they were last, and {len(one.outdated)} that left before ({', '.join(one.outdated.values())})"


def _remedy(one: OnDrives) -> str:
    """A pool whose drives were gone is revived where it was created: that server knows which of them left last."""
    if len(one.members) + len(one.outdated) < one.needed:
        return "put the missing drives in"
    return "put the drives into the server that created the pool, and start it there: millrace pool revive"
