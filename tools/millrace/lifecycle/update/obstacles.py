# SPDX-License-Identifier: Apache-2.0
"""Why no update can be installed now, and why one version is not installed as it is."""

import os
from pathlib import Path

from millrace.inventory.boot_disk import same_boot_partition, two_drives
from millrace.lifecycle.update import boot_entries, records, update_paths
from millrace.lifecycle.update.model import Release
from millrace.lifecycle.update.release import number
from millrace.storage.array.live_arrays import live_arrays
from millrace.storage.record.pool_file import known_pool
from millrace.system import mounts, paths
from millrace.system.jobs import pairs
from millrace.system.jobs.kinds import JobName
from millrace.system.os_release import image_version
from millrace.system.run import Runner
from millrace.system.text import size

KEPT_FREE = 256 << 20
"""Bytes that stay free on the boot drive while an update is staged: journal, state and users need some."""


def of_server(run: Runner, degraded: bool = False, starts: JobName = "update") -> str | None:
    """Return why this server cannot take an update now, with the remedy; None where it can.

    `degraded` allows arrays that lack members. `starts` is the job that is to start, which replaces the system as an
    update does. Failed: systemd does not report its units.
    """
    # one would be written to the drive of /usr, and the other to the drive of the loader
    if drives := two_drives(paths.ROOT):
        return f"the loader is on drive {drives[0]} and the system on {drives[1]}: remove one of them and start again"
    if twins := same_boot_partition(paths.ROOT):
        return f"drives {' and '.join(twins)} have the same boot partition: leave one of them in and start again"
    trial = records.trial()
    if trial is not None:
        return f"version {trial.version} is not accepted yet; reboot, or go back: millrace update rollback"
    if busy := pairs.obstacle(starts, run):
        return busy.sentence
    return _of_pool(degraded)


def _of_pool(degraded: bool) -> str | None:
    pool = known_pool()
    if pool is None:
        return None
    if mounts.mounted(pool.filesystem.mountpoint) is None:
        return "the pool is not mounted; `millrace status` shows the reason"
    for array in live_arrays(pool, {}):
        if array.sync is not None and array.sync.action not in ("check", "repair"):
            return f"array {array.name} is busy with a {array.sync.action}; wait until that is done"
        if array.degraded and not degraded:
            return f"array {array.name} lacks {array.degraded} members; replace the drive first, or use --degraded"
    return None


def of_version(version: str, running: str, older: bool = False, again: bool = False) -> str | None:
    """Return why a version is not installed on this one as it is, with the option that allows it; None where it is."""
    if version == running:
        return f"version {version} is running already"
    failed = next((failure for failure in records.failed().versions if failure.version == version), None)
    if failed is not None and not again:
        why = failed.problems[0].rstrip(".") if failed.problems else "it did not serve"
        return f"version {version} failed on this server ({why}); to try it once more use --again"
    if number(version) < number(running) and not older:
        return f"version {version} is older than {running}; to install it use --older, or millrace update rollback"
    return None


def of_space(release: Release, run: Runner) -> str | None:
    """Return why the files of a release have no room on the boot drive; None where they have.

    Failed: the boot partition cannot be read.
    """
    needed = sum(file.size for file in release.files) + KEPT_FREE
    directory = update_paths.directory()
    directory.mkdir(parents=True, exist_ok=True)
    free = _free(directory)
    if free < needed:
        remedy = "remove files from /var/tmp or /home"
        return f"the boot drive has {size(free)} free, the update needs {size(needed)}; {remedy}"
    return _of_boot_partition(release, run)


def _of_boot_partition(release: Release, run: Runner) -> str | None:
    """The kernel image has to fit beside that of the running version; those of others make room for it."""
    needed = sum(one.size for one in release.files if one.kind == "kernel")
    where = boot_entries.directory(run)
    others = [one for one in boot_entries.entries(run) if one.version != image_version()]
    free = _free(where) + sum(one.path.stat().st_size for one in others)
    if free >= needed:
        return None
    remedy = f"remove from {where.parents[1]} what is not of Millrace"
    return f"the boot partition has {size(free)} free, the kernel image needs {size(needed)}; {remedy}"


def _free(directory: Path) -> int:
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize
