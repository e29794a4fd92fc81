# SPDX-License-Identifier: Apache-2.0
"""A member as it was found, to be confirmed before a command writes to it: kernel names go to other drives."""

from dataclasses import dataclass

from millrace.storage.array import md
from millrace.storage.array.machine import System
from millrace.storage.array.superblock import fields
from millrace.storage.record.model import ArrayRecord, MemberRecord


@dataclass(frozen=True)
class FoundMember:
    """`name` is that of the kernel. `diskseq` numbers the attachment of a drive; None for a partition."""

    name: str
    who: MemberRecord
    diskseq: str | None

    @property
    def device(self) -> str:
        """The path that mdadm is given."""
        return f"/dev/disk/by-partuuid/{self.who.partuuid}" if self.who.partuuid else f"/dev/{self.name}"


def found(system: System, name: str, who: MemberRecord) -> FoundMember:
    """Return a member for `is_still_there`."""
    return FoundMember(name, who, None if who.partuuid else system.diskseq(name))


def is_still_there(system: System, record: ArrayRecord, member: FoundMember, erased: bool = False) -> bool:
    """Whether a member is where it was found, with a superblock of its array; with `erased`, without a superblock.

    A drive that came back under the same name is not the same: what was read of it before is not known to hold.
    """
    # the link of udev may be older than the drive behind it, so both are compared
    if member.who.partuuid and system.partition(member.who.partuuid) != member.name:
        return False
    if not member.who.partuuid and system.diskseq(member.name) != member.diskseq:
        return False
    uuid = fields(system, member.name).get("Array UUID", "")
    same = not uuid if erased else md.same_uuid(uuid, record.uuid)
    # after the superblock: its reading takes time
    return same and system.identity(member.name) == member.who
