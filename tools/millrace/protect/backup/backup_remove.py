# SPDX-License-Identifier: Apache-2.0
"""A backup is removed from this server: its decision, its secrets, its cache and the snapshots made for it."""

import shutil
from collections.abc import Callable
from contextlib import suppress

from millrace.protect.backup import backup_job, backup_store, restic_unit
from millrace.protect.backup.backup_model import BackupPaused
from millrace.protect.backup.backup_run import HOLDER, bases, remove_made
from millrace.protect.snapshot import snapshot_holds
from millrace.serve.share.server import ShareServer
from millrace.system.errors import MillraceError, Refused
from millrace.system.trees import nofollow
from millrace.system.users import only_root


def remove(name: str, again: str, server: Callable[[], ShareServer]) -> BackupPaused:
    """Remove a backup; its repository stays. Refused: `again` is another name, or a task of it is under way.

    BadInput: `name` is no name of a backup. OSError: the boot drive fails.
    """
    only_root()
    backup = backup_store.known(name)
    if again != name:
        raise Refused(f"{again} is not the name of the backup that would be removed: nothing was changed")
    order = backup_job.ORDER.get()
    if order is not None and order.backup == name:
        raise Refused(f"a task of backup {name} is under way: millrace job cancel backup")
    backup_store.remove(name)
    # without the pool they stay
    with suppress(MillraceError, OSError):
        here = server()
        work = restic_unit.work(backup, here.pool.filesystem.mountpoint)
        for above in (work.parent.parent, work.parent):
            nofollow.require_private(above)
        shutil.rmtree(work, ignore_errors=True)
        snapshot_holds.hold(HOLDER, False, bases())
        remove_made(backup.share, bases(), here)
    return BackupPaused(name=name, paused=True)
