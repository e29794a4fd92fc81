# SPDX-License-Identifier: Apache-2.0
"""The disks of a machine, made once and kept from one start to the next."""

import os
import shutil
import subprocess
from pathlib import Path

from millrace.system.errors import Failed
from vm.qemu import Files
from vm.server import Server

VARIABLES = Path("/usr/share/OVMF/OVMF_VARS_4M.fd")
BASE = "base.raw"


def keep(source: Path, target: Path) -> None:
    """Make `target` another name of `source`, or a sparse copy on another file system.

    A build replaces the image by a new file, so an overlay over the old name's content stays valid.
    """
    try:
        os.link(source, target)
    except OSError:
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", str(source), str(target)], check=True)


def make(server: Server, image: Path, files: Files, variables: Path = VARIABLES) -> bool:
    """Create the disks that are missing; return whether the boot disk is new. Failed: there is no image."""
    files.directory.mkdir(parents=True, exist_ok=True)
    for drive in server.drives:
        path = files.drive(drive.serial)
        if not path.exists():
            with path.open("wb") as file:
                file.truncate(drive.size)
    if files.boot_disk.exists():
        return False
    if not image.is_file():
        raise Failed(f"There is no image at {image}; run tools/build first.")
    base = files.directory / BASE
    base.unlink(missing_ok=True)
    keep(image, base)
    shutil.copyfile(variables, files.variables)
    overlay(files.boot_disk, server.boot_disk)
    return True


def empty_logs(server: Server, files: Files) -> None:
    """Make the log of each drive empty: QEMU begins at its start and leaves what is behind."""
    for drive in server.drives:
        files.log(drive.serial).write_bytes(b"")


def overlay(path: Path, size: int) -> None:
    """Create a qcow2 overlay of `size` bytes over the base image beside it. Failed: qemu-img fails."""
    new = path.with_suffix(".new")
    argv = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", BASE, str(new), str(size)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"The boot disk cannot be made: {done.stderr.strip()}")
    new.rename(path)
