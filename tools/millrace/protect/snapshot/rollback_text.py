# SPDX-License-Identifier: Apache-2.0
"""What a rollback does to a share and its clients, and how it ended, as lines for an administrator."""

from collections.abc import Iterator

from millrace.protect.snapshot.rollback_model import RollbackForecast, SnapshotRollback
from millrace.system.command import command
from millrace.system.text import moment, size


def before(wanted: RollbackForecast) -> Iterator[str]:
    """Yield what the rollback does."""
    when = f", as of {moment(wanted.moment)}" if wanted.moment is not None else ""
    yield (
        f"Share {wanted.share} becomes the snapshot {wanted.snapshot}: {wanted.entries} files and directories, "
        f"{size(wanted.bytes)}{when}."
    )
    yield "All files of the share are exchanged in one step. Its current files become a snapshot."
    yield "Its exports, its limits, its SMB settings and the permissions of its top directory stay."
    yield "All other permissions and owners are those of the snapshot: rights that were taken away since return."
    if wanted.smb:
        yield "SMB clients are disconnected. They connect again by themselves."
    if wanted.nfs:
        yield (
            "NFS clients get the error 'Stale file handle' and have to mount the share again. What they write to open "
            "files after the snapshot of the current files is complete is lost: stop programs that write first."
        )


def after(ended: SnapshotRollback, problem: str | None = None) -> Iterator[str]:
    """Yield how it ended, and the problem that remains."""
    yield f"share {ended.share} is rolled back to {ended.snapshot}"
    undo = command("millrace snapshot rollback", f"{ended.share}@{ended.kept}")
    yield f"its former files are the snapshot {ended.share}@{ended.kept}; to undo the rollback: {undo}"
    if problem is not None:
        yield f"warning: {problem}"
