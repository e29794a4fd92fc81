# SPDX-License-Identifier: Apache-2.0
"""What can be read of the pool without its log, and what xfs_repair would change; nothing is written."""

import os
import stat
import time

from millrace.storage.array.machine import System
from millrace.storage.record.model import Pool
from millrace.storage.rescue.placeholder_log import mount_point, stand_in
from millrace.storage.rescue.rescue_model import DryRunResult
from millrace.system.errors import Failed
from millrace.system.run import last_words
from millrace.system.text import printable

LIMIT = 600.0
"""Seconds for the walk over all names."""
LISTED = 20
PHASES = ("Phase ", "        - ", "No modify flag set", "Maximum metadata LSN", "Would format log")
"""How lines of xfs_repair begin that report no damage."""
FOUND = 1
"""The exit status of xfs_repair -n that found damage (xfs_repair(8))."""


def judge(system: System, pool: Pool) -> DryRunResult:
    """Mount the pool read-only without replaying a log, count what can be read, and run `xfs_repair -n`.

    A mount that the kernel refuses is noted. Failed: xfs_repair cannot examine the file system.
    """
    with stand_in(system, pool) as log:
        note = _mount(system, pool, log)
        files, directories, volume, unreadable, complete = (0, 0, 0, 0, False) if note else _walk()
        if note is None:
            _unmount(system)
        problems = _problems(system, pool, log)
    return DryRunResult(
        files=files,
        directories=directories,
        size=volume,
        unreadable=unreadable,
        complete=complete,
        problem_count=len(problems),
        problems=problems[:LISTED],
        note=note,
    )


def _mount(system: System, pool: Pool, log: str) -> str | None:
    """Why the kernel does not mount it, None where it does."""
    mount_point().mkdir(parents=True, exist_ok=True)
    options = f"ro,norecovery,nosuid,nodev,noexec,logdev={log}"
    done = system.attempt(["mount", "-t", "xfs", "-o", options, pool.filesystem.device, str(mount_point())])
    return None if done.status == 0 else f"the kernel does not mount it read-only: {last_words(done)}"


def _unmount(system: System) -> None:
    done = system.attempt(["umount", str(mount_point())])
    if done.status != 0:
        raise Failed(f"{mount_point()} cannot be unmounted ({last_words(done)}); leave that directory and try again")


def _walk() -> tuple[int, int, int, int, bool]:
    """Files, directories, bytes in files, directories that cannot be read, and whether all was walked."""
    lost: list[OSError] = []
    files = directories = volume = 0
    end = time.monotonic() + LIMIT
    for _, _, names, descriptor in os.fwalk(mount_point(), onerror=lost.append):
        directories += 1
        for name in names:
            try:
                held = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except OSError as error:
                lost.append(error)
                continue
            files += 1
            volume += held.st_size if stat.S_ISREG(held.st_mode) else 0
        if time.monotonic() > end:
            return files, directories, volume, len(lost), False
    return files, directories, volume, len(lost), True


def _problems(system: System, pool: Pool, log: str) -> list[str]:
    done = system.attempt(["xfs_repair", "-n", "-l", log, pool.filesystem.device])
    if done.status not in (0, FOUND):
        raise Failed(f"xfs_repair -n cannot examine the file system: {last_words(done)}")
    lines = [printable(line) for line in (*done.out.splitlines(), *done.err.splitlines()) if line.strip()]
    return [line for line in lines if not line.startswith(PHASES)] if done.status == FOUND else []
