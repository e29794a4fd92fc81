# SPDX-License-Identifier: Apache-2.0
"""`python -m host.modules`: build the sets for the kernel of the package sources; no image takes them yet."""

import argparse
import os
import shutil
import time
from pathlib import Path

from host import apt, artefacts, lock, stage
from host.entry import finish
from host.layout import REPO, caches
from host.modules import compile as compiler
from host.modules import environment, verify
from host.progress import clock

SPACE = 3 << 30


def built(work: Path, uri: str | None, run: environment.Run = environment.run_quietly) -> Path:
    """Return the directory in `work` with the modules for the kernel of the package sources, compiled where it is new.

    Its name is the key of the packages and of this program. Failed: as `fetch`, `unpack`, `build` and `verify`.
    """
    artefacts.need_space(work, SPACE)
    found = environment.fetch(work / "packages", uri, run)
    target = work / stage.key(REPO, [Path("tools/host/modules")], found.key)
    if target.is_dir():
        return target
    root, new = work / "environment", work / ".new"
    shutil.rmtree(new, ignore_errors=True)
    try:
        environment.unpack(found, root, run)
        modules = compiler.build(root, found, new, os.cpu_count() or 1, run)
        verify.verify(modules, new, verify.debian_modules(found.debian))
        new.rename(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(root, ignore_errors=True)
    return target


def main(arguments: list[str]) -> int:
    """Build the modules where they are not in the cache, and print where they are. Failed: as `built`."""
    parser = argparse.ArgumentParser(
        prog="python -m host.modules",
        description="Build the kernel modules that Debian leaves out. No image takes them.",
    )
    parser.parse_args(arguments)
    cache, begin = caches(), time.monotonic()
    work = cache.root / "modules"
    with lock.held(work / ".lock", "Another build of the modules is running; waiting for it."):
        target = built(work, apt.archive_uri())
    for path in sorted(target.rglob("*.ko")):
        print(path)
    print(f"Modules are up to date after {clock(time.monotonic() - begin)}.")
    return 0


if __name__ == "__main__":
    finish(main)
