# SPDX-License-Identifier: Apache-2.0
"""The only directory of the pool that a benchmark writes to. It is removed after every run, also after a crash.

Beside the shares, like the trash of removed ones: no name of a share begins with a dot.
"""

import os
import pwd
import shutil
import stat
from pathlib import Path

from millrace.measure.bench.run.local import USER
from millrace.serve.config.model import FIRST_PROJECT
from millrace.serve.share.quota import cap, enabled
from millrace.system import paths, reflink
from millrace.system.errors import Failed, Refused
from millrace.system.run import Runner
from millrace.system.trees import nofollow

NAME = ".millrace-bench"
PROJECT = FIRST_PROJECT - 1


def home(mountpoint: str) -> Path:
    """The directory of all runs; it exists only while one is active."""
    return paths.ROOT / mountpoint.lstrip("/") / NAME


def make(mountpoint: str, budget: int, run: Runner) -> Path:
    """Create an empty directory that only the benchmark's user can enter, limited to a little more than `budget` bytes.

    Remove what an earlier run left there. Refused: the pool cannot be written. Failed: the limit cannot be set.
    """
    path = home(mountpoint)
    remove(mountpoint, run)
    who = pwd.getpwnam(USER)
    try:
        path.mkdir(0o700)
    except OSError as error:
        raise Refused(f"{mountpoint} cannot be written ({error.strerror}): `millrace health` says more") from error
    try:
        os.chown(path, who.pw_uid, who.pw_gid, follow_symlinks=False)
        if enabled(mountpoint):
            _limit(path, mountpoint, budget, run)
    except BaseException:
        remove(mountpoint, run)
        raise
    return path


def remove(mountpoint: str, run: Runner) -> bool:
    """Remove everything that benchmarks left in the pool; return whether there was anything.

    Failed: its path is not a directory.
    """
    path = home(mountpoint)
    if not os.path.lexists(path):
        return False
    # lstat above and rmtree here: a link would be removed, never followed
    if path.is_symlink() or not path.is_dir():
        raise Failed(f"{path} is not a directory of a benchmark; move it away")
    shutil.rmtree(path)
    if enabled(mountpoint):
        run(["xfs_quota", "-x", "-c", f"limit -p bsoft=0 bhard=0 {PROJECT}", mountpoint])
    return True


def drop_cached(at: int) -> None:
    """Drop the server's page cache of the files below the descriptor `at`: the next read comes from the drives."""
    for _, _, names, where in os.fwalk(".", dir_fd=at, follow_symlinks=False):
        for name in names:
            try:
                # a client may have put a pipe there: opening it would wait for its other end
                descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=where)
            except OSError:
                # a link or a socket, or gone
                continue
            try:
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    os.fdatasync(descriptor)
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def _limit(path: Path, mountpoint: str, budget: int, run: Runner) -> None:
    try:
        with nofollow.directory(path) as at:
            reflink.set_project(at, PROJECT)
        # room for the metadata of many small files
        cap(PROJECT, budget * 9 // 8 + (64 << 20), mountpoint, run)
    except (Failed, OSError) as error:
        raise Failed(f"the space of the benchmark cannot be limited: {error}") from error
