# SPDX-License-Identifier: Apache-2.0
"""The package of rebuilt modules for the kernel of the package sources, from the cache where it is not new."""

import os
import shutil
import time
from pathlib import Path

from host import artefacts, lock, stage
from host.layout import REPO, Caches
from host.modules import compile as compiler
from host.modules import environment, package, preload, record, verify
from host.modules.sets import SETS
from host.progress import clock
from millrace.system.errors import Failed

SPACE = 3 << 30
# Of this kernel and the one before, for two states of the build each.
KEPT = 4
_PROGRAMS = ("compile", "environment", "package", "preload", "record", "sets", "verify")
# What the package depends on beside the packages that it is built from.
SOURCES = [
    *(Path("tools/host/modules") / f"{name}.py" for name in _PROGRAMS),
    Path("tools/millrace/inventory/patched.py"),
    preload.SOURCE.relative_to(REPO),
    preload.VFS_SOURCE.relative_to(REPO),
    preload.PAM_SOURCE.relative_to(REPO),
    preload.PAM_PROFILE.relative_to(REPO),
    *(path.relative_to(REPO) for one in SETS for path in one.changes),
]


def prepare(cache: Caches, uri: str | None, run: environment.Run = environment.run_quietly) -> Path:
    """Return the package file for the kernel of the sources at `uri`; it is alone in its directory.

    The packages that it is built from are fetched and the modules are compiled where they or the build changed. Failed:
    as `environment.fetch`, `environment.unpack`, `compile.build` and `verify.verify`.
    """
    work = cache.root / "modules"
    with lock.held(work / ".lock", "Another build of the modules is running; waiting for it."):
        artefacts.need_space(work, SPACE)
        begin = time.monotonic()
        packages = environment.fetch(work / "packages", uri, run)
        epoch = stage.epoch(REPO)
        target = work / stage.key(REPO, SOURCES, packages.key, str(epoch))
        if not target.is_dir():
            print(f"Fetched the kernel's source in {clock(time.monotonic() - begin)}.", flush=True)
            begin = time.monotonic()
            _build(packages, target, epoch, run)
            print(f"Built the modules for kernel {packages.version} in {clock(time.monotonic() - begin)}.", flush=True)
        os.utime(target)
        _keep_newest(work)
    return only(target)


def _keep_newest(work: Path) -> None:
    """Remove packages but those that were used last."""
    made = sorted((one.parent for one in work.glob(f"*/{package.NAME}_*.deb")), key=lambda one: one.stat().st_mtime_ns)
    for old in made[:-KEPT]:
        shutil.rmtree(old)


def only(target: Path) -> Path:
    """Return the package in a directory of the cache. Failed: there is not exactly one."""
    debs = list(target.glob("*.deb"))
    if len(debs) != 1:
        raise Failed(f"{target} has {len(debs)} packages instead of 1; remove it and try again.")
    return debs[0]


def _build(packages: environment.Packages, target: Path, epoch: int, run: environment.Run) -> None:
    root, new = target.parent / "environment", target.parent / ".new"
    shutil.rmtree(new, ignore_errors=True)
    try:
        environment.unpack(packages, root, run)
        modules = compiler.build(root, packages, new, os.cpu_count() or 1, run)
        debian = verify.debian_modules(packages.debian)
        verify.verify(modules, new, debian)
        made = package.make(modules, new, root, packages, record.record(new, debian), epoch, run)
        for left in new.iterdir():
            if left != made:
                shutil.rmtree(left)
        new.rename(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(root, ignore_errors=True)
