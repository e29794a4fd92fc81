# SPDX-License-Identifier: Apache-2.0
"""What the verbs of backups print for people."""

from collections.abc import Iterable, Iterator

from millrace.protect.backup import backup_target
from millrace.protect.backup.backup_job import WORDS
from millrace.protect.backup.backup_model import (
    BackupAdded,
    BackupLine,
    BackupList,
    BackupOutcome,
    BackupProgress,
    BackupRow,
    BackupVersions,
)
from millrace.system.command import command
from millrace.system.printing import table
from millrace.system.progress_bar import BarState, progress_bar
from millrace.system.text import duration, moment, size


def listed(known: BackupList) -> list[str]:
    """Return the table of all backups."""
    if not known.backups:
        return ["There is no backup. To add one: millrace backup add NAME SHARE TARGET"]
    rows = [
        (
            row.backup.name + (" (paused)" if row.backup.paused else ""),
            row.backup.share,
            backup_target.words(row.backup.target),
            outcome(row.state.run),
            outcome(row.state.check),
            outcome(row.state.drill),
        )
        for row in known.backups
    ]
    return [*table(("Backup", "Share", "Target", "Last run", "Last check", "Last drill"), rows)]


def outcome(last: BackupOutcome | None) -> str:
    """Return how a task ended, for a cell."""
    if last is None:
        return "never"
    if last.problem is None:
        return moment(last.at)
    return "failed " + moment(last.at)


def detailed(row: BackupRow, public_key: str | None) -> Iterator[str]:
    """Yield what there is to say of one backup."""
    backup, state = row.backup, row.state
    yield f"backup {backup.name} of share {backup.share} to {backup_target.words(backup.target)}"
    yield (
        f"every {duration(backup.every * 3600)}; check every {duration(backup.check_every * 3600)}, drill every "
        f"{duration(backup.drill_every * 3600)}{'; paused' if backup.paused else ''}"
    )
    if backup.append_only:
        yield "append-only: this server removes no version; retention is set at the target"
    else:
        kept = backup.retention
        yield f"kept versions: {kept.daily} daily, {kept.weekly} weekly, {kept.monthly} monthly"
    if backup.host_key is not None:
        yield f"host key of the SFTP server: {backup.host_key}"
    if public_key is not None:
        yield f"SSH key of this backup: {public_key}"
    for title, last in (("run", state.run), ("check", state.check), ("drill", state.drill)):
        yield f"last {title}: {outcome(last)}" + (f": {last.problem}" if last is not None and last.problem else "")
        if last is not None and last.problem is not None and last.succeeded is not None:
            yield f"  the last one that succeeded: {moment(last.succeeded)}"
    if (moved := state.moved) is not None:
        yield (
            f"last version: {moved.files} files, {size(moved.bytes)}; {moved.read} files were read, {size(moved.sent)} "
            f"were sent in {duration(moved.seconds)}"
        )
        if moved.unread:
            yield f"files that could not be read: {moved.unread}; their names are in the journal"
    if row.due is not None:
        yield f"due now: {WORDS[row.due]} {backup.name}"


def added(result: BackupAdded) -> Iterator[str]:
    """Yield what an administrator has to keep, and does next."""
    backup = result.backup
    if result.public_key is not None:
        yield f"install this SSH key at {backup_target.words(backup.target)}, for SFTP in its directory alone:"
        yield result.public_key
    if result.password is not None:
        yield "password of the repository, shown now; without it nothing can be restored after a loss of this server:"
        yield result.password
        yield f"keep it on paper with the target: {backup_target.words(backup.target)}"
        yield f"the first run makes the repository: {command('millrace backup run', backup.name)}"
    else:
        yield f"the repository is attached: {command('millrace backup versions', backup.name)}"
        yield (
            "it is paused, so nothing is sent before files came back: "
            f"{command('millrace backup resume', backup.name)}, or {command('millrace backup run', backup.name)}"
        )


def versions(kept: BackupVersions) -> list[str]:
    """Return the table of the versions in a repository."""
    if not kept.versions:
        return ["The repository has no version."]
    rows = [
        (each.id[:8], f"{each.share}@{each.snapshot}", moment(each.time), str(each.files), size(each.bytes))
        for each in kept.versions
    ]
    return [*table(("Version", "Snapshot", "Sent", "Files", "Size"), rows)]


def bar(lines: Iterable[BackupLine]) -> BackupLine | None:
    """Show lines of progress as they come; return the last line."""
    return progress_bar(lines, _state, "starting")


def _state(line: object) -> BarState | None:
    if not isinstance(line, BackupProgress):
        return None
    done = f": {size(line.done)}" if line.done else ""
    return BarState(f"{line.step}{done}", line.done, line.total)
