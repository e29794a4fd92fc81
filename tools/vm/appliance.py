# SPDX-License-Identifier: Apache-2.0
"""The built image, unmodified, in a virtual server."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from vm import agent, disks, link
from vm.accel import Accel
from vm.machine import Machine
from vm.qemu import Files, Options, server_command
from vm.server import Server

# Emulation is slow and uneven: what a real server does in seconds may take minutes.
PATIENCE = (
    "systemd.default_timeout_start_sec=900",
    "systemd.default_device_timeout_sec=600",
    "watchdog_thresh=60",
)


def appliance(
    server: Server,
    image: Path,
    directory: Path,
    accel: Accel,
    *,
    credentials: Mapping[str, bytes] | None = None,
    cmdline: Sequence[str] = (),
    forwards: Mapping[int, int] | None = None,
    links: Sequence[str] | None = None,
    no_reboot: bool = True,
) -> Machine:
    """Return a machine that boots `image` as `server`, with its disks in `directory`.

    `credentials` are systemd system credentials by name. `forwards` maps the guest's TCP ports to ports on loopback.
    `links` are the data NICs' netdev backends (vm.link); without them each NIC has a network of its own.
    """
    options = Options(
        credentials={**agent.credentials(), **(credentials or {})},
        cmdline=[*agent.cmdline(), *(PATIENCE if accel.name == "tcg" else ()), *cmdline],
        forwards=forwards or {},
        links=links if links is not None else link.outside(len(server.nics)),
        no_reboot=no_reboot,
    )

    def command(files: Files) -> list[str]:
        disks.make(server, image, files)
        return server_command(server, accel, files, options)

    return Machine(server.name, directory, accel, command)


def bay(server: Server, serial: str) -> int:
    """Return the bay of a drive: QEMU's devices are `nvme<bay>` on `bay<bay>`, with block node `drive<bay>`."""
    return [drive.serial for drive in server.drives].index(serial)


def pull(machine: Machine, server: Server, serial: str) -> None:
    """Pull a drive while the machine runs and wait until the guest let it go."""
    number = bay(server, serial)
    machine.qmp("device_del", id=f"nvme{number}")
    gone = f"! grep -qs {serial} /sys/class/nvme/*/serial"
    machine.wait_command(gone, f"drive {serial} to be gone", seconds=120)
