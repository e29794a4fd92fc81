# SPDX-License-Identifier: Apache-2.0
"""Which files of a server a capture holds: those that the inventory reads, and nothing else."""

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from millrace.inventory import features
from millrace.inventory.anonymise import Anonymiser
from millrace.inventory.boot_disk import LOADER_PARTITION, SYSTEM_MOUNTS
from millrace.inventory.memory import formatted
from millrace.system import sysfs
from millrace.system.archive import ArchiveEntry

CLASSES = (
    "sys/block",
    "sys/class/block",
    "sys/dev/block",
    "sys/class/net",
    "sys/class/nvme",
    "sys/class/infiniband",
    "sys/class/enclosure",
)
SYSTEM = ("sys/devices/system/node", "sys/devices/system/cpu", "sys/devices/system/edac/mc", "sys/bus/pci/slots")
SERIALS = {"serial", "vpd_pg80"}
IDENTIFIERS = {"wwid", "eui", "nguid"}
# By device: identity, size, queue, PCIe link, network port, enclosure; then processors and memory.
ATTRIBUTES = {
    *SERIALS, *IDENTIFIERS, "model", "firmware_rev", "transport", "state", "name", "vendor", "rev",
    "size", "dev", "hidden", "removable", "partition", "uevent",
    "logical_block_size", "physical_block_size", "rotational", "write_cache", "discard_max_hw_bytes", "temp1_input",
    "minimum_io_size", "optimal_io_size",
    "current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "numa_node", "address",
    "speed", "carrier", "parent", "slot",
    "cpulist", "meminfo", "online", "thread_siblings_list", "physical_package_id", "active", "base_frequency",
    "cpuinfo_max_freq", "level", "shared_cpu_list", "core_throttle_count", "dimm_edac_mode", "edac_mode",
}  # fmt: skip
LINKS = re.compile(r"device|driver|nvme\d+")
ALL_LINKS_IN = {"holders", "slaves"}
QUEUE = re.compile(r"[rt]x-\d+")
UEVENT_KEYS = {"DEVTYPE", "PARTNAME", "PARTUUID"}
MAIN_MOUNTS = {*SYSTEM_MOUNTS, "/srv/pool"}
ONCE = ("proc/meminfo", "proc/sys/kernel/osrelease", "sys/kernel/security/lockdown")


def entries(sysroot: Path, names: Anonymiser) -> Iterator[ArchiveEntry]:
    """Yield every file and link of a capture except the output of tools; a path may come more than once."""
    root = sysroot.resolve()
    for entry in (*_devices(root, names), *_system(root, names), *_once(root, names)):
        yield ArchiveEntry(
            names.name(entry.path), entry.content, None if entry.link is None else names.name(entry.link)
        )


def _devices(root: Path, names: Anonymiser) -> Iterator[ArchiveEntry]:
    for kind in CLASSES:
        for name in sysfs.names(root / kind):
            place = root / kind / name
            if place.is_symlink():
                yield _link(root, place)
            target = place.resolve()
            if root in target.parents:
                yield from _below(root, target, names)
                for directory in target.parents:
                    if directory == root:
                        break
                    yield from _directory(root, directory, names)


def _system(root: Path, names: Anonymiser) -> Iterator[ArchiveEntry]:
    for place in SYSTEM:
        yield from _below(root, root / place, names)
    for name in features.MODULES:
        if (root / "sys/module" / name).is_dir():
            yield ArchiveEntry(f"sys/module/{name}")
    tables = "sys/firmware/dmi/entries"
    for name in sysfs.names(root / tables):
        if name.partition("-")[0] in ("16", "17"):
            # The strings behind the formatted part hold serial numbers.
            yield from _file(root, f"{tables}/{name}/raw", formatted)


def _once(root: Path, names: Anonymiser) -> Iterator[ArchiveEntry]:
    for path in ONCE:
        yield from _file(root, path, bytes)
    yield from _file(root, "proc/cpuinfo", lambda raw: raw.partition(b"\n\n")[0])
    yield from _file(root, "proc/swaps", lambda raw: _swaps(raw.decode(errors="replace")).encode())
    yield from _file(root, "proc/1/mountinfo", lambda raw: _mounts(raw.decode(errors="replace"), root).encode())
    yield from _file(root, LOADER_PARTITION, lambda raw: raw[:4] + _utf16(raw[4:], names))
    for modules in features.module_lists(root):
        yield from _file(root, str(modules.relative_to(root)), lambda raw: _modules(raw.decode()).encode())
    for node in _nodes(root):
        if (root / node).is_symlink():
            yield _link(root, root / node)


def _below(root: Path, directory: Path, names: Anonymiser) -> Iterator[ArchiveEntry]:
    for place, children, _ in os.walk(directory):
        # What is not read is not walked either: these are large.
        children[:] = [child for child in children if child not in ("power", "msi_irqs", "statistics", "cpuidle")]
        yield from _directory(root, Path(place), names)


def _directory(root: Path, directory: Path, names: Anonymiser) -> Iterator[ArchiveEntry]:
    inside = sysfs.names(directory)
    yield ArchiveEntry(str(directory.relative_to(root)))
    for name in inside:
        path = directory / name
        if path.is_symlink():
            if LINKS.fullmatch(name) or directory.name in ALL_LINKS_IN:
                yield _link(root, path)
        elif name in ATTRIBUTES:
            yield from _file(root, str(path.relative_to(root)), partial(_attribute, name, names))
        elif QUEUE.fullmatch(name):
            yield ArchiveEntry(str(path.relative_to(root)))


def _attribute(name: str, names: Anonymiser, raw: bytes) -> bytes:
    if name == "vpd_pg80":
        # four bytes of header, the last is the length
        return raw[:4] + names.serial(raw[4:].decode("latin-1")).encode("latin-1")
    text = raw.decode(errors="replace")
    if name in SERIALS:
        return names.serial(text).encode()
    if name in IDENTIFIERS:
        return names.identifier(text).encode()
    return (_uevent(text, names) if name == "uevent" else names.name(text)).encode()


def _uevent(text: str, names: Anonymiser) -> str:
    kept = []
    for key, _, value in (line.partition("=") for line in text.splitlines()):
        if key in UEVENT_KEYS:
            shown = names.label(value) if key == "PARTNAME" else names.text(value)
            kept.append(f"{key}={shown}\n")
    return "".join(kept)


def _mounts(text: str, root: Path) -> str:
    """Mounts of drives, and / and /usr whatever they are; others are private to the owner."""
    kept = []
    for number, line in enumerate(text.splitlines()):
        before, _, after = line.partition(" - ")
        fields, (kind, source) = before.split(), after.split()[:2]
        local = source.startswith("/dev/")
        if not (local or fields[4] in ("/", "/usr") or (root / "sys/dev/block" / fields[2]).exists()):
            continue
        point = fields[4] if fields[4] in MAIN_MOUNTS else f"/mnt/{number}"
        kept.append(f"{fields[0]} {fields[1]} {fields[2]} / {point} rw - {kind} {source if local else kind} rw\n")
    return "".join(kept)


def _swaps(text: str) -> str:
    lines = text.splitlines()
    kept = [line for line in lines[1:] if line.startswith("/dev/")]
    return "".join(f"{line}\n" for line in [*lines[:1], *kept])


def _nodes(root: Path) -> set[str]:
    """Device nodes that mounts and swap areas are named by; some are links to others."""
    texts = [sysfs.text(root / path) or "" for path in ("proc/1/mountinfo", "proc/swaps")]
    return {word[1:] for text in texts for word in text.split() if word.startswith("/dev/") and "\\" not in word}


def _modules(text: str) -> str:
    kept = (line.partition(":")[0] for line in text.splitlines() if features.is_listed(line))
    return "".join(f"{line}:\n" for line in kept) or "kernel/none.ko:\n"


def _utf16(raw: bytes, names: Anonymiser) -> bytes:
    return names.text(raw.decode("utf-16-le", errors="replace")).encode("utf-16-le")


def _file(root: Path, path: str, keep: Callable[[bytes], bytes]) -> Iterator[ArchiveEntry]:
    try:
        yield ArchiveEntry(path, keep((root / path).read_bytes()))
    except OSError:
        # An attribute that cannot be read here cannot be read there either.
        return


def _link(root: Path, path: Path) -> ArchiveEntry:
    return ArchiveEntry(str(path.relative_to(root)), link=os.readlink(path))
