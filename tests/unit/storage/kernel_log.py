# SPDX-License-Identifier: Apache-2.0
"""Arrays in sysfs, and what the kernel logs of their members."""

import os
import socket
from pathlib import Path

import pytest

from millrace.storage.assemble import failures

UUID = "1b55a454-5ae3-4661-903d-f5ac6d219372"
SAME = "1b55a454:5ae34661:903df5ac:6d219372"


@pytest.fixture
def array(root: Path) -> Path:
    """An array of four partitions, and one of whole drives without our name."""
    (root / "proc/sys/kernel/random").mkdir(parents=True)
    (root / "proc/sys/kernel/random/boot_id").write_text("boot-1\n")
    md = root / "sys/block/md127/md"
    for number in range(4):
        (md / f"dev-nvme{number}n1p1").mkdir(parents=True)
        partition = root / f"sys/class/block/nvme{number}n1p1"
        partition.mkdir(parents=True)
        (partition / "uevent").write_text(f"DEVTYPE=partition\nPARTUUID=GUID-{number}\n")
        appeared(root, f"nvme{number}n1p1", f"259:{number}", 2.0)
    (md / "uuid").write_text(f"{UUID}\n")
    appeared(root, "md127", "9:127", 8.0)
    return md


def appeared(root: Path, name: str, device: str, seconds: float) -> None:
    """What the kernel and udev have of a device that came so many seconds after the boot."""
    entry = root / "sys/class/block" / name
    entry.mkdir(parents=True, exist_ok=True)
    (entry / "dev").write_text(f"{device}\n")
    data = root / "run/udev/data"
    data.mkdir(parents=True, exist_ok=True)
    (data / f"b{device}").write_text(
        f"S:disk/by-id/x\nI:{int(seconds * 1e6)}\nE:ID_FS_TYPE=linux_raid_member\nG:systemd\n"
    )


def gone(root: Path, number: int) -> None:
    """What is no more when a drive was pulled."""
    (root / f"sys/class/block/nvme{number}n1p1/uevent").unlink()
    (root / f"sys/class/block/nvme{number}n1p1/dev").unlink()
    (root / f"run/udev/data/b259:{number}").unlink()


def failed(number: int) -> str:
    return f"md/raid:md127: Disk failure on nvme{number}n1p1, disabling device."


def goes_on(left: int) -> str:
    return f"md/raid:md127: Operation continuing on {left} devices."


def broke(lost: int) -> str:
    return f"md/raid:md127: Cannot continue operation ({lost}/4 failed)."


def log(*lines: str, begin: int = 0) -> int:
    """The kernel's log with these messages, one for each read, and its end."""
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for number, line in enumerate(lines, start=begin):
        kernel.send(f"2,{number},{1_000_000_000 + 1000 * number},-;{line}\n SUBSYSTEM=block\n".encode())
    kernel.close()
    return ours.detach()


def main(log: int) -> None:
    """Follow a log to its end, and close it."""
    try:
        failures.main(log)
    finally:
        os.close(log)
