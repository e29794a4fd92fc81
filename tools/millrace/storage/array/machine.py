# SPDX-License-Identifier: Apache-2.0
"""All that storage needs of the machine, in one place, so that tests can replace it by a simulated server."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from millrace.inventory import drives, udev
from millrace.inventory import settle as settling
from millrace.inventory.model import Inventory
from millrace.inventory.partitions import POOL_LABEL
from millrace.plan.model import Proposal
from millrace.storage.array import gpt
from millrace.storage.record.model import MemberRecord
from millrace.system import paths, sysfs
from millrace.system.errors import Failed
from millrace.system.run import Result, attempt, follow, must

DISCARD_PARAMETER = "sys/module/raid456/parameters/devices_handle_discard_safely"


@dataclass(frozen=True)
class LiveMember:
    """One member that the kernel has of an array: `slot` None is a spare, `flags` are the words of its md state."""

    name: str
    slot: int | None
    flags: frozenset[str]

    @property
    def in_sync(self) -> bool:
        """Whether it holds its part of the data: not while it is rebuilt, not beside the member that it replaces."""
        return "in_sync" in self.flags and not self.flags & {"faulty", "replacement"}


Report = Callable[[str], None]
"""Gets one line of progress."""


class System(Protocol):
    """The machine. Names are kernel names without `/dev/`; they are good until the next boot or hot-plug only."""

    def attempt(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        """Run a tool, whatever its exit status."""
        ...

    def follow(self, argv: Sequence[str], report: Report) -> Result:
        """Run a tool that takes long; `report` receives each line as it is printed. Return all of them as output."""
        ...

    def scan(self) -> Inventory:
        """Return a fresh inventory, every drive probed, once the list of drives is stable."""
        ...

    def propose(self, inventory: Inventory, layout: str | None = None) -> Proposal:
        """Plan this inventory with the policy of this server, with the chosen `layout` where there is one.

        Refused, BadInput: the policy cannot be read, or the layout is not possible any more.
        """
        ...

    def diskseq(self, name: str) -> str | None:
        """Return the kernel's number of this attachment of a disk; another disk under the same name has another."""
        ...

    def in_use(self, name: str) -> str | None:
        """Return why the block device cannot be opened exclusively; None if it can."""
        ...

    def gpt_ids(self, name: str, block: int) -> frozenset[str]:
        """Return the GUIDs in every trace of a GPT at either end of the disk; `block`: its logical block size in bytes.

        Failed: the disk cannot be read.
        """
        ...

    def partition(self, partuuid: str) -> str | None:
        """Return the partition behind /dev/disk/by-partuuid; None if there is none."""
        ...

    def md_superblocks(self) -> dict[str, str]:
        """Return partitions and drives with an md superblock, each with its array's UUID, as udev has seen them."""
        ...

    def takes_partitions(self, name: str) -> bool:
        """Whether the kernel makes partitions of a disk."""
        ...

    def pool_partitions(self) -> dict[str, str]:
        """Return the partitions with a label of a pool, each with the kind of its content, as udev has seen it."""
        ...

    def partition_size(self, name: str) -> int:
        """Return the size of a partition in bytes; 0 where it is not there."""
        ...

    def drives_starting(self, empty: bool) -> bool:
        """Whether a drive is starting; with `empty` also one that has started and shows no namespace yet."""
        ...

    def identity(self, name: str) -> MemberRecord:
        """Return drive and partition behind the kernel name of a member."""
        ...

    def md_members(self, name: str) -> list[LiveMember]:
        """Return the members that an md device has now, without those that are missing."""
        ...

    def md_kept_slots(self, name: str) -> set[int]:
        """Return the slots that md holds for in sync, also those of members that are gone: it keeps a mirror's last."""
        ...

    def md_discard(self, allowed: bool) -> None:
        """Have arrays with parity that start from now on pass discards on, or not. OSError: the kernel refuses."""
        ...

    def md_no_discard(self, name: str) -> None:
        """Have an array that runs refuse discards. OSError: it does not."""
        ...

    def md_devices(self) -> list[str]:
        """Return all md devices that the kernel has now."""
        ...

    def md_state(self, name: str) -> str:
        """Return md/array_state of an array: clear, inactive, readonly, clean, active, …"""
        ...

    def md_link(self, name: str) -> str | None:
        """Return the md device behind /dev/md/NAME; None if there is none."""
        ...

    def installed(self, tool: str) -> bool:
        """Whether a tool is on this system."""
        ...

    def now(self) -> str:
        """Return the time in UTC, to the second, ISO 8601."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait so many seconds for another part of the system."""
        ...


class Linux:
    """The machine that this runs on."""

    def attempt(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        """Run a tool without a time limit."""
        return attempt(argv, stdin)

    def follow(self, argv: Sequence[str], report: Report) -> Result:
        """Run a tool without a time limit, its standard error in the order of its output."""
        return follow(argv, report)

    def scan(self) -> Inventory:
        """Wait until the drive list is stable, then collect."""
        from millrace.inventory.collect import collect

        settling.wait_stable()
        return collect()

    def propose(self, inventory: Inventory, layout: str | None = None) -> Proposal:
        """Plan with the policy file. Refused, BadInput: it cannot be read, or the layout is not possible."""
        from millrace.plan.choices import chosen
        from millrace.plan.policy.policy_file import load_policy

        return chosen(inventory, load_policy(), layout)

    def diskseq(self, name: str) -> str | None:
        """Read `diskseq` of the disk from sysfs."""
        return sysfs.text(paths.ROOT / "sys/class/block" / name / "diskseq")

    def in_use(self, name: str) -> str | None:
        """Open the device with O_EXCL: the kernel refuses where it is mounted, or a member of an array."""
        try:
            os.close(os.open(_device(name), os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except OSError as error:
            return error.strerror or str(error)
        return None

    def gpt_ids(self, name: str, block: int) -> frozenset[str]:
        """Read both ends of the disk. Failed: the disk cannot be read."""
        try:
            return gpt.read_ids(_device(name), block)
        except OSError as error:
            raise Failed(f"{name} cannot be read ({error.strerror}); check the drive and its slot") from error

    def partition(self, partuuid: str) -> str | None:
        """Follow the link of udev."""
        return _resolved(f"dev/disk/by-partuuid/{partuuid}")

    def md_superblocks(self) -> dict[str, str]:
        """Read the database of udev for every block device."""
        found = {}
        for name in sysfs.names(paths.ROOT / "sys/class/block"):
            known = udev.properties(paths.ROOT, paths.ROOT / "sys/class/block" / name)
            if known.get("ID_FS_TYPE") == udev.MD_MEMBER:
                found[name] = known.get("ID_FS_UUID", "")
        return found

    def takes_partitions(self, name: str) -> bool:
        """Read `ext_range`: 1 for a disk without any (block/genhd.c, GENHD_FL_NO_PART)."""
        return sysfs.text(paths.ROOT / "sys/class/block" / name / "ext_range") != "1"

    def pool_partitions(self) -> dict[str, str]:
        """Read the labels from sysfs and the contents from the database of udev."""
        found = {}
        for name in sysfs.names(paths.ROOT / "sys/class/block"):
            directory = paths.ROOT / "sys/class/block" / name
            if POOL_LABEL.fullmatch(sysfs.uevent(directory).get("PARTNAME", "")):
                found[name] = udev.properties(paths.ROOT, directory).get("ID_FS_TYPE", "")
        return found

    def partition_size(self, name: str) -> int:
        """Read sysfs."""
        return drives.size(paths.ROOT / "sys/class/block" / name)

    def drives_starting(self, empty: bool) -> bool:
        """Read the states of the NVMe controllers from sysfs."""
        return settling.starting(paths.ROOT, empty)

    def identity(self, name: str) -> MemberRecord:
        """Read sysfs and the database of udev; the kernel name stands for a serial that is missing."""
        directory = (paths.ROOT / "sys/class/block" / name).resolve()
        partition = (directory / "partition").exists()
        drive = drives.identify(directory.parent if partition else directory)
        kernel = sysfs.uevent(directory) if partition else {}
        return MemberRecord(
            serial=drive.serial or name,
            wwid=drive.wwid,
            partuuid=kernel.get("PARTUUID", "").lower(),
            label=kernel.get("PARTNAME", ""),
        )

    def md_members(self, name: str) -> list[LiveMember]:
        """Read the `dev-*` directories of the array in sysfs."""
        # the last member of a mirror stays when its drive is pulled; the link to the drive leads nowhere then
        return [member for entry, member in _md_entries(name) if (entry / "block").exists()]

    def md_kept_slots(self, name: str) -> set[int]:
        """Read them without regard to the links to the drives."""
        return {one.slot for _, one in _md_entries(name) if one.in_sync and one.slot is not None}

    def md_discard(self, allowed: bool) -> None:
        """Write the parameter of raid456. OSError: the kernel refuses, or the module is not loaded."""
        sysfs.write(paths.ROOT / DISCARD_PARAMETER, "Y" if allowed else "N")

    def md_no_discard(self, name: str) -> None:
        """Write 0 to queue/discard_max_bytes. OSError: the kernel refuses, or has another value after that."""
        limit = paths.ROOT / "sys/block" / name / "queue/discard_max_bytes"
        sysfs.write(limit, "0")
        if (now := sysfs.text(limit)) != "0":
            raise OSError(f"discard_max_bytes is {now}")

    def md_devices(self) -> list[str]:
        """List the block devices of sysfs that have an md directory."""
        blocks = (paths.ROOT / "sys/block").glob("md*")
        return sorted(block.name for block in blocks if (block / "md").is_dir())

    def md_state(self, name: str) -> str:
        """Read md/array_state; `clear` where the array does not exist."""
        return sysfs.text(paths.ROOT / "sys/block" / name / "md/array_state") or "clear"

    def md_link(self, name: str) -> str | None:
        """Follow the link in /dev/md."""
        return _resolved(f"dev/md/{name}")

    def installed(self, tool: str) -> bool:
        """Search PATH for the tool."""
        return shutil.which(tool) is not None

    def now(self) -> str:
        """Read the clock, in UTC, to the second."""
        return datetime.now(UTC).isoformat(timespec="seconds")

    def wait(self, seconds: float) -> None:
        """Sleep so many seconds."""
        time.sleep(seconds)


def settle(system: System) -> None:
    """Let udev finish, so that /dev/disk/by-partuuid and /dev/md show what is on the drives. Failed: it times out."""
    must(system.attempt, ["udevadm", "settle", "--timeout=120"])


def _md_entries(name: str) -> Iterator[tuple[Path, LiveMember]]:
    md = paths.ROOT / "sys/block" / name / "md"
    for entry in (md / member for member in sysfs.names(md) if member.startswith("dev-")):
        flags = frozenset((sysfs.text(entry / "state") or "").split(","))
        yield entry, LiveMember(entry.name.removeprefix("dev-"), sysfs.number(entry / "slot"), flags)


def _device(name: str) -> Path:
    return paths.ROOT / "dev" / name


def _resolved(relative: str) -> str | None:
    link = paths.ROOT / relative
    return link.resolve().name if link.exists() else None
