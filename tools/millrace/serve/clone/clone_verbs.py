# SPDX-License-Identifier: Apache-2.0
"""`millrace share clone`, its status and its cancellation, and `millrace share unseal`."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from millrace.serve.config.completion import SHARES
from millrace.system.command import command
from millrace.system.output import Output, prints
from millrace.system.printing import notes

if TYPE_CHECKING:
    from millrace.serve.clone.clone_model import Clone, CloneForecast, CloneLine, CloneProgress, CloneStatus
    from millrace.serve.share.model import ChangeReport


@click.command()
@click.argument("source", metavar="SHARE[@SNAPSHOT][/DIRECTORY]", shell_complete=SHARES)
@click.argument("target", metavar="NEW-SHARE|SHARE/DIRECTORY")
@click.option("--seal", is_flag=True, help="Make a share that no client can write until it is unsealed.")
@click.option("--size", "limit", metavar="SIZE", help="Size limit of a new share, for example 500G or 10T.")
@click.option("--dry-run", is_flag=True, help="Count the source and print the forecast; clone nothing.")
@prints(
    "millrace.serve.clone.clone_model:CloneLine",
    {"--dry-run": "millrace.serve.clone.clone_model:CloneForecast"},
    lines=True,
    words="Print progress as JSON lines.",
)
def clone(source: str, target: str, seal: bool, limit: str | None, dry_run: bool, show: Output) -> None:
    """Clone a share, a snapshot, or a directory of one, with everything in it by reflink.

    The clone shares the blocks of the original until one of them is written. It appears in one step when it is
    complete. Closing this terminal does not stop it: see clone-status and clone-cancel.
    """
    from millrace.serve.clone import clone_job
    from millrace.serve.clone.clone_model import Clone
    from millrace.serve.share.server import this_server
    from millrace.system.errors import Failed

    server = this_server()
    order = clone_job.prepare(source, target, seal, limit, server)
    if dry_run:
        show(clone_job.estimate(order, server, lambda _: None, clone_job.Reflinks()), _forecast)
        return
    clone_job.start(order, server)
    ended = show.each(clone_job.follow(order, server), _bar)
    if not isinstance(ended, Clone) or ended.state != "done":
        reason = ended.reason if isinstance(ended, Clone) else None
        raise Failed(f"{order.source} is not cloned: {reason}; nothing of it remains")
    show.text(_done(ended))


@click.command("clone-status")
@prints("millrace.serve.clone.clone_model:CloneStatus")
def clone_status(show: Output) -> None:
    """Show how far the clone under way is, and how the last one ended."""
    from millrace.serve.clone.clone_job import status
    from millrace.system.run import quickly

    show(status(quickly), _status)


@click.command("clone-cancel")
@prints("millrace.serve.clone.clone_model:Clone")
def clone_cancel(show: Output) -> None:
    """Cancel the clone under way and remove what it made."""
    from millrace.serve.clone.clone_job import cancel
    from millrace.system.run import attempt

    show(cancel(attempt), _done)


@click.command("clone-execute", hidden=True)
def clone_execute() -> None:
    """Clone what the order names (started by millrace-reflink@clone.service)."""
    from millrace.serve.clone.clone_job import Reflinks
    from millrace.serve.clone.clone_run import execute
    from millrace.serve.share.server import this_server

    # what is under way is rolled back, a change of the shares, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for line in _done(execute(this_server(), Reflinks())):
        click.echo(line)


@click.command("clone-end", hidden=True)
def clone_end() -> None:
    """Record a clone that was cancelled or killed (millrace-reflink@clone.service at its end)."""
    from millrace.serve.clone.clone_run import end
    from millrace.serve.share.server import this_server

    # systemd.exec(5): a service that was stopped by hand has ended well
    end(this_server, stopped=os.environ.get("SERVICE_RESULT") == "success")


@click.command("clone-sweep", hidden=True)
def clone_sweep() -> None:
    """Remove what a clone left that was cancelled or killed (started by millrace-cleanup@clone.service)."""
    from millrace.serve.clone.clone_run import sweep
    from millrace.serve.share.server import this_server
    from millrace.system.users import only_root

    only_root()
    if not sweep(this_server()):
        click.echo("A clone is under way; what it leaves is removed when it has ended.")


@click.command()
@click.argument("name", shell_complete=SHARES)
@prints("millrace.serve.share.model:ChangeReport")
def unseal(name: str, show: Output) -> None:
    """Unseal the share NAME; it stays read-only until its type is changed. The journal records it."""
    from millrace.serve.share.edit import unseal_share

    def lines(report: "ChangeReport") -> list[str]:
        writable = command("millrace share set", name, options=["--type training"])
        return [f"{name} is no longer sealed; to make it writable: {writable}"]

    report = unseal_share(name)
    show(report, lines, report.warnings)


def _forecast(found: "CloneForecast") -> Iterator[str]:
    from millrace.system.text import size

    basis = "at the rate of the last clone" if found.measured else "estimated: this server has not measured a clone yet"
    yield f"{found.source} has {found.entries} files and directories; a clone takes about {_time(found.seconds)}"
    yield from notes([f"({basis})"])
    yield f"{size(found.metadata)} of the pool are written; {size(found.charged)} count against the quota of the target"
    if found.obstacle:
        yield f"It does not fit: {found.obstacle}"


def _bar(lines: "Iterable[CloneLine]") -> "CloneLine | None":
    from millrace.serve.clone.clone_model import CloneProgress
    from millrace.system.progress_bar import BarState, progress_bar

    def state(line: "CloneLine") -> BarState | None:
        return BarState(_pace(line), line.done, line.total) if isinstance(line, CloneProgress) else None

    return progress_bar(lines, state, "starting")


def _pace(progress: "CloneProgress") -> str:
    if progress.phase == "count":
        return f"counting, {progress.done} files and directories so far"
    if progress.phase == "serve":
        return "serving the clone"
    left = f", {_time(progress.seconds_left)} left" if progress.seconds_left is not None else ""
    return f"{progress.done} of {progress.total} files and directories{left}"


def _done(clone: "Clone") -> Iterator[str]:
    if clone.state != "done":
        yield f"{clone.source} is not cloned to {clone.target}: {clone.reason}"
        return
    sealed = ", sealed" if clone.sealed else ""
    yield f"{clone.source} is cloned to {clone.target}{sealed}: {clone.entries} files and directories"
    if clone.changed:
        yield f"{clone.changed} entries were removed or replaced by clients meanwhile and are not in the clone"
    if clone.skipped:
        yield f"{clone.skipped} device files or mounts are not in the clone"
    yield from clone.verified
    yield from (f"warning: {warning}" for warning in clone.warnings)


def _status(found: "CloneStatus") -> Iterator[str]:
    if found.clone is None:
        yield "This server has not cloned anything yet."
    elif found.clone.state != "running":
        yield from _done(found.clone)
    else:
        pace = _pace(found.progress) if found.progress else "starting"
        yield f"{found.clone.source} is being cloned to {found.clone.target}: {pace}"


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 90 else f"{round(seconds / 60)} min"
