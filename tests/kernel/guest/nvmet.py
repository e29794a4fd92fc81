# SPDX-License-Identifier: Apache-2.0
"""Who reads a volume: hosts that know their secret, and a host that only knows their name."""

import contextlib
import mmap
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from host.perf.guest import drives
from host.perf.guest.shell import run, write
from tests.kernel.guest.nvme_tcp import Queue, Target

CONFIG = Path("/sys/kernel/config/nvmet")
SUBSYSTEM = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-000000000001"
NAMED = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
# DHHC-1:00 of 32 zero bytes with their CRC-32
SECRET = "DHHC-1:00:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACtVQoZ:"
PORT, BLOCK = 4420, 4096
CONTENT = b"what nobody reads without the secret".ljust(BLOCK, b".")
TARGET = Target("127.0.0.1", PORT, SUBSYSTEM, NAMED)
DRIVE = 90
"""A number that no drive of an array has."""


@contextlib.contextmanager
def target() -> Iterator[Path]:
    """Serve a drive made of memory over TCP to the named host; yield its directory in configfs."""
    for module in ("null_blk", "nvmet-tcp", "nvme-tcp"):
        run("modprobe", module)
    run("ip", "link", "set", "lo", "up")
    name = drives.make(DRIVE, drives.Model(1, 16, 0, 0, 0))
    with open(f"/dev/{name}", "r+b", buffering=0) as device:
        device.write(CONTENT)
        os.fsync(device)
    subsystem, host, port = CONFIG / "subsystems" / SUBSYSTEM, CONFIG / "hosts" / NAMED, CONFIG / "ports/1"
    namespace = subsystem / "namespaces/1"
    for directory in (subsystem, host, port, namespace):
        directory.mkdir()
    write(namespace / "device_path", f"/dev/{name}")
    write(namespace / "enable", 1)
    for attribute, value in {"trtype": "tcp", "adrfam": "ipv4", "traddr": "127.0.0.1", "trsvcid": PORT}.items():
        write(port / f"addr_{attribute}", value)
    (subsystem / "allowed_hosts" / NAMED).symlink_to(host)
    (port / "subsystems" / SUBSYSTEM).symlink_to(subsystem)
    try:
        yield host
    finally:
        (port / "subsystems" / SUBSYSTEM).unlink()
        (subsystem / "allowed_hosts" / NAMED).unlink()
        write(namespace / "enable", 0)
        for directory in (namespace, port, subsystem, host):
            directory.rmdir()
        write(drives.CONFIG / name / "power", 0)
        (drives.CONFIG / name).rmdir()


def cases() -> Iterator[dict[str, Any]]:
    """Yield what each host gets: the statuses of its queues (0: success), and whether it got the content."""
    with target() as host:
        yield {"case": "no secret is set", **own_controller()}
        write(host / "dhchap_key", SECRET)
        yield {"case": "without the secret", **own_controller()}
        with connected(f",dhchap_secret={SECRET}") as controller:
            yield {"case": "with the secret", "got": content_of(controller), "queues": queues_of(controller)}
            number = int((controller / "cntlid").read_text())
            yield {"case": "a queue of another's controller", **queue_of(number)}
            yield {"case": "with the secret, beside it", "got": content_of(controller)}


def own_controller() -> dict[str, Any]:
    """Connect a controller and one of its I/O queues; never authenticate."""
    admin = Queue(TARGET, 0)
    try:
        enabled, identified = admin.enable(), admin.identify()
        return {"enabled": enabled, "identified": identified, **queue_of(admin.result & 0xFFFF)}
    finally:
        admin.close()


def queue_of(controller: int) -> dict[str, Any]:
    """Connect an I/O queue of a controller and read."""
    queue = Queue(TARGET, 1 if controller == 0 else 2, controller)
    try:
        if queue.status:
            return {"connected": queue.status, "read": None, "got": False}
        status, data = queue.read(BLOCK)
        return {"connected": 0, "read": status, "got": data == CONTENT}
    finally:
        queue.close()


@contextlib.contextmanager
def connected(options: str) -> Iterator[Path]:
    """Connect by the kernel's own host; yield its controller in sysfs."""
    before = {*Path("/sys/class/nvme").glob("nvme*")}
    line = (
        f"transport=tcp,traddr=127.0.0.1,trsvcid={PORT},nqn={SUBSYSTEM},hostnqn={NAMED},"
        f"hostid={NAMED.rpartition(':')[2]},nr_io_queues=1{options}"
    )
    Path("/dev/nvme-fabrics").write_text(line)
    (controller,) = {*Path("/sys/class/nvme").glob("nvme*")} - before
    try:
        yield controller
    finally:
        write(controller / "delete_controller", 1)


def queues_of(controller: Path) -> int:
    """Return the number of queues, the admin queue among them."""
    return int((controller / "queue_count").read_text())


def content_of(controller: Path) -> bool:
    """Whether the first block of the namespace is read past the cache, and right."""
    number = controller.name.removeprefix("nvme")
    device, end = Path(f"/dev/nvme{number}n1"), time.monotonic() + 60
    while not device.is_block_device():
        if time.monotonic() > end:
            raise RuntimeError(f"{device} did not come")
        time.sleep(0.1)
    descriptor = os.open(device, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, BLOCK) as memory:
            os.preadv(descriptor, [memory], 0)
            return memory[:] == CONTENT
    finally:
        os.close(descriptor)
