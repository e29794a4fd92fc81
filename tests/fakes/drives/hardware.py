# SPDX-License-Identifier: Apache-2.0
"""Drives, their partitions and the arrays over them, with a mains switch."""

from typing import Any

from tests.fakes.drives.disks import Content, Disk, Running

BY_PARTUUID = "/dev/disk/by-partuuid/"


class PowerCut(BaseException):
    """Nobody catches this."""


class Hardware:
    """`writable` are the serials that may be written; `cut_at` is the moment at which the power goes."""

    def __init__(self, disks: list[Disk], writable: set[str]) -> None:
        self.disks = disks
        self.writable = writable
        self.arrays: dict[str, Running] = {}
        self.on_arrays: dict[str, Content] = {}
        self.writes: list[list[str]] = []
        self.cut_at: int | None = None
        self.moment = 0
        self.boots = 0
        self.names: dict[str, Disk] = {}
        self.boot()

    def boot(self) -> None:
        """Give the kernel names in another order; nothing is assembled."""
        self.boots += 1
        turn = self.boots % max(len(self.disks), 1)
        self.names = {f"nvme{n}n1": disk for n, disk in enumerate([*self.disks[turn:], *self.disks[:turn]])}
        self.arrays = {}
        for disk in self.disks:
            if disk.table:
                entries: Any = disk.table["partitions"]
                disk.sizes = {entry["uuid"].lower(): entry["size"] * disk.block for entry in entries}
        self.cut_at, self.moment = None, 0

    def tick(self) -> None:
        """A moment at which the power may go."""
        self.moment += 1
        if self.moment == self.cut_at:
            raise PowerCut

    def writing(self, command: list[str], *targets: str) -> None:
        self.writes.append(command)
        for target in targets:
            serials = self.serials(target)
            assert serials <= self.writable, f"{command} writes to {serials - self.writable}"

    def serials(self, target: str) -> set[str]:
        if target.startswith("/dev/md"):
            array = self.running(target)
            return {serial for member in array.members for serial in self.serials(member)}
        if target.startswith(BY_PARTUUID):
            return {disk.serial for disk in self.disks if target.removeprefix(BY_PARTUUID) in disk.inside}
        return {self.place(target.removeprefix("/dev/"))[0].serial} if target.startswith("/dev/") else {target}

    def content(self, device: str) -> Content | None:
        if device.startswith("/dev/md"):
            return self.on_arrays.setdefault(self.running(device).uuid, {})
        if device.startswith(BY_PARTUUID):
            uuid = device.removeprefix(BY_PARTUUID)
            return next((disk.inside[uuid] for disk in self.names.values() if disk.table and uuid in disk.inside), None)
        if (name := device.removeprefix("/dev/")) not in self.block_devices():
            return None
        disk, partuuid = self.place(name)
        return disk.whole if partuuid is None else disk.inside[partuuid]

    def block_devices(self) -> list[str]:
        """Whole drives and their partitions, by kernel name."""
        parts = [
            f"{name}p{number}"
            for name, disk in self.names.items()
            if disk.table
            for number in range(1, len(disk.inside) + 1)
        ]
        return [*self.names, *parts]

    def place(self, name: str) -> tuple[Disk, str | None]:
        """The disk and, of a partition, its GUID."""
        drive, _, number = name.partition("p")
        disk = self.names[drive]
        return disk, [*disk.inside][int(number) - 1] if number else None

    def partition(self, partuuid: str) -> str | None:
        hits = [(name, disk) for name, disk in self.names.items() if disk.table and partuuid in disk.inside]
        return f"{hits[0][0]}p{[*hits[0][1].inside].index(partuuid) + 1}" if hits else None

    def md_link(self, name: str) -> str | None:
        return next((device for device, array in self.arrays.items() if array.name == name), None)

    def name_of(self, device: str) -> str:
        """The kernel's name of a device, by whatever name mdadm was given it."""
        if device.startswith(BY_PARTUUID):
            return self.partition(device.removeprefix(BY_PARTUUID)) or device
        if device.startswith("/dev/md/"):
            return self.md_link(device.removeprefix("/dev/md/")) or device
        return device.removeprefix("/dev/")

    def running(self, device: str) -> Running:
        name = device.removeprefix("/dev/md/")
        return next(a for d, a in self.arrays.items() if name in (a.name, f"/dev/{d}"))

    def disk(self, device: str) -> Disk:
        return self.names[device.removeprefix("/dev/")]
