# SPDX-License-Identifier: Apache-2.0
"""A server made of files: sysfs and procfs as the kernel shows them, with the drives' content as sparse images."""

import os
from collections.abc import Sequence
from pathlib import Path

from millrace.system.run import Result
from tests.fakes.commands import GOOD, UnknownCommand

SECTOR = 512
NUMA_UNKNOWN = -1


class Tree:
    """Builds what `collect` reads below one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._minor = 0
        for directory in ("sys/block", "sys/class/block", "sys/class/net", "sys/class/nvme", "sys/dev/block", "dev"):
            (root / directory).mkdir(parents=True)
        self.write("proc/sys/kernel/osrelease", "7.2.12+deb14-amd64\n")
        self.write("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")
        self.write("proc/1/mountinfo", "")
        self.memory(8 << 20)

    def write(self, path: str | Path, text: str) -> None:
        """Write a file below the root."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def memory(self, kib: int) -> None:
        """Size of the memory."""
        self.write("proc/meminfo", f"MemTotal:       {kib} kB\nMemFree:         1000 kB\n")

    def cpus(self, *nodes: tuple[str, list[str]]) -> None:
        """NUMA nodes: the CPU list of each, and the thread siblings of each of its CPUs."""
        self.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 9554P 64-Core Processor\n")
        cpu = 0
        for number, (cpulist, siblings) in enumerate(nodes):
            self.write(f"sys/devices/system/node/node{number}/cpulist", cpulist + "\n")
            self.write(f"sys/devices/system/node/node{number}/meminfo", f"Node {number} MemTotal:   4194304 kB\n")
            for shared in siblings:
                topology = f"sys/devices/system/cpu/cpu{cpu}/topology"
                self.write(f"{topology}/thread_siblings_list", shared + "\n")
                self.write(f"{topology}/physical_package_id", f"{number}\n")
                cpu += 1

    def nvme(self, number: int, serial: str, **more: str | int) -> str:
        """An NVMe drive behind a root port; `more` replaces attributes of drive and PCI function. Returns its name."""
        address = f"0000:{number + 1:02x}:00.0"
        function = self.root / f"sys/devices/pci0000:00/0000:00:{number:02x}.0/{address}"
        self._pci(function, int(more.get("numa_node", 0)))
        controller = function / f"nvme/nvme{number}"
        for attribute in ("transport", "serial", "model", "firmware_rev", "state"):
            default = {"transport": "pcie", "serial": f"{serial:20}", "model": "ACME 7T68", "firmware_rev": "1.0"}
            self.write(controller / attribute, f"{more.get(attribute, default.get(attribute, 'live'))}\n")
        (self.root / f"sys/class/nvme/nvme{number}").symlink_to(_relative(controller, self.root / "sys/class/nvme"))
        name = f"nvme{number}n1"
        disk = controller / name
        self.disk(disk, int(more.get("size", 64 << 20)))
        (disk / "device").symlink_to("..")
        self.write(disk / "wwid", f"{more.get('wwid', f'eui.{serial}')}\n")
        return name

    def multipath(self, number: int, serial: str) -> str:
        """A drive with two ports: its block device hangs off a subsystem, each path has a hidden one."""
        controller = self.root / f"sys/devices/pci0000:00/0000:00:1f.0/0000:ff:00.0/nvme/nvme{number}"
        self._pci(controller.parent.parent, 1)
        self.write(controller / "transport", "pcie\n")
        self.write(controller / "serial", serial + "\n")
        self.write(controller / "model", "ACME dual port\n")
        hidden = controller / f"nvme{number}c{number}n1"
        self.disk(hidden, 64 << 20)
        self.write(hidden / "hidden", "1\n")
        subsystem = self.root / f"sys/devices/virtual/nvme-subsystem/nvme-subsys{number}"
        subsystem.mkdir(parents=True)
        (subsystem / f"nvme{number}").symlink_to(_relative(controller, subsystem))
        disk = subsystem / f"nvme{number}n1"
        self.disk(disk, 64 << 20)
        (disk / "device").symlink_to("..")
        self.write(disk / "wwid", f"eui.{serial}\n")
        return disk.name

    def scsi(self, name: str, serial: str, path: str, removable: bool) -> str:
        """A SCSI disk; `path` is where it hangs below sys/devices (usb1/…, ata1/…)."""
        device = self.root / f"sys/devices/pci0000:00/0000:00:14.0/{path}/host0/target0:0:0/0:0:0:0"
        for attribute, value in (("vendor", "SanDisk "), ("model", "Ultra           "), ("rev", "1.00")):
            self.write(device / attribute, value + "\n")
        (device / "vpd_pg80").write_bytes(b"\x00\x80\x00" + bytes([len(serial)]) + serial.encode())
        self.disk(device / f"block/{name}", 32 << 20)
        (device / f"block/{name}/device").symlink_to("../..")
        self.write(device / f"block/{name}/removable", "1\n" if removable else "0\n")
        return name

    def virtio(self, name: str, serial: str = "") -> Path:
        """A virtio disk, as a virtual server boots from. Returns its directory."""
        device = self.root / "sys/devices/pci0000:00/0000:00:02.0/virtio0"
        disk = device / f"block/{name}"
        self.disk(disk, 64 << 20)
        (disk / "device").symlink_to("../..")
        self.write(disk / "serial", serial)
        return disk

    def partition(self, disk: str, number: int, label: str = "", partuuid: str = "") -> str:
        """A partition of a drive. Returns its name."""
        directory = (self.root / "sys/block" / disk).resolve()
        name = f"{disk}p{number}" if disk[-1].isdigit() else f"{disk}{number}"
        self.write(directory / name / "partition", f"{number}\n")
        self.write(directory / name / "uevent", f"DEVTYPE=partition\nPARTNAME={label}\nPARTUUID={partuuid}\n")
        self._numbered(directory / name)
        with (self.root / "dev" / name).open("wb") as file:
            file.truncate(1 << 20)
        return name

    def over(self, name: str, *slaves: str) -> str:
        """A device-mapper or md device over others. Returns its device number."""
        directory = self.root / f"sys/devices/virtual/block/{name}"
        for slave in slaves:
            below = (self.root / "sys/class/block" / slave).resolve()
            for link, target in ((directory / "slaves" / slave, below), (below / "holders" / name, directory)):
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(_relative(target, link.parent))
        (self.root / "sys/block" / name).symlink_to(_relative(directory, self.root / "sys/block"))
        return self._numbered(directory)

    def mount(self, device: str, point: str, kind: str = "ext4", source: str = "/dev/root") -> None:
        """Mount a device number somewhere."""
        path = self.root / "proc/1/mountinfo"
        path.write_text(path.read_text() + f"29 1 {device} / {point} rw,noatime shared:1 - {kind} {source} rw\n")

    def number_of(self, name: str) -> str:
        """major:minor of a block device."""
        return (self.root / "sys/class/block" / name / "dev").read_text().strip()

    def nic(self, name: str, **attributes: str) -> Path:
        """A network port with four receive queues. Returns the directory of its PCI function."""
        function = self.root / "sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0"
        self._pci(function, 1)
        port = function / "net" / name
        for attribute, value in attributes.items():
            self.write(port / attribute, value + "\n")
        for queue in ("rx-0", "rx-1", "rx-2", "rx-3", "tx-0"):
            (port / "queues" / queue).mkdir(parents=True)
        (port / "device").symlink_to("../..")
        driver = self.root / "sys/bus/pci/drivers/mlx5_core"
        driver.mkdir(parents=True, exist_ok=True)
        (function / "driver").symlink_to(_relative(driver, function))
        (self.root / "sys/class/net" / name).symlink_to(_relative(port, self.root / "sys/class/net"))
        return function

    def disk(self, directory: Path, size: int) -> None:
        """A whole drive with a blank image as its device node."""
        self.write(directory / "size", f"{size // SECTOR}\n")
        self.write(directory / "queue/logical_block_size", "512\n")
        self.write(directory / "queue/physical_block_size", "4096\n")
        self.write(directory / "queue/rotational", "0\n")
        self.write(directory / "removable", "0\n")
        (self.root / "sys/block" / directory.name).symlink_to(_relative(directory, self.root / "sys/block"))
        self._numbered(directory)
        with (self.root / "dev" / directory.name).open("wb") as file:
            file.truncate(size)

    def _numbered(self, directory: Path) -> str:
        self._minor += 1
        number = f"259:{self._minor}"
        self.write(directory / "dev", number + "\n")
        for link in (self.root / "sys/class/block" / directory.name, self.root / "sys/dev/block" / number):
            link.symlink_to(_relative(directory, link.parent))
        return number

    def _pci(self, function: Path, node: int) -> None:
        attributes = {"current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe"}
        for attribute, value in {**attributes, "current_link_width": "4", "max_link_width": "4"}.items():
            self.write(function / attribute, value + "\n")
        self.write(function / "numa_node", f"{node}\n")


def _relative(target: Path, start: Path) -> str:
    return os.path.relpath(target, start)


def nothing_found(argv: Sequence[str]) -> Result:
    """Tools that find every drive blank, as recorded, and know nothing of the hardware."""
    match list(argv):
        case ["blkid", "-p", "-o", "export", _]:
            return Result(2, "", "")
        case ["wipefs", "--no-act", "--json", _]:
            return Result(0, '{\n   "signatures": [\n\n   ]\n}\n', "")
        case ["mdadm", "--examine", drive]:
            return Result(1, "", f"mdadm: No md superblock detected on {drive}.\n")
        case ["nvme", "id-ns" | "id-ctrl" | "smart-log", _, "--output-format=json"]:
            return GOOD
        case ["ethtool", "-i", _] | ["udevadm", "settle", _]:
            return GOOD
    raise UnknownCommand(argv)


def booted(root: Path) -> Tree:
    """A server that booted from vda: verity /usr, root, ESP."""
    tree = Tree(root)
    tree.virtio("vda")
    for number, label in enumerate(("esp", "millrace_0.1_verity", "millrace_0.1", "millrace-root"), 1):
        tree.partition("vda", number, label, partuuid=f"0000000{number}-0000-4000-8000-000000000000")
    tree.mount(tree.number_of("vda4"), "/")
    tree.mount(tree.over("dm-0", "vda2", "vda3"), "/usr", "erofs", "/dev/mapper/usr")
    return tree
