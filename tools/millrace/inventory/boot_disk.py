# SPDX-License-Identifier: Apache-2.0
"""Which drives carry the running system: nothing of Millrace ever writes to these."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millrace.system import sysfs
from millrace.system.mounts import Mount, table, unescape

MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs", "rootfs"}
SYSTEM_MOUNTS = {"/", "/usr", "/boot", "/efi", "/boot/efi", "/etc", "/var", "/home"}
LOADER_PARTITION = "sys/firmware/efi/efivars/LoaderDevicePartUUID-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"


@dataclass(frozen=True)
class InUse:
    """Kernel names of drives and what they carry. `problem`: why the boot disk could not be found."""

    system: dict[str, str]
    mounted: dict[str, str]
    problem: str | None


def drives_in_use(sysroot: Path) -> InUse:
    """Return the drives under mounted file systems and swap, down through dm-verity, LUKS, LVM and md."""
    system: dict[str, str] = {}
    mounted: dict[str, str] = {}
    try:
        mounts = table(sysroot)
    except OSError:
        mounts = []
    for mount in mounts:
        into = system if mount.point in SYSTEM_MOUNTS else mounted
        for drive in _drives_of_mount(sysroot, mount):
            into.setdefault(drive, f"carries {mount.point}")
    for area in _swap_areas(sysroot):
        for drive in _drives_under(_by_node(sysroot, area)):
            system.setdefault(drive, f"carries swap on {area}")
    for drive in _loader_drive(sysroot):
        system.setdefault(drive, "carries the EFI system partition that this boot came from")
    return InUse(system, mounted, _problem(sysroot, mounts))


def _problem(sysroot: Path, mounts: list[Mount]) -> str | None:
    """/ and /usr must lead to a drive or live in memory, and one of them must lead to a drive."""
    if not mounts:
        return "the mounts of this system cannot be read (requires root)"
    anchors = [mount for mount in mounts if mount.point in ("/", "/usr")]
    has_drive = False
    for mount in anchors:
        drives = list(_drives_of_mount(sysroot, mount))
        if not drives and mount.kind not in MEMORY_FILE_SYSTEMS:
            return f"no drive found under {mount.point} ({mount.kind} on {mount.source})"
        has_drive = has_drive or bool(drives)
    return None if has_drive else "no drive found under / and /usr"


def _drives_of_mount(sysroot: Path, mount: Mount) -> Iterator[str]:
    by_number = sysroot / "sys/dev/block" / mount.device
    if by_number.exists():
        return _drives_under(by_number.resolve())
    # btrfs and others have a device number of their own; only the source names the drive
    return _drives_under(_by_node(sysroot, mount.source))


def _by_node(sysroot: Path, node: str) -> Path | None:
    """The sysfs directory of a device node such as /dev/mapper/usr; None if it is none."""
    if not node.startswith("/dev/"):
        return None
    directory = sysroot / "sys/class/block" / (sysroot / node[1:]).resolve().name
    return directory.resolve() if directory.exists() else None


def _drives_under(directory: Path | None) -> Iterator[str]:
    """Walk from a block device to the whole drives below it."""
    if directory is None:
        return
    if (directory / "partition").exists():
        directory = directory.parent
    below = sysfs.names(directory / "slaves")
    for name in below:
        yield from _drives_under((directory / "slaves" / name).resolve())
    if not below:
        yield directory.name


def _swap_areas(sysroot: Path) -> list[str]:
    lines = (sysfs.text(sysroot / "proc/swaps") or "").splitlines()[1:]
    return [unescape(fields[0]) for fields in map(str.split, lines) if fields[1] == "partition"]


def _loader_drive(sysroot: Path) -> list[str]:
    """The ESP is an automount and often not mounted; the boot loader has recorded where it is."""
    uuid = _loader_uuid(sysroot)
    return [part.parent.name for part in _partitions(sysroot, uuid)]


def loader_partition(sysroot: Path) -> Path | None:
    """Return the sysfs directory of the ESP that this boot came from; None where it is not found, or not alone."""
    uuid = _loader_uuid(sysroot)
    found = _partitions(sysroot, uuid)
    return found[0] if len(found) == 1 else None


def same_boot_partition(sysroot: Path) -> list[str]:
    """Return the drives that have the ESP of this boot where they are several: drives written from one image.

    Which of them has the loader, /usr and root that run is then not known.
    """
    found = sorted({part.parent.name for part in _partitions(sysroot, _loader_uuid(sysroot))})
    return found if len(found) > 1 else []


def two_drives(sysroot: Path) -> tuple[str, str] | None:
    """Return the drive of the loader and that of /usr where they are two; None where they are one, or not found.

    /usr is found by its root hash: another drive with this version has one of the same name.
    """
    loader = loader_partition(sysroot)
    try:
        mounts = table(sysroot)
    except OSError:
        return None
    usr = {drive for mount in mounts if mount.point == "/usr" for drive in _drives_of_mount(sysroot, mount)}
    if loader is None or not usr or loader.parent.name in usr:
        return None
    return loader.parent.name, min(usr)


def _loader_uuid(sysroot: Path) -> str | None:
    try:
        # four bytes of attributes, then UTF-16
        return (sysroot / LOADER_PARTITION).read_bytes()[4:].decode("utf-16-le").strip("\0").lower()
    except (OSError, UnicodeDecodeError):
        return None


def _partitions(sysroot: Path, uuid: str | None) -> list[Path]:
    if not uuid:
        return []
    directory = sysroot / "sys/class/block"
    partitions = [(directory / name).resolve() for name in sysfs.names(directory)]
    return [part for part in partitions if sysfs.uevent(part).get("PARTUUID", "").lower() == uuid]
