# SPDX-License-Identifier: Apache-2.0
"""`millrace replica …`, on the server that has the replica."""

import signal
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from millrace.protect.replica.replica_completion import REPLICAS
from millrace.system.command import command
from millrace.system.output import Output, prints
from millrace.system.printing import table
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.protect.replica.replica_model import (
        DrillReport,
        Promotion,
        ReplicaChange,
        ReplicaList,
        ReplicaReport,
        ReplicaRow,
    )

Line = TypeVar("Line")
_MODEL = "millrace.protect.replica.replica_model"
_change = prints(f"{_MODEL}:ReplicaChange")
FILE = click.File("r", encoding="ascii", errors="replace")


@click.group(cls=VerbGroup)
def replica() -> None:
    """Keep replicas of shares of other servers: pulled from their snapshots, which the source cannot remove here."""


@replica.command()
@click.argument("place", metavar="ADDRESS:SHARE")
@click.argument("authority", type=FILE, metavar="FILE")
@click.option("--name", help="Name of the share here; the default is that of the source.")
@click.option("--every", default="1h", show_default=True, help="Period: 15m to 7d; the source makes the snapshots.")
@click.option("--keep", type=int, default=48, show_default=True, help="Snapshots of the source that are kept here.")
@click.option("--fingerprint", help="First 32 or more digits of the fingerprint of the CA; without it, prompted for.")
@_change
def add(
    place: str, authority: TextIO, name: str | None, every: str, keep: int, fingerprint: str | None, show: Output
) -> None:
    """Add a replica of a share of another server.

    FILE has the CA of that server (`millrace certificate show --ca` there; `-` reads stdin). An administrator of that
    server allows this one: `millrace replica allow` there, with what `millrace replica certificate` prints here.
    """
    from millrace.protect.replica import replica_change
    from millrace.protect.replica.replica_pairing_verbs import confirmed
    from millrace.serve.share.server import this_server

    settings = {"every": replica_change.minutes(every), "keep": keep}
    pair = confirmed(authority, fingerprint)
    show(replica_change.add(place, name, settings, pair, this_server), _changed)


@replica.command("list")
@prints(f"{_MODEL}:ReplicaList")
def list_replicas(show: Output) -> None:
    """List the replicas of this server, and the servers that have replicas of its shares."""
    from millrace.protect.replica.replica_status import listed
    from millrace.serve.share.server import this_server

    show(listed(this_server()), _table)


@replica.command()
@click.argument("name", shell_complete=REPLICAS)
@prints(f"{_MODEL}:ReplicaList")
def status(name: str, show: Output) -> None:
    """Show age, lag, last run and last drill of a replica."""
    from millrace.protect.replica.replica_status import listed
    from millrace.serve.share.server import this_server

    show(listed(this_server(), name), _details)


@replica.command()
@click.argument("name", shell_complete=REPLICAS)
@click.option("--full-verify", is_flag=True, help="Compare all files with the source, not a sample.")
@prints(f"{_MODEL}:ReplicaLine", lines=True, words="Print progress as JSON lines.")
def sync(name: str, full_verify: bool, show: Output) -> None:
    """Bring a replica up to date now.

    Closing this terminal does not stop it: `millrace job show replica`, `millrace job cancel replica`.
    """
    from millrace.protect.replica import replica_job
    from millrace.protect.replica.replica_model import ReplicaReport
    from millrace.serve.share.server import this_server
    from millrace.system.errors import Failed

    server = this_server()
    order = replica_job.prepare(name, "sync", full_verify)
    replica_job.start(order, server)
    ended = show.each(replica_job.follow(order, server), _bar)
    if not isinstance(ended, ReplicaReport):
        raise Failed(f"replica {name} is not up to date: millrace job show replica")
    show.text(_synced(ended))


@replica.command()
@click.argument("name", shell_complete=REPLICAS)
@prints(f"{_MODEL}:DrillLine", lines=True, words="Print progress as JSON lines.")
def drill(name: str, show: Output) -> None:
    """Restore a sample of the newest snapshot of a replica, and compare it with the source.

    One file of 100 is restored beside the share, 1000 at most, compared and removed.
    """
    from millrace.protect.replica import replica_job
    from millrace.protect.replica.replica_model import DrillReport
    from millrace.serve.share.server import this_server
    from millrace.system.errors import Failed

    server = this_server()
    order = replica_job.prepare(name, "drill")
    replica_job.start(order, server)
    ended = show.each(replica_job.follow(order, server), _bar)
    if not isinstance(ended, DrillReport):
        raise Failed(f"the drill of {name} did not end well: millrace job show replica")
    show.text(_drilled(ended))
    if ended.different:
        raise Failed(
            f"{ended.different} of {ended.files} files differ from the source: the next snapshot is read as a whole; "
            "verify the drives of the pool: millrace drive list"
        )


@replica.command()
@click.argument("name", shell_complete=REPLICAS)
@_change
def pause(name: str, show: Output) -> None:
    """Pause a replica: it is not brought up to date until it is resumed."""
    from millrace.protect.replica.replica_change import pause as set_paused

    show(set_paused(name, True), _changed)


@replica.command()
@click.argument("name", shell_complete=REPLICAS)
@_change
def resume(name: str, show: Output) -> None:
    """Resume a replica that was paused."""
    from millrace.protect.replica.replica_change import pause as set_paused

    show(set_paused(name, False), _changed)


@replica.command()
@click.argument("name", shell_complete=REPLICAS)
@click.option("--name-again", metavar="NAME", help="Name of the replica, to confirm; without it, it is prompted for.")
@prints(f"{_MODEL}:PromotionLine", lines=True, words="Print progress as JSON lines.")
def promote(name: str, name_again: str | None, show: Output) -> None:
    """Serve a replica as a share, as it was in its newest snapshot; it is no replica afterwards.

    It gets the type, the limits and the SMB users of the source. Users and groups that this server lacks are named.
    """
    from millrace.protect.replica.replica_model import Promotion
    from millrace.protect.replica.replica_promote import chosen
    from millrace.protect.replica.replica_promote import promote as serve
    from millrace.protect.snapshot.snapshot_bar import snapshot_bar
    from millrace.serve.share.server import this_server
    from millrace.system.errors import Failed
    from millrace.system.prompt import repeated
    from millrace.system.text import moment

    server = this_server()
    newest = chosen(name, server)
    # before it is confirmed, and before it begins
    at = moment(newest.moment or newest.last)
    click.echo(f"{name} becomes what it was in snapshot {newest.name}, as of {at}", err=True)
    again = name_again or repeated("Name of the replica to promote", "--name-again NAME")
    ended = show.each(serve(name, again, server), snapshot_bar)
    if not isinstance(ended, Promotion):
        raise Failed(f"replica {name} is not promoted: run the same command again")
    show.text(_promoted(ended))


@replica.command()
@click.argument("name", shell_complete=REPLICAS)
@click.option("--name-again", metavar="NAME", help="Name of the replica, to confirm; without it, it is prompted for.")
@_change
def remove(name: str, name_again: str | None, show: Output) -> None:
    """End a replica; its snapshots remain, as those of a former share."""
    from millrace.protect.replica.replica_change import remove as end
    from millrace.serve.share.server import this_server
    from millrace.system.prompt import repeated

    again = name_again or repeated("Name of the replica to remove", "--name-again NAME")
    show(end(name, again, this_server), _changed)


@replica.command("upkeep", hidden=True)
def upkeep_() -> None:
    """Start the replica that is due, and list snapshots for replicas elsewhere (millrace-cleanup@schedule.service)."""
    from millrace.protect.replica.replica_upkeep import upkeep
    from millrace.serve.share.server import this_server

    for line in upkeep(this_server()):
        click.echo(line)


@click.command("replica-execute", hidden=True)
def replica_execute() -> None:
    """Bring a replica up to date, or try it, as the order names (started by millrace-reflink@replica.service)."""
    from millrace.protect.replica.replica_model import DrillReport
    from millrace.protect.replica.replica_run import execute
    from millrace.serve.clone.clone_job import Reflinks
    from millrace.serve.share.server import this_server

    # what is complete stays, and the next run goes on
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    ended = execute(this_server(), Reflinks())
    for line in _drilled(ended) if isinstance(ended, DrillReport) else _synced(ended):
        click.echo(line)


@click.command("replica-end", hidden=True)
def replica_end() -> None:
    """Record a run of a replica that was killed (millrace-reflink@replica.service at its end)."""
    from millrace.protect.replica.replica_job import end
    from millrace.system.users import only_root

    only_root()
    end()


def _bar(lines: Iterable[Line]) -> Line | None:
    from millrace.protect.replica.replica_model import ReplicaProgress
    from millrace.system.progress_bar import BarState, progress_bar
    from millrace.system.text import pace, size

    def state(line: Line) -> BarState | None:
        if not isinstance(line, ReplicaProgress):
            return None
        words = f"{line.entries} of {line.total} files and directories, {size(line.fetched)} read"
        return BarState(words + pace(line.rate, None), line.entries, line.total)

    return progress_bar(lines, state, "starting")


def _synced(report: "ReplicaReport") -> Iterator[str]:
    from millrace.system.text import moment, size

    yield f"{report.share} has snapshot {report.snapshot} of {report.source}, as of {moment(report.moment)}"
    if not report.is_new:
        yield "it was here already"
        return
    yield (
        f"{report.entries} files and directories: {report.shared} files share all blocks of the snapshot before, of "
        f"{report.changed} the ranges that differ were read; {size(report.fetched)} were read, and "
        f"{size(report.verified)} compared with the source"
    )
    if report.unread:
        yield (
            f"{report.unread} files cannot be read on the source and are missing; the journal names them: "
            "journalctl -u millrace-reflink@replica.service"
        )


def _drilled(report: "DrillReport") -> Iterator[str]:
    from millrace.system.text import size

    result = f"{report.different} differ" if report.different else "all are as on the source"
    yield f"{report.files} files of {report.share}@{report.snapshot} ({size(report.bytes)}) were restored: {result}"


def _promoted(ended: "Promotion") -> Iterator[str]:
    from millrace.system.text import moment

    yield f"share {ended.share} is served, as it was on its source at {moment(ended.moment)}"
    yield from ended.missing
    yield from ended.warnings
    yield "it is no replica any more: set a schedule of snapshots, and add a replica of it"


def _changed(change: "ReplicaChange") -> Iterator[str]:
    yield from change.done
    yield from change.warnings


def _table(listed: "ReplicaList") -> list[str]:
    lines: list[str] = []
    if listed.replicas:
        titles = ("Replica", "Source", "Period", "Snapshots", "As of", "State")
        lines += table(titles, [_cells(row) for row in listed.replicas])
    else:
        lines.append("There is no replica here. To add one: millrace replica add ADDRESS:SHARE FILE")
    lines += [f"{row.address} may read the snapshots of {row.share}" for row in listed.readers]
    return lines


def _cells(row: "ReplicaRow") -> tuple[str, str, str, str, str, str]:
    from millrace.system.text import duration, moment

    as_of = moment(row.moment) if row.moment else "never"
    return row.share, row.source, duration(row.every * 60), str(row.snapshots), as_of, _state(row)


def _state(row: "ReplicaRow") -> str:
    if row.running:
        return "running"
    if row.paused:
        return "paused"
    return row.late or row.last.problem or ("up to date" if row.newest else "not started yet")


def _details(listed: "ReplicaList") -> Iterator[str]:
    from millrace.system.text import duration, moment

    for row in listed.replicas:
        yield f"{row.share} is a replica of {row.source}, every {duration(row.every * 60)}: {_state(row)}"
        if row.newest and row.age is not None:
            yield f"newest snapshot {row.newest}, {duration(row.age)} old; {row.snapshots} of {row.keep} are here"
        if row.lag is not None:
            yield f"it had the newest snapshot of its source {duration(row.lag)} ago"
        if row.last.problem:
            yield f"last run: {row.last.problem}"
        if row.last.drill is not None:
            drill = row.last.drill
            yield f"last drill {moment(drill.at)}: {drill.files} files, {drill.different} differ"
        else:
            yield f"no drill yet: {command('millrace replica drill', row.share)}"
