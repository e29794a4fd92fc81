# SPDX-License-Identifier: Apache-2.0
"""How the members of the arrays are now, as md has them."""

from dataclasses import dataclass
from typing import Literal

from millrace.storage.array import md
from millrace.storage.array.machine import LiveMember, System
from millrace.storage.record.model import ArrayRecord, MemberRecord, Pool

Standing = Literal["in-sync", "rebuilding", "spare", "faulty"]


@dataclass(frozen=True)
class MemberNow:
    """A member that md has. `name` is the kernel's; `copy`: it is filled with what another member has."""

    name: str
    who: MemberRecord
    slot: int | None
    standing: Standing
    copy: bool

    @property
    def in_use(self) -> bool:
        """Whether it has a place in the array and did not fail."""
        return self.standing in ("in-sync", "rebuilding")


@dataclass(frozen=True)
class ArrayNow:
    """A running array with `slots` places and the members that it has now."""

    record: ArrayRecord
    slots: int
    members: list[MemberNow]

    @property
    def lacking(self) -> int:
        """How many places have no member that is in sync."""
        return self.slots - sum(one.standing == "in-sync" for one in self.members)

    @property
    def waiting(self) -> int:
        """How many places have no member, not even one that is being filled."""
        return self.slots - len({one.slot for one in self.members if one.in_use})

    def member(self, serial: str) -> MemberNow | None:
        """Return the member on the drive with this serial number."""
        return next((one for one in self.members if one.who.serial == serial), None)

    def partition(self, partuuid: str) -> MemberNow | None:
        """Return the member on the partition with this GUID."""
        return next((one for one in self.members if one.who.partuuid == partuuid), None)


def array_now(system: System, record: ArrayRecord) -> ArrayNow | None:
    """Return an array of partitions as it runs; None where it does not, or has lost too many members."""
    active = md.find(system, record.uuid)
    if active is None or not active.running or md.broken(system, record, active):
        return None
    members = [_member(system, one) for one in system.md_members(active.device)]
    return ArrayNow(record, active.members, members)


def arrays_now(system: System, pool: Pool) -> dict[str, ArrayNow]:
    """Return the arrays of partitions that run, by name."""
    found = {one.array.name: array_now(system, one) for one in pool.arrays if not one.array.over_arrays}
    return {name: now for name, now in found.items() if now is not None}


def _member(system: System, one: LiveMember) -> MemberNow:
    return MemberNow(one.name, system.identity(one.name), one.slot, _standing(one), "replacement" in one.flags)


def _standing(one: LiveMember) -> Standing:
    if "faulty" in one.flags:
        return "faulty"
    if one.in_sync:
        return "in-sync"
    return "spare" if one.slot is None else "rebuilding"
