# SPDX-License-Identifier: Apache-2.0
"""QEMU: the host's own where it is new enough, else the one of the host's backports, unpacked into the cache.

Before 8.1 multi-threaded TCG could translate code while another virtual CPU changed it. The kernel changes its own code
at run time, so a guest fell with "Oops: int3" now and then, and a tracepoint that was just switched on was not seen.
"""

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from host import apt, debs, lock
from host.layout import Caches
from vm.accel import QEMU

# "accel/tcg: Always lock pages before translation"
NEEDED = (8, 1)
# The program, its own data and the firmware of a guest that is started without UEFI.
PACKAGES = ("qemu-system-x86", "qemu-system-data", "seabios")
PROGRAM = Path("usr/bin") / QEMU
VERSION = re.compile(r"version (\d+)\.(\d+)")

OLD = (
    "millrace: QEMU is older than 8.1 and the backports of this host's package source cannot be had: an emulated "
    "server may fall now and then. Install a newer QEMU."
)


def version(program: str) -> tuple[int, int]:
    """Return a QEMU's version, (0, 0) where it does not run."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return (0, 0)
    found = VERSION.search(said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def command(caches: Caches) -> str:
    """Return the QEMU to start, fetching it where the host's is too old; the old one where there is no newer."""
    if version(QEMU) >= NEEDED:
        return QEMU
    home = caches.root / "qemu"
    program = str(home / PROGRAM)
    if version(program) >= NEEDED:
        return program
    try:
        # Not that of the builds: a machine is not kept waiting for an image that it does not need.
        with lock.held(caches.root / "qemu.lock", "QEMU is being fetched; waiting for it."):
            if version(program) < NEEDED:
                fetch(home, apt.archive_uri(), platform.freedesktop_os_release().get("VERSION_CODENAME", ""))
    except (OSError, subprocess.CalledProcessError):
        print(OLD, file=sys.stderr)
        return QEMU
    return program


def fetch(home: Path, uri: str | None, codename: str, run: debs.Run = debs.quietly) -> None:
    """Download and unpack QEMU from the backports of `codename` at `uri`; what is installed on the host stays."""
    new = home.with_suffix(".new")
    debs.unpack(new, uri, f"{codename}-backports" if codename else "", PACKAGES, run)
    if version(str(new / PROGRAM)) < NEEDED:
        raise OSError("what was unpacked does not run here")
    shutil.rmtree(home, ignore_errors=True)
    new.rename(home)
