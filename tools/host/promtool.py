# SPDX-License-Identifier: Apache-2.0
"""Prometheus' own checker of alert rules: the host's, or that of the host's package source, unpacked into the cache."""

import platform
import shutil
import subprocess
from pathlib import Path

from host import apt, debs, lock
from host.layout import Caches

PROMTOOL = "promtool"
PROGRAM = Path("usr/bin") / PROMTOOL
PACKAGES = ("prometheus",)


def command(caches: Caches) -> str | None:
    """Return the program to run, fetching it where the host has none; None where it cannot be had."""
    if own := shutil.which(PROMTOOL):
        return own
    home = caches.root / "promtool"
    program = home / PROGRAM
    try:
        with lock.held(caches.root / "promtool.lock", "promtool is being fetched; waiting for it."):
            if not program.exists():
                fetch(home, apt.archive_uri(), platform.freedesktop_os_release().get("VERSION_CODENAME", ""))
    except (OSError, subprocess.CalledProcessError):
        return None
    return str(program)


def fetch(home: Path, uri: str | None, codename: str, run: debs.Run = debs.quietly) -> None:
    """Download and unpack it from the suite `codename` at `uri`; what was there before is replaced as a whole.

    Raises OSError and CalledProcessError as `debs.unpack` does.
    """
    new = home.with_suffix(".new")
    debs.unpack(new, uri, codename, PACKAGES, run)
    if not (new / PROGRAM).exists():
        raise OSError("the package has no promtool")
    shutil.rmtree(home, ignore_errors=True)
    new.rename(home)
