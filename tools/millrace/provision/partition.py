# SPDX-License-Identifier: Apache-2.0
"""One GPT with one partition on one drive."""

import json

from millrace.errors import Failed, Refused
from millrace.inventory.model import Drive, DriveState
from millrace.provision.drives import Drives
from millrace.provision.model import MemberRecord
from millrace.provision.signature import describe, signature
from millrace.provision.step import Found
from millrace.provision.system import System, demand, settle

LINUX_RAID = "a19d880f-05fc-4d3b-a006-743f0f84911e"
MIB = 1 << 20
START = MIB
"""Where the partition begins, in bytes."""


class PartitionStep:
    """`size` is that of the partition in bytes, a multiple of 1 MiB."""

    def __init__(self, system: System, drives: Drives, member: MemberRecord, disk_label: str, size: int) -> None:
        self._system = system
        self._drives = drives
        self._member = member
        self._disk_label = disk_label
        self._size = size
        self.name = f"partition {member.serial}"
        self.title = f"drive {member.serial}"

    def look(self) -> Found:
        drive = self._drives.now(self._member)
        ids = self._system.gpt_ids(drive.name, drive.logical_block)
        if ids and ids <= {self._disk_label, self._member.partuuid}:
            return Found.COMPLETE if self._table(drive) == self._wanted(drive) else Found.TORN
        if ids or drive.state is not DriveState.BLANK:
            raise Refused(f"drive {drive.serial} ({drive.name}) is not blank: {_evidence(drive)}; nothing was written")
        held = signature(self._system, f"/dev/{drive.name}", START, self._size)
        if held:
            raise Refused(
                f"drive {drive.serial} ({drive.name}) is not blank: behind its first MiB is {describe(held)}; "
                "nothing was written"
            )
        return Found.NOTHING

    def wake(self) -> None:
        """A partition does not sleep."""

    def clear(self) -> None:
        """sfdisk writes the whole table again."""

    def make(self) -> str:
        drive = self._drives.now(self._member)
        reason = self._system.in_use(drive.name)
        if reason:
            raise Refused(f"drive {drive.serial} ({drive.name}) is in use ({reason}); nothing was written to it")
        # Sizes with a suffix mean the same on drives with 512-byte and with 4096-byte blocks. Nothing is wiped: the
        # drive is blank, and what would be found behind the table is not ours to erase.
        demand(
            self._system,
            ["sfdisk", "--lock", "--wipe=never", "--wipe-partitions=never", f"/dev/{drive.name}"],
            self._script(),
        )
        settle(self._system)
        node = self._system.partition(self._member.partuuid)
        if node != partition_name(drive.name):
            raise Failed(f"the partition of drive {drive.serial} does not show up as /dev/disk/by-partuuid; reboot")
        return f"partition {self._member.label}, {self._size // MIB} MiB"

    def _script(self) -> str:
        return (
            f"label: gpt\nlabel-id: {self._disk_label}\n\n"
            f"start={START // MIB}MiB, size={self._size // MIB}MiB, type={LINUX_RAID}, "
            f'name="{self._member.label}", uuid={self._member.partuuid}\n'
        )

    def _wanted(self, drive: Drive) -> dict[str, object]:
        return {
            "label": "gpt",
            "id": self._disk_label,
            "partitions": [
                {
                    "start": START // drive.logical_block,
                    "size": self._size // drive.logical_block,
                    "type": LINUX_RAID,
                    "uuid": self._member.partuuid,
                    "name": self._member.label,
                }
            ],
        }

    def _table(self, drive: Drive) -> dict[str, object] | None:
        """What sfdisk reads from the drive, None where it sees no table."""
        result = self._system.attempt(["sfdisk", "--json", f"/dev/{drive.name}"])
        if result.status != 0:
            return None
        table = json.loads(result.out)["partitiontable"]
        return {
            "label": table["label"],
            "id": str(table["id"]).lower(),
            "partitions": [
                {
                    "start": entry["start"],
                    "size": entry["size"],
                    "type": str(entry["type"]).lower(),
                    "uuid": str(entry["uuid"]).lower(),
                    "name": entry.get("name"),
                }
                for entry in table.get("partitions", [])
            ],
        }


def partition_name(disk: str) -> str:
    """The kernel's name of the first partition: nvme0n1p1, sda1."""
    return f"{disk}p1" if disk[-1].isdigit() else f"{disk}1"


def _evidence(drive: Drive) -> str:
    return "; ".join(f"{e.probe}: {e.finding}" for e in drive.evidence) or f"its state is {drive.state.value}"
