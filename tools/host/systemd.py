# SPDX-License-Identifier: Apache-2.0
"""`systemd-analyze verify` over units/, with the systemd of the image: an older one does not know all settings.

It needs no image: systemd is unpacked into the cache, and the units are read in a tree of their own. tests/image
verifies them once more beside the units and the programs of all packages.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from host import apt, debs, lock
from host.entry import finish
from host.layout import REPO, Caches, caches
from millrace.system.errors import Failed

# Where a unit has a setting of a later version, raise it: the cache is filled again.
NEEDED = 262
SUITE = "forky"
# libseccomp resolves the names of SystemCallFilter=
PACKAGES = ("systemd", "libsystemd-shared", "libc6", "libseccomp2")
LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
UNITS = Path("usr/lib/systemd/system")
MOUNT = REPO / "tools/millrace/system/templates/etc/systemd/system/srv-pool.mount.j2"
VERSION = re.compile(r"systemd (\d+)")
NO_PROGRAM = re.compile(r".*: Command (\S+) is not executable: No such file or directory")

PACKAGED = {
    f"/usr/{name}"
    for name in (
        "bin/chmod",
        "bin/dd",
        "bin/cp",
        "bin/grep",
        "bin/prometheus-node-exporter",
        "bin/python3",
        "bin/systemctl",
        "bin/systemd-tmpfiles",
        "bin/true",
        "sbin/ksmbd.control",
        "sbin/ksmbd.mountd",
        "sbin/modprobe",
        "sbin/nft",
        "sbin/nvme",
    )
}
"""Programs that units start and that packages bring: the tree here has those of mkosi.extra only."""


def analyze(home: Path) -> list[str]:
    """Return the command line of systemd-analyze that is unpacked in `home`."""
    libraries = home / LIBRARIES
    loader = home / "usr/lib64/ld-linux-x86-64.so.2"
    return [str(loader), "--library-path", f"{libraries}:{libraries}/systemd", str(home / "usr/bin/systemd-analyze")]


def version(home: Path) -> int:
    """Return the version of systemd in `home`, 0 where it does not run."""
    try:
        done = subprocess.run([*analyze(home), "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    found = VERSION.match(done.stdout)
    return int(found[1]) if found else 0


def unpacked(cache: Caches) -> Path:
    """Return the directory with systemd, fetched where it is not in the cache. Failed: it cannot be had."""
    home = cache.root / "systemd"
    with lock.held(cache.root / "systemd.lock", "systemd is being fetched; waiting for it."):
        if version(home) < NEEDED:
            try:
                fetch(home, apt.archive_uri())
            except (OSError, subprocess.CalledProcessError) as error:
                raise Failed(
                    f"systemd {NEEDED} of Debian {SUITE}, which verifies the units, cannot be had: {error}."
                ) from error
    return home


def fetch(
    home: Path, uri: str | None, run: debs.Run = debs.quietly, version_of: Callable[[Path], int] = version
) -> None:
    """Download and unpack systemd; what was there before is replaced as a whole.

    Raises OSError and CalledProcessError as `debs.unpack` does, OSError where it is too old.
    """
    new = home.with_suffix(".new")
    debs.unpack(new, uri, SUITE, PACKAGES, run)
    if version_of(new) < NEEDED:
        raise OSError(f"what was unpacked is version {version_of(new)}")
    shutil.rmtree(home, ignore_errors=True)
    new.rename(home)


def complaints(home: Path, units: Path, extra: Path, packaged: set[str]) -> list[str]:
    """Return what systemd in `home` has against the units in `units`, with their drop-ins.

    `extra` is a tree with programs of the image, `packaged` are those of packages; one that no unit starts is an error.
    """
    names = sorted({path.name for path in units.iterdir() if path.is_file()} | _instances(units))
    with tempfile.TemporaryDirectory(prefix="millrace-units-") as directory:
        root = Path(directory)
        shutil.copytree(home / UNITS, root / UNITS, symlinks=True)
        shutil.copytree(extra, root, symlinks=True, dirs_exist_ok=True)
        shutil.copytree(units, root / UNITS, symlinks=True, dirs_exist_ok=True)
        (root / UNITS / "srv-pool.mount").write_text(_of_a_pool())
        argv = [*analyze(home), "verify", f"--root={root}", "--man=no", "--recursive-errors=one", *names]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        lines = [line.replace(f"{root / UNITS}/", "") for line in done.stderr.splitlines()]
    absent = {line: match[1] for line in lines if (match := NO_PROGRAM.fullmatch(line))}
    left = [line for line in lines if absent.get(line) not in packaged]
    # It fails with an exit status only, or because of packaged programs alone.
    if done.returncode and not lines:
        left.append(f"systemd-analyze ended with exit status {done.returncode}")
    return left + [f"no unit starts {name}: remove it" for name in sorted(packaged - set(absent.values()))]


def _of_a_pool() -> str:
    """Return the mount unit that a plan writes; what depends on the plan is made up."""
    lines = MOUNT.read_text().partition("[Mount]")[0].splitlines()
    made_up = ["[Mount]", "What=/dev/md/pool", "Where=/srv/pool", "Type=xfs"]
    return "\n".join([*(line for line in lines if not line.startswith("{")), *made_up, ""])


def _instances(units: Path) -> set[str]:
    """Return the instances of templates that have drop-ins, or links in the directory of a target."""
    drop_ins = {path.name.removesuffix(".d") for path in units.glob("*@?*.d")}
    return drop_ins | {path.name for path in units.glob("*.*/*@?*") if path.is_symlink()}


def main(arguments: Sequence[str]) -> int:
    """Print what is wrong with the units. Failed: systemd cannot be had."""
    found = complaints(unpacked(caches()), REPO / "units", REPO / "mkosi.extra", PACKAGED)
    print("\n".join(found) or "the units are in order")
    return 1 if found else 0


if __name__ == "__main__":
    finish(main)
