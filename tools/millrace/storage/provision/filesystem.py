# SPDX-License-Identifier: Apache-2.0
"""The XFS file system of the pool, its log on an array or a device of its own where that is planned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from millrace.plan import xfs_features
from millrace.plan.labels import array_link, array_path
from millrace.plan.model import Filesystem
from millrace.plan.sizes import down_to_power_of_two
from millrace.storage.array import md
from millrace.storage.array.machine import System
from millrace.storage.array.signature import describe, signature
from millrace.storage.record.identity import BY_PARTUUID
from millrace.storage.record.model import ArrayRecord, DriveRecord, PartitionRecord
from millrace.storage.record.step import FoundContent
from millrace.system.errors import Failed, Refused
from millrace.system.run import must

BLOCK = 4096
LOG_STRIPE_UNIT_MAX = 256 << 10


class Carrier(Protocol):
    """What the file system or its log is made on: an array, or a partition of an external device."""

    @property
    def device(self) -> str:
        """The name by which it is used."""
        ...

    @property
    def kind(self) -> str:
        """What it is: array, partition."""
        ...

    @property
    def title(self) -> str:
        """What an administrator knows it by."""
        ...

    def is_there(self, system: System) -> bool:
        """Whether its name leads to it now."""
        ...

    def names(self, system: System) -> set[str]:
        """Return the last parts of the paths that lead to it now."""
        ...


@dataclass(frozen=True)
class OnArray:
    """An array as the carrier of a file system."""

    record: ArrayRecord
    kind: str = "array"

    @property
    def device(self) -> str:
        """The link in /dev/md."""
        return array_path(self.record.array.name)

    @property
    def title(self) -> str:
        """RAID6 data."""
        return md.title(self.record.array)

    def is_there(self, system: System) -> bool:
        """Whether the array runs, and its link leads to it."""
        active = md.find(system, self.record.uuid)
        return active is not None and md.linked(system, self.record, active)

    def names(self, system: System) -> set[str]:
        """Return the kernel's name of the array, and its link where that leads to it."""
        active = md.find(system, self.record.uuid)
        if active is None:
            return set()
        linked = md.linked(system, self.record, active)
        return {active.device, *([array_link(self.record.array.name)] if linked else [])}


@dataclass(frozen=True)
class OnPartition:
    """A partition of an external device as the carrier of a file system."""

    serial: str
    record: PartitionRecord
    kind: str = "partition"

    @property
    def device(self) -> str:
        """The link in /dev/disk/by-partuuid."""
        return f"{BY_PARTUUID}{self.record.partuuid}"

    @property
    def title(self) -> str:
        """partition millrace-data-00 of external device S1."""
        return f"partition {self.record.label} of external device {self.serial}"

    def is_there(self, system: System) -> bool:
        """Whether the partition is there."""
        return system.partition(self.record.partuuid) is not None

    def names(self, system: System) -> set[str]:
        """Return the kernel's name of the partition, and its GUID."""
        name = system.partition(self.record.partuuid)
        return {name, self.record.partuuid} if name else set()


def carriers(drives: Sequence[DriveRecord], arrays: Sequence[ArrayRecord]) -> list[Carrier]:
    """Return what file systems can be made on: the arrays, without any the partitions."""
    if arrays:
        return [OnArray(one) for one in arrays]
    return [OnPartition(drive.serial, part) for drive in drives for part in drive.partitions]


class FilesystemStep:
    """The step that makes the file system. `uuid` was chosen before: it marks a file system of this transaction."""

    name = "filesystem"
    title = "XFS"

    def __init__(self, system: System, filesystem: Filesystem, uuid: str, carriers: Sequence[Carrier]) -> None:
        self._system = system
        self._filesystem = filesystem
        self._uuid = uuid
        self._carriers = {one.device: one for one in carriers}

    def inspect(self) -> FoundContent:
        """Read what the devices of the data and of the log hold.

        Refused: other content. Failed: a device is not the one that was created for it, or cannot be probed.
        """
        data = self._content(self._filesystem.device, "xfs", "UUID")
        log = self._filesystem.log_device is not None and self._content(
            self._filesystem.log_device, "xfs_external_log", "LOGUUID"
        )
        if not data and not log:
            return FoundContent.ABSENT
        return FoundContent.COMPLETE if data and self._finished() else FoundContent.INCOMPLETE

    def activate(self) -> None:
        """Do nothing: a file system that is not mounted needs no start."""

    def undo(self) -> None:
        """Do nothing: mkfs.xfs overwrites what it left incomplete."""

    def create(self) -> str:
        """Make the file system. Failed: mkfs.xfs fails, or its geometry differs from the plan."""
        must(
            self._system.attempt,
            mkfs_command(self._filesystem, self._uuid, force=self.inspect() is FoundContent.INCOMPLETE),
        )
        self._check_geometry()
        return f"created, {self._filesystem.allocation_groups} allocation groups"

    def _content(self, device: str, kind: str, key: str) -> bool:
        """Whether our file system (or its log) is on this device; Refused if anything else is."""
        carrier = self._carriers[device]
        if not carrier.is_there(self._system):
            raise Failed(f"{device} is not the {carrier.kind} that was made for it; nothing was written to it")
        held = signature(self._system, device)
        if held and (held.get("TYPE") != kind or held.get(key) != self._uuid):
            raise Refused(f"{carrier.title} holds {describe(held)}; it was not touched")
        return bool(held)

    def _finished(self) -> bool:
        """mkfs.xfs clears `inprogress` when everything else is on the device."""
        found = self._superblock()
        return self._expected().items() <= found.items() and not self._lacking(found)

    def _lacking(self, superblock: Mapping[str, str]) -> list[str]:
        return xfs_features.missing_in(superblock, self._filesystem.features or [])

    def _check_geometry(self) -> None:
        """mkfs.xfs corrects what it does not like with a word on its output; Failed names what it changed."""
        superblock = self._superblock()
        other = [
            f"{key} {superblock.get(key, 'missing')} instead of {value}"
            for key, value in self._expected().items()
            if superblock.get(key) != value
        ]
        other += [f"{name} is off" for name in self._lacking(superblock)]
        if other:
            raise Failed(
                f"the result of mkfs.xfs differs from the plan: {', '.join(other)} (in blocks of {BLOCK} bytes)"
            )

    def _superblock(self) -> dict[str, str]:
        log = ["-l", self._filesystem.log_device] if self._filesystem.log_device is not None else []
        result = self._system.attempt(["xfs_db", "-r", *log, "-c", "sb 0", "-c", "print", self._filesystem.device])
        return dict(line.split(" = ", 1) for line in result.out.splitlines() if " = " in line)

    def _expected(self) -> dict[str, str]:
        """The superblock of a finished file system of this plan."""
        unit, group = self._filesystem.stripe_unit // BLOCK, self._filesystem.allocation_group_size
        return {
            "uuid": self._uuid,
            "inprogress": "0",
            "blocksize": str(BLOCK),
            "sectsize": str(self._filesystem.sector),
            "unit": str(unit),
            "width": str(unit * self._filesystem.stripe_width),
            **({"agblocks": str(group // BLOCK)} if group is not None else {}),
        }


def mkfs_command(filesystem: Filesystem, uuid: str, force: bool) -> list[str]:
    """Return the mkfs.xfs command. `force` is only for what an earlier run of this transaction left incomplete."""
    # Without stripes nothing may be guessed from what a drive says about itself: reading back expects none.
    stripe = f"su={filesystem.stripe_unit},sw={filesystem.stripe_width}" if filesystem.stripe_unit else "noalign"
    groups = (
        f"agsize={filesystem.allocation_group_size}"
        if filesystem.allocation_group_size is not None
        else f"agcount={filesystem.allocation_groups}"
    )
    autofsck = [f"autofsck={filesystem.autofsck}"] if filesystem.autofsck is not None else []
    wanted = filesystem.features
    features = (
        {option: xfs_features.options(wanted, option) for option in ("-m", "-i", "-n")} if wanted is not None else {}
    )
    # nothing was tried with quota files in a directory of metadata
    metadata = [f"uuid={uuid}", *autofsck, *features.get("-m", []), *(["metadir=0"] if features else [])]
    inodes = ["-i", ",".join([f"size={xfs_features.INODE}", *features["-i"]])] if features else []
    naming = ["-n", ",".join(["version=2", *features["-n"]])] if features else []
    return [
        # The drives are blank, and md is slow with discards where it passes them on: -K saves them.
        *("mkfs.xfs", "-K", *(["-f"] if force else [])),
        *("-L", filesystem.label, "-m", ",".join(metadata), *inodes, *naming),
        *("-b", f"size={BLOCK}", "-s", f"size={filesystem.sector}"),
        *("-d", f"{stripe},{groups}"),
        *_log(filesystem),
        filesystem.device,
    ]


def _log(filesystem: Filesystem) -> list[str]:
    size = [f"size={filesystem.log_size}"] if filesystem.log_size is not None else []
    if filesystem.log_device is not None:
        return ["-l", ",".join([f"logdev={filesystem.log_device}", *size])]
    # An internal log takes the stripe unit of the data, and falls to 32 KiB without a word where that is over 256 KiB.
    # Its buffers (logbsize, a power of two) must hold whole units.
    fitting = min(filesystem.stripe_unit, LOG_STRIPE_UNIT_MAX)
    unit = [f"su={down_to_power_of_two(fitting)}"] if fitting else []
    return ["-l", ",".join([*unit, *size])] if unit or size else []
