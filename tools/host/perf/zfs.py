# SPDX-License-Identifier: Apache-2.0
"""ZFS as Debian has it, built for the kernel of the package sources: a peer to measure against, in no image.

Its licence does not go with the kernel's: what is built here stays in the cache of this host.
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from host import apt, artefacts, lock, sources
from host.layout import OUTPUT, Caches, caches
from host.modules import compile as compiler
from host.modules import environment
from host.modules.environment import Run, checked, run_quietly
from millrace.system.errors import BadInput, Failed

PROGRAMS_OF, SOURCE_OF = "zfsutils-linux", "zfs-dkms"
# What of the packages is needed to make a pool; the rest of what they depend on is in the image.
PROGRAMS = ("zpool", "zfs")
MODULES = ("spl", "zfs")
SPACE = 3 << 30
COMPONENT = "contrib"


@cache
def files() -> dict[str, bytes]:
    """Return programs, libraries and modules of ZFS by their path in `zfs/`, built where the cache has none.

    BadInput: there is no image yet. Failed: the package sources do not have it, or it does not build.
    """
    directory = prepared(caches(), apt.archive_uri())
    return {f"zfs/{path.relative_to(directory)}": path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def prepared(kept: Caches, uri: str | None, run: Run = run_quietly) -> Path:
    """Return the directory of the cache that has ZFS for the kernel of the sources at `uri`.

    BadInput: there is no image yet. Failed: the package sources do not have it, or it does not build.
    """
    work = kept.root / "zfs"
    with lock.held(work / ".lock", "Another build of ZFS is running; waiting for it."):
        artefacts.need_space(work, SPACE)
        kernel = environment.fetch(kept.root / "modules" / "packages", uri, run)
        debs = _fetch(work / "packages", uri, run)
        digest = hashlib.sha256(Path(__file__).read_bytes() + kernel.key.encode())
        for deb in debs:
            digest.update(artefacts.sha256(deb).encode())
        target = work / digest.hexdigest()[:16]
        if not target.is_dir():
            _build(kernel, debs, target, run)
    return target


def _fetch(directory: Path, uri: str | None, run: Run) -> list[Path]:
    """Download the packages that the image does not have; apt verifies their checksums."""
    status = OUTPUT / sources.STATUS
    if uri is None:
        raise Failed("This host has no Debian package source to fetch ZFS from; set MILLRACE_APT_URI to one.")
    if not status.is_file():
        raise BadInput(f"There is no image to measure, {status} is missing; run tools/build first.")
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "partial").mkdir(parents=True)
    with TemporaryDirectory(prefix="millrace-zfs-") as name:
        options = sources.isolated(Path(name), status, uri)
        for file in (Path(name) / "etc/sources.list.d").iterdir():
            file.write_text(file.read_text().replace("non-free-firmware", COMPONENT))
        options += ["-o", "APT::Install-Recommends=false", "-o", f"Dir::Cache::archives={directory}"]
        failed = "ZFS cannot be fetched"
        checked(run, ["apt-get", "update", "--quiet", "--error-on=any", *options], failed)
        checked(run, ["apt-get", "install", "--download-only", "--yes", "-qq", *options, PROGRAMS_OF], failed)
        # Without what it depends on: the environment has a compiler, that of the kernel.
        here = ["sh", "-c", 'cd "$0" && exec "$@"', str(directory)]
        checked(run, [*here, "apt-get", "download", "-qq", *options, SOURCE_OF], failed)
    return sorted(directory.glob("*.deb"))


def _build(kernel: environment.Packages, debs: Sequence[Path], target: Path, run: Run) -> None:
    root, new = target.parent / "environment", target.parent / ".new"
    for directory in (root, new):
        shutil.rmtree(directory, ignore_errors=True)
    try:
        environment.unpack(kernel, root, run)
        unpacked = target.parent / "unpacked"
        for deb in debs:
            if deb.name.startswith(("zfs", "libzfs", "libzpool", "libnvpair", "libuutil")):
                checked(run, ["dpkg-deb", "--extract", str(deb), str(unpacked)], f"{deb.name} was not unpacked")
        (source,) = (unpacked / "usr/src").glob("zfs-*")
        source.rename(root / "build/zfs")
        _compile(kernel.abi, root, run)
        for name in ("bin", "lib", "modules"):
            (new / name).mkdir(parents=True)
        for name in MODULES:
            shutil.copy(root / f"build/zfs/module/{name}.ko", new / "modules")
        for name in PROGRAMS:
            shutil.copy(unpacked / "usr/sbin" / name, new / "bin")
        # programs ask for a library by the name of a link to it
        for link in (unpacked / "usr/lib/x86_64-linux-gnu").glob("*.so.*"):
            if link.is_symlink():
                shutil.copy(link, new / "lib" / link.name)
        new.rename(target)
    finally:
        for directory in (root, new, target.parent / "unpacked"):
            shutil.rmtree(directory, ignore_errors=True)


def _compile(abi: str, root: Path, run: Run) -> None:
    headers = f"/usr/src/linux-headers-{abi.removesuffix('-amd64')}-common"
    configure = (
        "./configure",
        *("--with-config=kernel", "--disable-dependency-tracking"),
        *(f"--with-linux={headers}", f"--with-linux-obj=/usr/src/linux-headers-{abi}"),
    )
    strip = ["strip", "--strip-debug", *(f"module/{name}.ko" for name in MODULES)]
    for argv in (configure, ["make", f"--jobs={os.cpu_count() or 1}"], strip):
        words = ["sh", "-c", 'cd /build/zfs && exec "$@"', "sh", *argv]
        checked(run, compiler.inside(root, words), "ZFS does not build for this kernel")
