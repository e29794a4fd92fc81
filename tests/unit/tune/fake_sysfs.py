# SPDX-License-Identifier: Apache-2.0
"""A sysfs of arrays over partitions of NVMe drives, with the kernel's way of printing settings."""

from pathlib import Path

import pytest


def add_drive(root: Path, name: str) -> None:
    queue = root / "sys/devices" / name / "queue"
    queue.mkdir(parents=True)
    (queue / "scheduler").write_text("none [mq-deadline] kyber\n")
    (queue / "wbt_lat_usec").write_text("2000\n")
    add_partition(root, name)


def add_drive_with_paths(root: Path, name: str, *ways: str) -> None:
    """A drive that could have a second port: its paths queue its requests."""
    (root / "sys/devices" / name / "queue").mkdir(parents=True)
    for way in ways:
        queue = root / "sys/devices" / way / "queue"
        queue.mkdir(parents=True)
        (queue / "scheduler").write_text("none [mq-deadline] kyber\n")
        (queue / "wbt_lat_usec").write_text("2000\n")
        _link(root / "sys/class/block" / way, queue.parent)
    add_partition(root, name)


def add_partition(root: Path, name: str) -> None:
    partition = root / "sys/devices" / name / f"{name}p1"
    partition.mkdir()
    (partition / "partition").write_text("1\n")
    for directory in (partition.parent, partition):
        _link(root / "sys/class/block" / directory.name, directory)


def add_array(root: Path, name: str, device: str, members: list[str], parity: bool) -> None:
    directory = root / "sys/devices/virtual" / device
    (directory / "md").mkdir(parents=True)
    (directory / "queue").mkdir()
    (directory / "slaves").mkdir()
    (directory / "queue/read_ahead_kb").write_text("4096\n")
    if parity:
        (directory / "md/group_thread_cnt").write_text("0\n")
        (directory / "md/stripe_cache_size").write_text("256\n")
        (directory / "md/sync_speed_max").write_text("200000 (system)\n")
        (directory / "md/sync_io_depth").write_text("32 (system)\n")
    _link(root / "sys/class/block" / device, directory)
    for member in members:
        _link(directory / "slaves" / member, root / "sys/class/block" / member)
    _link(root / f"dev/md/millrace-{name}", root / "dev" / device)


def add_member(root: Path, array: str, member: str, state: str = "in_sync", slot: str = "0") -> Path:
    """A member as md lists it; returns its directory."""
    directory = root / "sys/devices/virtual" / array / "md" / f"dev-{member}"
    directory.mkdir()
    for name, text in (("state", state), ("slot", slot), ("errors", "0"), ("bad_blocks", "")):
        (directory / name).write_text(f"{text}\n" if text else "")
    return directory


def add_serial(root: Path, drive: str, serial: str) -> None:
    """What an NVMe drive says that it is called; it is seen as a drive then."""
    controller = root / "sys/devices/ctl" / drive
    controller.mkdir(parents=True)
    for name, text in (("transport", "pcie"), ("serial", serial), ("model", "Fast"), ("firmware_rev", "1")):
        (controller / name).write_text(f"{text}\n")
    directory = root / "sys/devices" / drive
    (directory / "device").symlink_to(controller)
    (directory / "size").write_text("15002931888\n")
    _link(root / "sys/block" / drive, directory)


def add_sysctl(root: Path, key: str, text: str) -> None:
    path = root / "proc/sys" / key.replace(".", "/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add_nfsd(root: Path, threads: int, listeners: list[str]) -> None:
    directory = root / "proc/fs/nfsd"
    directory.mkdir(parents=True)
    (directory / "threads").write_text(f"{threads}\n")
    (directory / "portlist").write_text("".join(f"{one}\n" for one in listeners))


def add_nfsd_io_modes(root: Path, patch: pytest.MonkeyPatch) -> None:
    """The files of debugfs as the kernel begins with them; a write has the effect that fs/nfsd/debugfs.c gives it."""
    directory = root / "sys/kernel/debug/nfsd"
    directory.mkdir(parents=True)
    read, spliced = directory / "io_cache_read", directory / "disable-splice-read"
    for file in (read, spliced, directory / "io_cache_write"):
        file.write_text("0\n")
    write = Path.write_text

    def write_text(self: Path, data: str, *more: object, **options: object) -> int:
        if self == read and data.strip() != "0":
            write(spliced, "1\n")
        if self == spliced and data.strip() == "0":
            write(read, "0\n")
        return write(self, data)

    patch.setattr(Path, "write_text", write_text)


def add_node(root: Path, number: int, cpus: str) -> None:
    directory = root / f"sys/devices/system/node/node{number}"
    directory.mkdir(parents=True)
    (directory / "cpulist").write_text(f"{cpus}\n")


def add_nfsd_threads(root: Path, *allowed: str, parent: int = 2, first: int = 100) -> None:
    """Kernel threads, each with the CPUs that it may run on."""
    for number, cpus in enumerate(allowed, first):
        directory = root / f"proc/{number}"
        directory.mkdir(parents=True)
        (directory / "comm").write_text("nfsd\n")
        status = f"Name:\tnfsd\nPid:\t{number}\nPPid:\t{parent}\nCpus_allowed:\tff\nCpus_allowed_list:\t{cpus}\n"
        (directory / "status").write_text(status)


def add_rdma_device(root: Path) -> None:
    (root / "sys/class/infiniband/rxe0").mkdir(parents=True)


def _link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
