# SPDX-License-Identifier: Apache-2.0
"""Repair of an XFS whose log is lost: the new log is emptied, and the metadata are made consistent without it."""

from millrace.plan.model import Filesystem
from millrace.storage.array.machine import Report, System
from millrace.system.errors import Failed
from millrace.system.run import last_words


def repair(system: System, filesystem: Filesystem, log: str, report: Report) -> None:
    """Run xfs_repair with the new log on device `log`; `report` receives its lines. It can be run again.

    xfs_repair writes a log whose cycle is after all that the metadata carry, so that the kernel takes it for theirs
    (repair/xfs_repair.c, format_log_max_lsn). Failed: it does not end well.
    """
    done = system.follow(["xfs_repair", "-L", "-l", log, filesystem.device], report)
    if done.status != 0:
        raise Failed(
            f"xfs_repair ended with status {done.status}: {last_words(done)}; the pool stays unmounted. Run this step "
            "again; if it fails again, keep the image and ask for help"
        )
