# SPDX-License-Identifier: Apache-2.0
"""One GPT with our partitions on one drive."""

import json
import re

from millrace.inventory.model import Drive, DriveState
from millrace.storage.array.machine import System, settle
from millrace.storage.array.signature import describe, signature
from millrace.storage.drive.attached import Drives
from millrace.storage.record.model import DriveRecord, PartitionRecord
from millrace.storage.record.step import FoundContent
from millrace.system.errors import Failed, Refused
from millrace.system.run import must
from millrace.system.text import MIB

LINUX_RAID = "a19d880f-05fc-4d3b-a006-743f0f84911e"
LINUX_DATA = "0fc63daf-8483-4772-8e79-3d69d8477de4"
"""A file system, or its log, without md between."""


class PartitionStep:
    """The step that writes a partition table. Sizes are multiples of 1 MiB."""

    def __init__(self, system: System, drives: Drives, record: DriveRecord, kind: str = LINUX_RAID) -> None:
        self._kind = kind
        self._system = system
        self._drives = drives
        self._record = record
        self.name = f"partition {record.serial}"
        self.title = f"drive {record.serial}"

    def inspect(self) -> FoundContent:
        """Compare the partition table of the drive with the plan.

        Refused: the drive is missing or not blank. Failed: it cannot be read.
        """
        drive = self._drives.current(self._record)
        ids = self._system.gpt_ids(drive.name, drive.logical_block)
        if ids and ids <= {self._record.disk_label, *(partition.partuuid for partition in self._record.partitions)}:
            return FoundContent.COMPLETE if self._table(drive) == self._expected(drive) else FoundContent.INCOMPLETE
        if ids or drive.state is not DriveState.BLANK:
            raise Refused(f"drive {drive.serial} ({drive.name}) is not blank: {_evidence(drive)}; nothing was written")
        for start, partition in self._with_start():
            held = signature(self._system, f"/dev/{drive.name}", start, partition.size)
            if held:
                raise Refused(
                    f"drive {drive.serial} ({drive.name}) is not blank: at {start // MIB} MiB is {describe(held)}; "
                    "nothing was written"
                )
        return FoundContent.ABSENT

    def activate(self) -> None:
        """Do nothing: a partition is in use as soon as it exists."""

    def undo(self) -> None:
        """Do nothing: sfdisk writes the whole table again."""

    def create(self) -> str:
        """Write the partition table. Refused: the drive is in use. Failed: sfdisk fails, or no partition appears."""
        drive = self._drives.current(self._record)
        reason = self._system.in_use(drive.name)
        if reason:
            raise Refused(f"drive {drive.serial} ({drive.name}) is in use ({reason}); nothing was written to it")
        # Sizes with a suffix mean the same on drives with 512-byte and with 4096-byte blocks. Nothing is wiped: the
        # drive is blank, and what would be found behind the table is not ours to erase.
        must(
            self._system.attempt,
            ["sfdisk", "--lock", "--wipe=never", "--wipe-partitions=never", f"/dev/{drive.name}"],
            self._script(),
        )
        settle(self._system)
        for partition in self._record.partitions:
            if not is_partition_of(self._system.partition(partition.partuuid), drive.name):
                raise Failed(
                    f"partition {partition.label} of drive {drive.serial} does not show up as /dev/disk/by-partuuid; "
                    "reboot"
                )
        parts = [f"{partition.label} {partition.size // MIB} MiB" for partition in self._record.partitions]
        return f"partition {', '.join(parts)}"

    def write_in_use(self) -> None:
        """Write the table again while its partitions are in use; the kernel keeps the sizes that it knows.

        Refused: the drive is missing, or its table is not the recorded one. Failed: sfdisk fails.
        """
        # also where it is complete: after a power cut one of its two copies may be torn, and the other one is read
        if self.inspect() is FoundContent.ABSENT:
            raise Refused(f"{self.title} has no partitions; nothing was written")
        drive = self._drives.current(self._record)
        in_use = ["--no-reread", "--no-tell-kernel", "--force"]
        keep = ["--wipe=never", "--wipe-partitions=never"]
        must(self._system.attempt, ["sfdisk", "--lock", *in_use, *keep, f"/dev/{drive.name}"], self._script())

    def _with_start(self) -> list[tuple[int, PartitionRecord]]:
        """Each partition with its start in bytes."""
        start, placed = self._record.start, []
        for partition in self._record.partitions:
            placed.append((start, partition))
            start += partition.size
        return placed

    def _script(self) -> str:
        lines = [
            f"start={start // MIB}MiB, size={partition.size // MIB}MiB, type={self._kind}, "
            f'name="{partition.label}", uuid={partition.partuuid}\n'
            for start, partition in self._with_start()
        ]
        return f"label: gpt\nlabel-id: {self._record.disk_label}\n\n{''.join(lines)}"

    def _expected(self, drive: Drive) -> dict[str, object]:
        return {
            "label": "gpt",
            "id": self._record.disk_label,
            "partitions": [
                {
                    "start": start // drive.logical_block,
                    "size": partition.size // drive.logical_block,
                    "type": self._kind,
                    "uuid": partition.partuuid,
                    "name": partition.label,
                }
                for start, partition in self._with_start()
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


def is_partition_of(node: str | None, disk: str) -> bool:
    """Whether a kernel name is that of a partition of this disk: nvme0n1p1 of nvme0n1, sda1 of sda."""
    separator = "p" if disk[-1].isdigit() else ""
    return node is not None and re.fullmatch(rf"{re.escape(disk)}{separator}[0-9]+", node) is not None


def _evidence(drive: Drive) -> str:
    return "; ".join(f"{e.probe}: {e.finding}" for e in drive.evidence) or f"its state is {drive.state.value}"
