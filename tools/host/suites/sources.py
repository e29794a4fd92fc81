# SPDX-License-Identifier: Apache-2.0
"""Sources of the suites that Debian does not have: a checkout of pynfs by the user, pjdfstest from crates.io."""

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from millrace.system.errors import Refused

PYNFS: Final = "MILLRACE_PYNFS"
PYNFS_NEEDED: Final = f"Set {PYNFS} to a checkout of pynfs, https://git.linux-nfs.org/?p=cdmackay/pynfs.git."
# The release that the table is of; --locked takes the versions of its own lock file.
PJDFSTEST: Final = "0.2.2"
CARGO: Final = "cargo"
CARGO_SECONDS: Final = 1800

Run = Callable[[Sequence[str]], subprocess.CompletedProcess[str]]


def pynfs() -> bytes:
    """Return the user's checkout of pynfs as a compressed tar file, without what git keeps.

    Refused: the environment names none, or another directory.
    """
    named = os.environ.get(PYNFS, "")
    if not named:
        raise Refused(f"pynfs is in no package registry. {PYNFS_NEEDED}")
    if not (Path(named) / "nfs4.1/testserver.py").is_file():
        raise Refused(f"{named} has no nfs4.1/testserver.py. {PYNFS_NEEDED}")
    return packed(Path(named))


def packed(directory: Path) -> bytes:
    """Return a directory as a compressed tar file, without what git and Python keep in it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(directory, arcname=".", filter=_wanted)
    return buffer.getvalue()


def _wanted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if Path(member.name).name in {".git", "__pycache__", "build"} else member


def run_cargo(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run cargo and return what it printed. TimeoutExpired: it did not end within half an hour."""
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=CARGO_SECONDS)


def pjdfstest(cache: Path, run: Run = run_cargo) -> Path:
    """Return the program pjdfstest in a directory of the cache; cargo of this host builds it where it is not there.

    Refused: this host has no cargo, or cargo cannot build it.
    """
    place = cache / f"pjdfstest-{PJDFSTEST}"
    program = place / "bin/pjdfstest"
    if program.is_file():
        return program
    if shutil.which(CARGO) is None:
        raise Refused("pjdfstest is built with cargo 1.85 or newer, gcc and libacl1-dev; this host has no cargo.")
    new = cache / f".pjdfstest-{PJDFSTEST}"
    shutil.rmtree(new, ignore_errors=True)
    done = run([CARGO, "install", "pjdfstest", "--version", PJDFSTEST, "--locked", "--root", str(new)])
    if done.returncode or not (new / "bin/pjdfstest").is_file():
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no message")
        raise Refused(
            f"cargo cannot build pjdfstest {PJDFSTEST} ({last.strip()}). It needs cargo 1.85 or newer, gcc, "
            "libacl1-dev and a registry of crates."
        )
    shutil.rmtree(place, ignore_errors=True)
    new.rename(place)
    return program
