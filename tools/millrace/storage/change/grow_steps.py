# SPDX-License-Identifier: Apache-2.0
"""The steps in which a pool grows on larger drives. Each inspects what is there, so that it can be done again."""

from itertools import repeat

from millrace.plan.labels import array_path
from millrace.storage.array import md
from millrace.storage.array.machine import System, settle
from millrace.storage.array.member_state import array_now
from millrace.storage.assemble import grown_legs
from millrace.storage.drive.attached import Drives
from millrace.storage.provision.partition import PartitionStep
from millrace.storage.record.drive_change import GrownPartition
from millrace.storage.record.model import ArrayRecord, DriveRecord, Pool
from millrace.system.errors import Failed
from millrace.system.mounts import mounted
from millrace.system.run import must
from millrace.system.text import KIB, MIB, binary
from millrace.system.wait import wait_until

POLL = 2.0
"""Seconds between two looks whether the pool is mounted after a boot."""
MOUNT_TRIES = 90
ROUNDED = 16 * MIB
"""Bytes of each member by which md rounds a size down at most."""


def enlarged(record: DriveRecord, size: int) -> DriveRecord:
    """Return the record of a drive whose last partition has `size` bytes."""
    last = record.partitions[-1].model_copy(update={"size": size})
    return record.model_copy(update={"partitions": [*record.partitions[:-1], last]})


class EnlargeTask:
    """Enlarges the last partition of a drive whose arrays run. A torn table has the partition in both of its copies."""

    def __init__(self, system: System, drives: Drives, record: DriveRecord, grown: GrownPartition) -> None:
        self._system, self._drives = system, drives
        self._record, self._grown = enlarged(record, grown.size), grown
        self.name = f"enlarge {grown.serial}"
        self.title = f"drive {grown.serial}"

    def perform(self) -> str:
        """Write the table and have the kernel take the new size.

        Refused: the drive is missing, or has another table. Failed: sfdisk or partx fails, or the size stays.
        """
        step = PartitionStep(self._system, self._drives, self._record)
        step.write_in_use()
        drive = self._drives.current(self._record)
        last = self._record.partitions[-1]
        name = self._system.partition(last.partuuid)
        if name is None or self._system.partition_size(name) != last.size:
            # BLKPG_RESIZE_PARTITION: the only change of a partition that the kernel makes while it is in use
            number = len(self._record.partitions)
            must(self._system.attempt, ["partx", "--update", "--nr", str(number), f"/dev/{drive.name}"])
            settle(self._system)
            name = self._system.partition(last.partuuid)
        if name is None or self._system.partition_size(name) != last.size:
            raise Failed(f"drive {drive.serial}: the kernel does not take the new size of {last.label}; reboot")
        return f"{last.label} has {binary(last.size)}"


class GrowTask:
    """Lets md use the room of all members, or `size` bytes of each; the new part is synchronised in the background."""

    def __init__(self, system: System, record: ArrayRecord, before: int, size: int | None = None) -> None:
        self._system, self._record, self._before, self._of_each = system, record, before, size
        self._wanted = f"--size={size // KIB}" if size is not None else "--size=max"
        self.name = f"grow {record.array.name}"
        self.title = md.title(record.array)

    def perform(self) -> str:
        """Grow the array, also one that has grown and lost a member since.

        Failed: it is degraded by now, is being synchronised, or md does not do it.
        """
        if self._size() <= self._least:
            now = array_now(self._system, self._record)
            if now is None or now.lacking:
                raise Failed(f"{self.title} is degraded and is not enlarged; replace the missing member first")
            # the bitmap is resized by md, which keeps its place and takes larger chunks where that is too small
            must(self._system.attempt, ["mdadm", "--grow", array_path(self._record.array.name), self._wanted])
        if self._size() <= self._least:
            raise Failed(f"{self.title} stays as it was; see `journalctl -k` for the reason")
        return f"{binary(self._size())}"

    @property
    def _least(self) -> int:
        """What an array never reaches before it has grown: md keeps a part of each old partition.

        With a size of each member also one that has grown to less: an earlier growth may have ended between two legs.
        """
        if self._of_each is not None:
            return (self._of_each - ROUNDED) * self._record.array.data_members
        return self._before * self._record.array.data_members

    def _size(self) -> int:
        active = md.find(self._system, self._record.uuid)
        return self._system.partition_size(active.device) if active else 0


class FilesystemTask:
    """Lets XFS use the larger array while it is mounted; its log stays as it is."""

    name = "filesystem"
    title = "XFS"

    def __init__(self, system: System, pool: Pool) -> None:
        self._system, self._point = system, pool.filesystem.mountpoint

    def perform(self) -> str:
        """Grow the file system; nothing where it has grown. Failed: it is not mounted, or xfs_growfs fails."""
        tries = repeat(POLL, MOUNT_TRIES)
        if wait_until(lambda: mounted(self._point), lambda mount: mount is not None, tries, self._system.wait) is None:
            raise Failed(f"{self._point} is not mounted; see `systemctl status srv-pool.mount`")
        must(self._system.attempt, ["xfs_growfs", "-d", self._point])
        return "uses the larger array"


class OverLegsTask(FilesystemTask):
    """Lets XFS use a RAID0 that was started with its larger legs."""

    def __init__(self, system: System, pool: Pool, record: ArrayRecord) -> None:
        super().__init__(system, pool)
        self._pool, self._record = pool, record

    def perform(self) -> str:
        """Grow the file system. Failed: as for other arrays, or the RAID0 does not use all of each leg.

        What XFS has in a part that only some of the legs have would move with the next start.
        """
        if not grown_legs.in_use(self._system, self._record, self._pool):
            raise Failed(
                f"{md.title(self._record.array)} does not use its larger legs; restart the server: systemctl reboot"
            )
        return super().perform()
