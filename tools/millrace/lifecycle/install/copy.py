# SPDX-License-Identifier: Apache-2.0
"""Write this version to another drive and read it back.

systemd-repart copies the ESP, /usr and its verity tree. It writes the partition table last, so that a drive whose
writing was interrupted does not boot; what was in its place before is cleared first. First boot from the drive makes
the rest, as with an image that was written by `tools/flash`.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Protocol

from millrace.inventory.collect import examine
from millrace.inventory.drives import block_dir
from millrace.inventory.partitions import partitions
from millrace.lifecycle.install.choice import refusal
from millrace.lifecycle.install.medium import Medium, MediumPartition
from millrace.lifecycle.install.model import BootCandidate, Installed, InstallLine, InstallStep
from millrace.storage.erase.overwrite import exclusively
from millrace.storage.record.writer import writing
from millrace.system import paths, sysfs
from millrace.system.errors import Failed, Refused
from millrace.system.files import sync, write_text
from millrace.system.mounts import table
from millrace.system.run import Result, last_words
from millrace.system.trees import nofollow

INSTALLING = "this version is being written to a boot drive; wait until that has ended"
VERITY = "/usr/lib/systemd/systemd-veritysetup"
CHECK = "millrace-install"
"""Name of the device that compares what was written with the root hash."""
TRIES = 3
"""How often a version is started before another one is: what the image has, too."""
BLOCK = 4 << 20


class InstallMachine(Protocol):
    """The machine; millrace.storage.array.machine.Linux is one."""

    def attempt(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        """Run a tool, whatever its exit status."""
        ...

    def in_use(self, name: str) -> str | None:
        """Return why the block device cannot be opened exclusively; None if it can."""
        ...


def install(machine: InstallMachine, medium: Medium, drive: BootCandidate) -> Iterator[InstallLine]:
    """Write this version to a drive that was confirmed; yield what is done, then the end.

    Refused: it is another drive now, or in use; nothing was written. Failed: with what to do.
    """
    with writing(INSTALLING):
        _still(machine, drive)
        yield InstallStep(doing="clearing the old partition table")
        with exclusively(_device(drive.name), drive.size_bytes) as raw:
            raw.clear_ends()
        yield InstallStep(doing="copying the loader and the system")
        with _steady(medium):
            _copy(machine, medium, drive)
            esp, usr, verity = _written(machine, drive)
            yield InstallStep(doing="reading back the loader")
            if _digest(_device(esp)) != _digest(_device(medium.esp.name)):
                raise Failed(_again(drive, "the loader was not written as it was read"))
        yield InstallStep(doing="comparing the system with its root hash")
        with _verified(machine, medium, drive, usr, verity) as device:
            _digest(device)
        yield InstallStep(doing="finishing")
        _first_boot(machine, medium, esp)
        yield Installed(serial=drive.serial, version=medium.version)


def definitions(medium: Medium) -> dict[str, str]:
    """Return the files of repart.d(5) that copy this version, by name."""
    label = f"millrace_{medium.version}"
    return {
        "00-esp.conf": _partition("esp", "esp", medium.esp),
        "10-usr-verity.conf": _partition(
            "usr-verity", label, medium.verity, f"UUID={medium.verity_uuid}", "ReadOnly=yes"
        ),
        "11-usr.conf": _partition("usr", label, medium.usr, f"UUID={medium.usr_uuid}", "ReadOnly=yes"),
    }


def _partition(kind: str, label: str, source: MediumPartition, *more: str) -> str:
    lines = ["[Partition]", f"Type={kind}", f"Label={label}", *more, f"CopyBlocks={_device(source.name)}"]
    return "\n".join([*lines, f"SizeMinBytes={source.size}", f"SizeMaxBytes={source.size}", ""])


def _still(machine: InstallMachine, one: BootCandidate) -> None:
    drive = examine(one.name)
    if (drive.serial, drive.size) != (one.serial, one.size_bytes):
        raise Refused(f"drive {one.serial} was removed or replaced just now; nothing was written")
    if reason := refusal(drive) or machine.in_use(one.name):
        raise Refused(f"drive {one.serial} is not written: {reason}")


@contextmanager
def _steady(medium: Medium) -> Iterator[None]:
    """Keep an ESP that is mounted in use: autofs unmounts it after two minutes, which writes to it once more."""
    number = sysfs.text(paths.ROOT / "sys/class/block" / medium.esp.name / "dev")
    point = next((one.point for one in table() if number and one.device == number), None)
    with nullcontext() if point is None else nofollow.directory(paths.ROOT / point.lstrip("/")):
        yield


def _copy(machine: InstallMachine, medium: Medium, drive: BootCandidate) -> None:
    directory = paths.run_dir() / "install/repart.d"
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in definitions(medium).items():
        write_text(directory / name, text)
    # what was written to the running ESP is in the cache of its file system
    os.sync()
    argv = ["systemd-repart", f"--definitions={directory}", "--empty=force", "--dry-run=no", "--seed=random"]
    done = machine.attempt([*argv, "--no-pager", str(_device(drive.name))])
    if done.status != 0:
        raise Failed(_again(drive, f"systemd-repart failed: {last_words(done)}"))


def _written(machine: InstallMachine, one: BootCandidate) -> tuple[str, str, str]:
    """Return the kernel names of the new ESP, /usr and verity tree."""
    machine.attempt(["udevadm", "settle", "--timeout=60"])
    found = [part.name for part in partitions(block_dir(paths.ROOT, one.name))]
    if len(found) != 3:
        raise Failed(_again(one, f"it has {len(found)} partitions instead of 3"))
    esp, verity, usr = found
    return esp, usr, verity


@contextmanager
def _verified(machine: InstallMachine, medium: Medium, drive: BootCandidate, usr: str, verity: str) -> Iterator[Path]:
    """The new /usr as a device whose reads fail where it is not what the root hash stands for."""
    argv = [VERITY, "attach", CHECK, str(_device(usr)), str(_device(verity)), medium.roothash]
    done = machine.attempt(argv)
    if done.status != 0:
        raise Failed(_again(drive, f"its system is not what the root hash stands for: {last_words(done)}"))
    try:
        yield paths.ROOT / "dev/mapper" / CHECK
    except OSError as error:
        raise Failed(_again(drive, f"its system cannot be read back ({error.strerror})")) from error
    finally:
        machine.attempt([VERITY, "detach", CHECK])


def _first_boot(machine: InstallMachine, medium: Medium, esp: str) -> None:
    """Leave this version alone in the new ESP, not yet tried, and nothing that two servers must not share."""
    point = paths.run_dir() / "install/esp"
    point.mkdir(parents=True, exist_ok=True)
    done = machine.attempt(
        ["mount", "-t", "vfat", "-o", "nosuid,nodev,noexec,umask=0077", str(_device(esp)), str(point)]
    )
    if done.status != 0:
        raise Failed(f"the new ESP cannot be mounted: {last_words(done)}; write the drive again")
    try:
        kernels = point / "EFI/Linux"
        for path in sorted(kernels.iterdir()):
            if re.fullmatch(rf"millrace_{re.escape(medium.version)}(\+[0-9-]+)?\.efi", path.name):
                path.rename(kernels / f"millrace_{medium.version}+{TRIES}.efi")
            elif not path.is_dir():
                # a directory has credentials for a kernel image (systemd-stub(7)), which are copied as all others
                path.unlink()
        (point / "loader/random-seed").unlink(missing_ok=True)
        sync(kernels)
    finally:
        done = machine.attempt(["umount", str(point)])
    if done.status != 0:
        raise Failed(f"the new ESP cannot be unmounted: {last_words(done)}; write the drive again")


def _digest(device: Path) -> bytes:
    """Return a digest of a block device, past what the kernel has of it in memory. OSError: it cannot be read."""
    digest = hashlib.sha256()
    with device.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.digest()


def _device(name: str) -> Path:
    return paths.ROOT / "dev" / name


def _again(one: BootCandidate, what: str) -> str:
    return f"drive {one.serial} does not start this version: {what}; write it again, or choose another drive"
