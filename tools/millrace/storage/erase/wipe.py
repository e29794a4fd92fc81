# SPDX-License-Identifier: Apache-2.0
"""Take a pool off a drive: its superblocks and its partition table go, the data between them are not overwritten.

What identifies the drive as ours is the last to go, so that a wipe that a power cut interrupts can be done again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.inventory.model import Drive, DriveState
from millrace.inventory.surface import WINDOW
from millrace.storage.array import md
from millrace.storage.array.machine import Report, System, settle
from millrace.storage.array.signature import describe, signature
from millrace.storage.drive.attached import Drives
from millrace.storage.erase.eraser import reread
from millrace.storage.record.model import ArrayRecord, DriveRecord, MemberRecord
from millrace.system.errors import MillraceError
from millrace.system.run import must
from millrace.system.text import MIB

# mdadm puts the data of a member 129 MiB behind its start at most, and those of a raid0 over legs as far into the leg:
# a new array of the same shape must not show the superblock of the old file system at its start.
HEAD = 512 * MIB


@dataclass(frozen=True)
class PoolWipe:
    """Wipes drives of a pool with these arrays."""

    system: System
    drives: Drives
    arrays: Sequence[ArrayRecord]
    report: Report

    def stop_arrays(self) -> None:
        """Stop all arrays of the pool, those over others first. Failed: one is in use."""
        settle(self.system)
        for record in sorted(self.arrays, key=lambda one: not one.array.over_arrays):
            md.stop(self.system, record)

    def of_partitions(self, record: DriveRecord) -> str | None:
        """Wipe a drive with partitions of the pool; return why it was left as it is, None where it is wiped."""
        drive = self.drives.find(record)
        if drive is None:
            return None
        ours = {record.disk_label, *(partition.partuuid for partition in record.partitions)}
        ids = self.system.gpt_ids(drive.name, drive.logical_block)
        if not ids:
            return None if drive.state is DriveState.BLANK else f"holds something else ({_evidence(drive)})"
        if not ids <= ours:
            return f"has partitions that are not of this pool ({_evidence(drive)})"
        try:
            held = signature(self.system, f"/dev/{drive.name}")
        except MillraceError as error:
            return f"cannot be examined ({error})"
        if "TYPE" in held:
            # beside a table of ours, or a rest of it
            return f"holds something else ({describe(held)})"
        areas, start = list[tuple[int, int]](), record.start
        for partition in record.partitions:
            areas.append((start, min(HEAD, partition.size)))
            start += partition.size
        return self._wiped(record, areas)

    def of_whole(self, record: MemberRecord) -> str | None:
        """Wipe a member without partitions; return why it was left as it is, None where it is wiped."""
        drive = self.drives.find(record)
        if drive is None:
            return None
        held = self.system.md_superblocks().get(drive.name)
        if held is None or not any(md.same_uuid(held, one.uuid) for one in self.arrays):
            return None if drive.state is DriveState.BLANK else f"holds something else ({_evidence(drive)})"
        return self._wiped(record, [(WINDOW, HEAD)])

    def _wiped(self, record: DriveRecord | MemberRecord, areas: list[tuple[int, int]]) -> str | None:
        try:
            drive = self.drives.current(record)
            # a change of a member may have made udev collect them again
            self.stop_arrays()
            for offset, length in areas:
                self._zero(drive, offset, length)
            self._flush(drive)
            # without these the rest of the table still has the identifiers of the partitions
            self._zero(drive, 0, drive.logical_block)
            self._zero(drive, drive.size - WINDOW, WINDOW)
            self._flush(drive)
            self._zero(drive, 0, WINDOW)
            self._flush(drive)
        except MillraceError as error:
            return f"cannot be written ({error})"
        reread(self.system, drive.name, self.report)
        return None

    def _zero(self, drive: Drive, offset: int, length: int) -> None:
        # refused by the kernel where anything uses the drive or a partition of it
        must(
            self.system.attempt,
            ["blkdiscard", "--zeroout", f"--offset={offset}", f"--length={length}", f"/dev/{drive.name}"],
        )

    def _flush(self, drive: Drive) -> None:
        # a drive may write what its cache has in any order
        must(self.system.attempt, ["sync", f"/dev/{drive.name}"])


def _evidence(drive: Drive) -> str:
    return "; ".join(f"{one.probe}: {one.finding}" for one in drive.evidence) or drive.state.value
