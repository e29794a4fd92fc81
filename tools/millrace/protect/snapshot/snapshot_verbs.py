# SPDX-License-Identifier: Apache-2.0
"""`millrace snapshot …`."""

import signal
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from millrace.protect.snapshot.snapshot_completion import SNAPSHOTS
from millrace.serve.config.completion import SHARES
from millrace.system.command import command
from millrace.system.output import Output, prints
from millrace.system.printing import table
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.protect.snapshot.retention_model import Retention
    from millrace.protect.snapshot.snapshot_model import (
        RestoreLine,
        SnapshotDirectory,
        SnapshotList,
        SnapshotManifest,
        SnapshotRow,
    )

_MODEL = "millrace.protect.snapshot.snapshot_model"


@click.group(cls=VerbGroup)
def snapshot() -> None:
    """Manage snapshots of shares, which no client can reach or change."""


@snapshot.command()
@click.argument("share", shell_complete=SHARES)
@click.option("--large", is_flag=True, help="Also of a share with more than 5 million files and directories.")
@prints(f"{_MODEL}:SnapshotLine", lines=True, words="Print progress as JSON lines.")
def create(share: str, large: bool, show: Output) -> None:
    """Make a snapshot of SHARE by reflink.

    Each file is as it was at one moment. What clients change meanwhile is taken again, or named. The snapshot shares
    the blocks of the share until they change. Closing this terminal does not stop it: `millrace job show snapshot`,
    `millrace job cancel snapshot`.
    """
    from millrace.protect.snapshot import snapshot_job
    from millrace.protect.snapshot.snapshot_bar import snapshot_bar
    from millrace.protect.snapshot.snapshot_model import SnapshotManifest
    from millrace.serve.share.server import this_server
    from millrace.system.errors import Failed

    server = this_server()
    order = snapshot_job.prepare(share, large, server)
    snapshot_job.start(order, server)
    ended = show.each(snapshot_job.follow(order, server), snapshot_bar)
    if not isinstance(ended, SnapshotManifest):
        raise Failed(f"there is no snapshot of {share}: millrace job show snapshot")
    show.text(_made(ended))


@snapshot.command("list")
@click.argument("share", required=False, shell_complete=SHARES)
@prints(f"{_MODEL}:SnapshotList")
def list_snapshots(share: str | None, show: Output) -> None:
    """List the snapshots of all shares, or of SHARE."""
    from millrace.protect.snapshot.snapshot_store import SnapshotStore
    from millrace.serve.config import store
    from millrace.serve.share.server import this_server
    from millrace.system.errors import BadInput
    from millrace.system.names import share_name
    from millrace.system.users import only_root

    only_root()
    if share is not None and (problem := share_name.problem(share)):
        raise BadInput(problem)
    snapshots = SnapshotStore(this_server().pool.filesystem.mountpoint)
    show(snapshots.listed(store.load(), share), _table)


@snapshot.command()
@click.argument("place", metavar="SHARE@SNAPSHOT[/DIRECTORY]", shell_complete=SNAPSHOTS)
@prints(f"{_MODEL}:SnapshotDirectory")
def browse(place: str, show: Output) -> None:
    """List the files in a directory of a snapshot."""
    from millrace.protect.snapshot.snapshot_store import SnapshotStore
    from millrace.serve.share.server import this_server
    from millrace.system.users import only_root

    only_root()
    snapshots = SnapshotStore(this_server().pool.filesystem.mountpoint)
    show(snapshots.browse(snapshots.known(place)), _directory)


@snapshot.command()
@click.argument("older", metavar="SHARE@SNAPSHOT[/DIRECTORY]", shell_complete=SNAPSHOTS)
@click.argument("newer", metavar="[SHARE@SNAPSHOT[/DIRECTORY]]", required=False, shell_complete=SNAPSHOTS)
@prints("millrace.protect.snapshot.compare_model:SnapshotComparison")
def compare(older: str, newer: str | None, show: Output) -> None:
    """List how a share differs from a snapshot of it, or a newer snapshot from an older one.

    The names and attributes of all files are compared. Content is read only where the blocks are not shared.
    """
    from millrace.protect.snapshot import compare_text
    from millrace.protect.snapshot.snapshot_compare import compare as compare_trees
    from millrace.serve.share.server import this_server

    show(compare_trees(older, newer, this_server()), compare_text.lines)


@snapshot.command()
@click.argument("place", metavar="SHARE@SNAPSHOT/PATH", shell_complete=SNAPSHOTS)
@click.argument("target", metavar="[SHARE/PATH]", required=False)
@prints(f"{_MODEL}:RestoreLine", lines=True, words="Print progress as JSON lines.")
def get(place: str, target: str | None, show: Output) -> None:
    """Put a file or a directory of a snapshot back where it was, or at another path.

    Nothing that exists is replaced. A directory, or a whole snapshot, is cloned: see `millrace share clone-status`.
    """
    from millrace.protect.snapshot.snapshot_model import RestoredFile
    from millrace.protect.snapshot.snapshot_restore import restore
    from millrace.serve.clone.clone_job import Reflinks
    from millrace.serve.clone.clone_model import Clone
    from millrace.serve.share.server import this_server
    from millrace.system.errors import Failed

    ended = show.each(restore(place, target, this_server(), Reflinks()), _last)
    if isinstance(ended, Clone) and ended.state == "done":
        show.text([f"{ended.source} is restored to {ended.target}: {ended.entries} files and directories"])
        return
    if not isinstance(ended, RestoredFile):
        reason = ended.reason if isinstance(ended, Clone) else "millrace share clone-status"
        raise Failed(f"{place} is not restored: {reason}")
    show.text([f"{ended.source} is restored to {ended.target}"])


@snapshot.command()
@click.argument("place", metavar="SHARE@SNAPSHOT", shell_complete=SNAPSHOTS)
@click.option("--share-again", metavar="SHARE", help="Name of the share, to confirm; without it, it is prompted for.")
@prints("millrace.protect.snapshot.rollback_model:RollbackLine", lines=True, words="Print progress as JSON lines.")
def rollback(place: str, share_again: str | None, show: Output) -> None:
    """Make a share what a snapshot of it is; what it holds now becomes a snapshot.

    All files are exchanged in one step. SMB clients are disconnected and connect again by themselves; NFS clients have
    to mount the share again. Closing this terminal does not stop it: `millrace job show snapshot`.
    """
    from millrace.protect.snapshot import rollback_text, snapshot_rollback
    from millrace.protect.snapshot.rollback_model import SnapshotRollback
    from millrace.protect.snapshot.snapshot_bar import snapshot_bar
    from millrace.serve.share.server import this_server
    from millrace.system.errors import Failed
    from millrace.system.prompt import repeated

    server = this_server()
    wanted = snapshot_rollback.forecast(place, server)
    if share_again is not None:
        snapshot_rollback.confirm(wanted.share, share_again)
    show.text(rollback_text.before(wanted))
    if share_again is None:
        snapshot_rollback.confirm(wanted.share, repeated("Name of the share to roll back", "--share-again SHARE"))
    order = snapshot_rollback.prepare(wanted, server)
    snapshot_rollback.start(order, server)
    ended = show.each(snapshot_rollback.follow(order, server), snapshot_bar)
    if not isinstance(ended, SnapshotRollback):
        raise Failed(f"share {wanted.share} is not rolled back: millrace job show snapshot")
    show.text(rollback_text.after(ended, snapshot_rollback.problem(server)))


@snapshot.command(hidden=True)
def sweep() -> None:
    """Free the space of removed snapshots and of those not completed (started by millrace-cleanup@snapshot.service)."""
    from millrace.protect.snapshot import rollback_run
    from millrace.protect.snapshot.snapshot_run import sweep as sweep_snapshots
    from millrace.serve.share.server import this_server
    from millrace.system.users import only_root

    only_root()
    server = this_server()
    # first: a rollback whose journal cannot be read keeps no space from being freed
    if not sweep_snapshots(server):
        click.echo("A snapshot is being made; what it leaves is removed when it has ended.")
    if remains := rollback_run.resume(server):
        click.echo(remains)


@click.command("snapshot-execute", hidden=True)
def snapshot_execute() -> None:
    """Make the snapshot that the order names, or roll a share back (started by millrace-reflink@snapshot.service)."""
    from millrace.protect.snapshot.rollback_run import carry_out
    from millrace.protect.snapshot.snapshot_run import execute
    from millrace.serve.clone.clone_again import ChangeClock
    from millrace.serve.clone.clone_job import Reflinks
    from millrace.serve.share.server import this_server

    # what is under way is removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for line in _made(execute(this_server(), Reflinks(), ChangeClock(), carry_out)):
        click.echo(line)


@click.command("snapshot-end", hidden=True)
def snapshot_end() -> None:
    """Record a snapshot that was cancelled or killed (millrace-reflink@snapshot.service at its end)."""
    from millrace.protect.snapshot.snapshot_run import end
    from millrace.serve.share.server import this_server
    from millrace.system.users import only_root

    only_root()
    end(this_server)


def _last(lines: "Iterable[RestoreLine]") -> "RestoreLine | None":
    ended: RestoreLine | None = None
    for line in lines:
        ended = line
    return ended


def _made(manifest: "SnapshotManifest") -> Iterator[str]:
    from millrace.system.text import moment

    yield f"{manifest.share}@{manifest.name} has {manifest.entries} files and directories"
    if manifest.moment is not None:
        yield f"the share as it was at one moment: {moment(manifest.moment)}"
    else:
        yield (
            f"each file as it was at one moment between {moment(manifest.first)} and {moment(manifest.last)}; "
            f"{manifest.changed_count} files or directories changed until the end{':' if manifest.changed else ''}"
        )
        yield from (f"  {name}" for name in manifest.changed[:10])
    if manifest.skipped:
        yield f"{manifest.skipped} device files or mounts are not in the snapshot"
    if manifest.bare_count:
        which = "file or directory has" if manifest.bare_count == 1 else "files or directories have"
        yield (
            f"{manifest.bare_count} {which} more than 64 KiB of names of attributes, which are not in the snapshot; "
            "the access lists are:"
        )
        yield from (f"  {name}" for name in manifest.bare[:10])


def _table(listed: "SnapshotList") -> list[str]:
    if not listed.snapshots:
        return ["There is no snapshot. To make one: millrace snapshot create SHARE"]
    rows = [_cells(row) for row in listed.snapshots]
    lines: list[str] = [*table(("Snapshot", "Files", "Size", "As of"), rows)]
    lines += [line for row in listed.snapshots for line in _fate(row)]
    lines += [line for each in listed.tighter for line in _tighter(each)]
    lines += [listed.problem] if listed.problem else []
    damaged = [row for row in listed.snapshots if row.problem]
    lines += [
        f"{row.share}@{row.name} has no manifest that can be read ({row.problem}); its files are there. "
        f"To look: {command('millrace snapshot browse', f'{row.share}@{row.name}')}"
        for row in damaged
    ]
    return lines


def _fate(row: "SnapshotRow") -> Iterator[str]:
    from millrace.system.text import moment, one_line

    place = f"{row.share}@{row.name}"
    if row.lock is not None:
        yield f"{place} is locked until {moment(row.lock.until)}"
    if row.removal is not None:
        by, at = one_line(row.removal.by), moment(row.removal.at)
        yield (
            f"{place} will be removed at {moment(row.removal.due)}; {by} ordered it at {at}; to keep it: "
            f"{command('millrace snapshot keep', place)}"
        )


def _tighter(retention: "Retention") -> Iterator[str]:
    from millrace.system.text import moment

    if retention.tighter is not None:
        yield (
            f"{retention.share} keeps {retention.tighter.wanted.words} snapshots from {moment(retention.tighter.due)}, "
            f"and {retention.kept.words} until then"
        )


def _cells(row: "SnapshotRow") -> tuple[str, str, str, str]:
    from millrace.system.text import moment, size

    name = f"{row.share}@{row.name}" + (" (of a former share)" if row.former else "")
    manifest = row.manifest
    if manifest is None:
        return name, "", "", "unknown"
    when = f"{moment(manifest.first)}, {manifest.changed_count} files changed meanwhile"
    return name, str(manifest.entries), size(manifest.bytes), moment(manifest.moment) if manifest.moment else when


def _directory(listed: "SnapshotDirectory") -> list[str]:
    from millrace.system.text import moment, size

    rows = [
        (f"{entry.name}/" if entry.kind == "directory" else entry.name, size(entry.bytes), moment(entry.changed))
        for entry in listed.entries
    ]
    lines: list[str] = [*table(("Name", "Size", "Changed"), rows)] if rows else [f"{listed.place} is empty"]
    return [*lines, f"… and {listed.more} more"] if listed.more else lines
