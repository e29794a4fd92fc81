# SPDX-License-Identifier: Apache-2.0
"""One md array over partitions, or over other arrays."""

from millrace.plan.labels import array_link, array_path
from millrace.plan.model import MdArray
from millrace.storage.array import md
from millrace.storage.array.machine import System, settle
from millrace.storage.array.signature import describe, signature
from millrace.storage.drive.attached import Drives
from millrace.storage.provision.partition import is_partition_of
from millrace.storage.record.model import ArrayRecord, MemberRecord
from millrace.storage.record.step import FoundContent
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.run import must
from millrace.system.text import KIB


class ArrayStep:
    """The step that creates an array. Its members are searched again for every command."""

    def __init__(self, system: System, drives: Drives, record: ArrayRecord) -> None:
        self._system = system
        self._drives = drives
        self._record = record
        self.name = f"array {record.array.name}"
        self.title = md.title(record.array)

    def inspect(self) -> FoundContent:
        """Read the active array, or the superblocks of its members.

        Refused: a member holds other content. Failed: the array runs with another level or number of members.
        """
        active = md.find(self._system, self._record.uuid)
        if active is not None and active.running:
            array = self._record.array
            if (active.level, active.members) != (array.level, len(array.members)):
                raise Failed(f"{self.title} runs as {active.level} of {active.members}; the plan says otherwise")
            if not all(self._carries(device, owner) for device, owner in self._spares()):
                return FoundContent.INCOMPLETE
            return FoundContent.COMPLETE if md.linked(self._system, self._record, active) else FoundContent.STOPPED
        carried = [self._carries(device, owner) for device, owner in self._all()]
        if not any(carried):
            return FoundContent.ABSENT
        return FoundContent.STOPPED if all(carried) else FoundContent.INCOMPLETE

    def activate(self) -> None:
        """Assemble the array and its link in /dev/md; leave it as it is where it does not start."""
        active = md.find(self._system, self._record.uuid)
        try:
            if active is None or not active.running:
                md.assemble(self._system, self._record, [device for device, _ in self._all()])
            settle(self._system)
            md.ensure_link(self._system, self._record)
        except MillraceError:
            # Members of a creation that was cut short may all carry the UUID and still not start. Whether the array
            # may be made again is for the journal to say.
            return

    def undo(self) -> None:
        """Stop the array and remove its superblocks. Refused: a member holds other content. Failed: mdadm fails."""
        active = md.find(self._system, self._record.uuid)
        if active is not None:
            must(self._system.attempt, ["mdadm", "--stop", f"/dev/{active.device}"])
        for device, owner in self._all():
            if self._carries(device, owner):
                must(self._system.attempt, ["mdadm", "--zero-superblock", device])

    def create(self) -> str:
        """Create the array, with its spares. Failed: mdadm fails."""
        members, spares = ([device for device, _ in group] for group in (self._members(), self._spares()))
        must(self._system.attempt, create_command(self._record, members, spares))
        settle(self._system)
        md.ensure_link(self._system, self._record)
        return f"created, {md.count(len(members), len(spares))}"

    def _all(self) -> list[tuple[str, str]]:
        return [*self._members(), *self._spares()]

    def _members(self) -> list[tuple[str, str]]:
        """Device and, for sentences, the drive or array that it is on."""
        if self._record.array.over_arrays:
            return [(array_path(name), f"array {name}") for name in self._record.array.members]
        return self._partitions(self._record.members)

    def _spares(self) -> list[tuple[str, str]]:
        return self._partitions(self._record.spares)

    def _partitions(self, members: list[MemberRecord]) -> list[tuple[str, str]]:
        devices = []
        for member in members:
            drive = self._drives.current(member)
            if not is_partition_of(self._system.partition(member.partuuid), drive.name):
                raise Failed(f"partition {member.label} of drive {member.serial} does not show up by its UUID; reboot")
            devices.append((f"/dev/disk/by-partuuid/{member.partuuid}", f"drive {member.serial}"))
        return devices

    def _carries(self, device: str, owner: str) -> bool:
        """Whether the member has a superblock of this very array; Refused if it holds anything else."""
        held = signature(self._system, device)
        if not held:
            return False
        if held.get("TYPE") == "linux_raid_member" and md.same_uuid(held.get("UUID", ""), self._record.uuid):
            return True
        raise Refused(f"{self.title}: {owner} holds {describe(held)}, which is not of this pool; it was not touched")


def create_command(record: ArrayRecord, members: list[str], spares: list[str]) -> list[str]:
    """Return the mdadm command that creates an array."""
    array = record.array
    return [
        *("mdadm", "--create", array_path(array.name), "--run", "--metadata=1.2"),
        *(f"--homehost={md.HOMEHOST}", f"--name={array_link(array.name)}", f"--uuid={record.uuid}"),
        *(f"--level={array.level}", f"--raid-devices={len(members)}"),
        *([f"--spare-devices={len(spares)}"] if spares else []),
        *([f"--chunk={array.chunk // KIB}K"] if array.chunk is not None else []),
        *_bitmap(array),
        # Without it mdadm makes a RAID5 degraded with its last member as a spare under rebuild: it would start without
        # redundancy, look like a fault, and send every read through the stripe cache (raid5.c chunk_aligned_read).
        # A mirror of one drive is unusual enough for mdadm to ask for it as well.
        *(["--force"] if array.level == "raid5" or len(members) == 1 else []),
        *members,
        *spares,
    ]


def _bitmap(array: MdArray) -> list[str]:
    chunk = [f"--bitmap-chunk={array.bitmap_chunk // KIB}K"] if array.bitmap_chunk is not None else []
    return [f"--bitmap={array.bitmap}", *chunk]
