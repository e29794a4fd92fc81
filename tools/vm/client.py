# SPDX-License-Identifier: Apache-2.0
"""The test client: its kernel started directly, its disk discarded, its NICs on the server's cables."""

import ipaddress
from collections.abc import Sequence
from pathlib import Path

from vm import guest
from vm.accel import Accel
from vm.appliance import patience
from vm.machine import Machine
from vm.qemu import MACHINE, Files, Options, platform, smbios

MEMORY = "2G"
# one: emulated CPUs would only take turns with the server's
CPUS = 1
NAME = "client"
# root is the only partition of the image; a direct boot has no loader that could say which disk it came from
CMDLINE = ("root=/dev/vda1", "rw", "console=ttyS0,115200", "systemd.firstboot=no")


def client_command(images: Path, links: Sequence[str], accel: Accel, files: Files) -> list[str]:
    """Return the command line of the client VM, whose image is in the directory `images`."""
    argv = platform(accel, files, no_reboot=True)
    argv += ["-machine", MACHINE, "-name", NAME, "-smp", str(CPUS), "-m", MEMORY]
    argv += ["-kernel", str(images / "client.vmlinuz"), "-initrd", str(images / "client.initrd")]
    argv += ["-append", " ".join([*CMDLINE, *guest.cmdline(), *patience(accel)])]
    argv += ["-drive", f"if=none,id=root,file={images / 'client.raw'},format=raw,snapshot=on"]
    argv += ["-device", "virtio-blk-pci,bus=pcie.0,drive=root"]
    for number, link in enumerate(links):
        kind, _, rest = link.partition(",")
        argv += ["-netdev", f"{kind},id=data{number},{rest}"]
        mac = f"52:54:00:4d:02:{number:02x}"
        argv += ["-device", f"virtio-net-pci,bus=pcie.0,netdev=data{number},mac={mac},romfile="]
    return [*argv, *smbios(Options(credentials=guest.credentials()))]


def client(images: Path, directory: Path, links: Sequence[str], accel: Accel) -> Machine:
    """Return the client VM; nothing it writes is kept."""
    return Machine(NAME, directory, accel, lambda files: client_command(images, links, accel, files))


def data_nics(machine: Machine) -> list[str]:
    """Return the kernel's names of a VM's data NICs, in the order of its cables."""
    line = "grep -H . /sys/class/net/*/address"
    names: dict[str, str] = {}
    for entry in machine.run(line).out.split():
        path, _, mac = entry.partition(":")
        names[mac] = path.split("/")[4]
    return [names[mac] for mac in sorted(names) if mac.startswith(("52:54:00:4d:01", "52:54:00:4d:02"))]


def give_addresses(machine: Machine, addresses: Sequence[str], mtu: int) -> list[str]:
    """Give the data NICs fixed addresses ("10.1.0.2/24") in the order of the cables; return the NICs' names.

    `mtu` in bytes is that of the server's ports.
    """
    names = data_nics(machine)
    for name, address in zip(names, addresses, strict=True):
        ipaddress.ip_interface(address)
        machine.run(f"ip link set {name} mtu {mtu} up && ip address replace {address} dev {name}")
    return names
