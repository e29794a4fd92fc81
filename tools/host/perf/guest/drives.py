# SPDX-License-Identifier: Apache-2.0
"""Drives that are made of memory: null_blk devices with one latency and one bandwidth, and their counters."""

import mmap
import os
from dataclasses import dataclass, fields
from pathlib import Path

CONFIG = Path("/sys/kernel/config/nullb")
SYSFS = Path("/sys/block")
SECTOR = 512
MIB = 1 << 20


@dataclass(frozen=True)
class Model:
    """A kind of drive. `bandwidth` in MB/s for each direction, 0 without a limit; `written` MiB are filled at once.

    One that can `discard` frees the memory of the blocks. `request_kib` is the largest request in KiB, 0 for null_blk's
    own, which cuts 128 KiB in two.
    """

    count: int
    size_mib: int
    latency_us: int
    bandwidth: int
    written: int
    discard: bool = False
    request_kib: int = 0


@dataclass(frozen=True)
class Counters:
    """What the kernel counts of block devices (Documentation/admin-guide/iostats): requests and bytes."""

    reads: int = 0
    writes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    flushes: int = 0

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: "Counters") -> "Counters":
        return Counters(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))


def make(number: int, model: Model) -> str:
    """Make drive `number` and return its kernel name."""
    name = f"nullb{number}"
    directory = CONFIG / name
    directory.mkdir()
    attributes = {
        "size": model.size_mib,
        "memory_backed": 1,
        # completion by timer: the processor is free while the drive works
        "irqmode": 2,
        "completion_nsec": model.latency_us * 1000,
        "blocksize": 4096,
        "hw_queue_depth": 128,
        "submit_queues": 1,
        **({"discard": 1} if model.discard else {}),
        **({"max_sectors": model.request_kib * 1024 // SECTOR} if model.request_kib else {}),
        **({"mbps": model.bandwidth} if model.bandwidth else {}),
        # the last one: it makes the device
        "power": 1,
    }
    for attribute, value in attributes.items():
        (directory / attribute).write_text(str(value))
    device = Path("/dev") / name
    if not device.is_block_device():
        # Without the device fio would measure a plain file in /dev.
        raise RuntimeError(f"{device} is no block device")
    fill(str(device), model.written)
    return name


def fill(device: str, mebibytes: int) -> None:
    """Write zeroes: the first write of a page would pay for its allocation in the middle of a measurement."""
    with mmap.mmap(-1, MIB) as block:
        # O_DIRECT wants an aligned buffer, and keeps the zeroes out of the page cache.
        handle = os.open(device, os.O_WRONLY | os.O_DIRECT)
        try:
            for _ in range(mebibytes):
                os.write(handle, block)
        finally:
            os.close(handle)


def count(names: list[str]) -> Counters:
    """Return the sum of the counters of several drives."""
    total = Counters()
    for name in names:
        total += parse((SYSFS / name / "stat").read_text())
    return total


def parse(text: str) -> Counters:
    """Return the counters of one /sys/block/*/stat (Documentation/block/stat)."""
    numbers = [int(word) for word in text.split()]
    return Counters(
        reads=numbers[0],
        writes=numbers[4],
        read_bytes=numbers[2] * SECTOR,
        written_bytes=numbers[6] * SECTOR,
        flushes=numbers[15],
    )
