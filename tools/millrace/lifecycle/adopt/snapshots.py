# SPDX-License-Identifier: Apache-2.0
"""Members as they are, in devices whose changes stay in memory: an array of these writes nothing to a drive.

md writes its bitmap also where an array is started read-only, and XFS replays its log also where it is mounted so. Both
may do so here. A snapshot of the device mapper reads its origin and writes to a device of its own (dm-snap.c opens the
origin for reading): a file in memory behind a loop device.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from millrace.lifecycle.adopt import adopt_paths
from millrace.storage.array.machine import System
from millrace.system import paths, sysfs
from millrace.system.errors import Failed, MillraceError
from millrace.system.run import must

PREFIX = "millrace-find-"
CHANGES = 256 << 20
"""Bytes of changes to one member, in memory and only as far as it is written; a log that is replayed needs some MiB."""

CHUNK = 8
"""Sectors of a snapshot's chunk: a page."""

MODULES = ("loop", "dm_snapshot")
MEMORY = "25%"


@contextmanager
def snapshots(system: System, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the kernel name of a snapshot for each member in `names`; removed at the end, as is what one left before.

    Failed: a device cannot be made; a member is in use.
    """
    must(system.attempt, ["modprobe", "--all", *MODULES])
    sweep(system)
    where = adopt_paths.find_dir()
    where.mkdir(parents=True, exist_ok=True)
    try:
        must(system.attempt, ["mount", "-t", "tmpfs", "-o", f"size={MEMORY},mode=0700", "millrace-find", str(where)])
        yield {name: _snapshot(system, name) for name in names}
    finally:
        sweep(system)


def sweep(system: System) -> None:
    """Remove all snapshots and what is on them: arrays first, the files in memory last. Failed: something is in use."""
    for device in _devices(system):
        for array in _above(device):
            must(system.attempt, ["mdadm", "--stop", f"/dev/{array}"])
    for name in _names(system):
        must(system.attempt, ["dmsetup", "remove", "--retry", "--noudevsync", name])
    for loop, file in _loops(system):
        if file.startswith(f"{adopt_paths.find_dir()}/"):
            must(system.attempt, ["losetup", "--detach", loop])
    with suppress(MillraceError):
        while system.attempt(["mountpoint", "--quiet", str(adopt_paths.find_dir())]).status == 0:
            must(system.attempt, ["umount", str(adopt_paths.find_dir())])


def _snapshot(system: System, name: str) -> str:
    size = must(system.attempt, ["blockdev", "--getsz", f"/dev/{name}"]).strip()
    changes = adopt_paths.find_dir() / name
    with changes.open("wb") as file:
        file.truncate(CHANGES)
    loop = must(system.attempt, ["losetup", "--find", "--show", str(changes)]).strip()
    table = f"0 {size} snapshot /dev/{name} {loop} N {CHUNK}"
    # udev is to leave these devices alone: no link, no look at what is in them
    made = system.attempt(["dmsetup", "create", f"{PREFIX}{name}", "--noudevrules", "--noudevsync", "--table", table])
    if made.status != 0:
        raise Failed(f"{name} cannot be read beside what uses it: {made.err.strip() or 'dmsetup gave no reason'}")
    return _device(system, f"{PREFIX}{name}")


def _device(system: System, name: str) -> str:
    minor = must(system.attempt, ["dmsetup", "info", "--columns", "--noheadings", "-o", "minor", name]).strip()
    return f"dm-{minor}"


def _names(system: System) -> list[str]:
    listed = must(system.attempt, ["dmsetup", "info", "--columns", "--noheadings", "-o", "name"])
    return [name for name in listed.split() if name.startswith(PREFIX)]


def _devices(system: System) -> list[str]:
    return [_device(system, name) for name in _names(system)]


def _loops(system: System) -> Iterator[tuple[str, str]]:
    listed = must(system.attempt, ["losetup", "--list", "--noheadings", "--raw", "--output", "NAME,BACK-FILE"])
    for line in listed.splitlines():
        loop, _, file = line.partition(" ")
        yield loop, re.sub(r"\\x20", " ", file)


def _above(device: str) -> Iterator[str]:
    """The arrays on a device, those on top of others first; an array on several members is named by the first alone."""
    for holder in sysfs.names(paths.ROOT / "sys/block" / device / "holders"):
        if not (paths.ROOT / "sys/block" / holder).exists():
            continue
        yield from _above(holder)
        if (paths.ROOT / "sys/block" / holder / "md").is_dir():
            yield holder
