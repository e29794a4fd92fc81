# SPDX-License-Identifier: Apache-2.0
"""`millrace share copy`."""

import signal
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from millrace.serve.config.completion import SHARES
from millrace.system.output import Output, prints

if TYPE_CHECKING:
    from millrace.serve.clone.copy_model import CopyLine, CopyReport


@click.command()
@click.argument("source", metavar="ADDRESS:/PATH")
@click.argument("target", metavar="SHARE[/DIRECTORY]", shell_complete=SHARES)
@prints("millrace.serve.clone.copy_model:CopyLine", lines=True, words="Print progress as JSON lines.")
def copy(source: str, target: str, show: Output) -> None:
    """Copy what another server exports into a share, or into an existing directory of one.

    The policy names the servers that may be copied from (copy_from in [nfs]). Owners, permissions, times, links and
    user.* attributes are kept. A copy that was interrupted goes on where it was when it is run again; files of the same
    size and time are not copied again. Files that exist only here stay.
    Closing this terminal does not stop it: `millrace job show copy`, `millrace job cancel copy`.
    """
    from millrace.serve.clone import copy_job
    from millrace.serve.clone.copy_model import CopyReport
    from millrace.serve.share.server import this_server
    from millrace.system.errors import Failed

    server = this_server()
    order = copy_job.start(source, target, server)
    ended = show.each(copy_job.follow(order, server), _bar)
    if not isinstance(ended, CopyReport):
        raise Failed(f"{source} is not copied completely: run the same command again")
    show.text(_done(ended))
    if sentence := copy_job.incomplete(ended):
        raise Failed(sentence)


@click.command("copy-execute", hidden=True)
def copy_execute() -> None:
    """Copy what the order names (started by millrace-copy.service)."""
    from millrace.serve.clone.copy_job import execute
    from millrace.serve.share.server import this_server

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for line in _done(execute(this_server())):
        click.echo(line)


@click.command("copy-cleanup", hidden=True)
def copy_cleanup() -> None:
    """Record a copy that was killed (millrace-copy.service at its end)."""
    from millrace.serve.clone.copy_job import clean_up

    clean_up()


def _bar(lines: "Iterable[CopyLine]") -> "CopyLine | None":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    from millrace.serve.clone.copy_model import CopyProgress
    from millrace.system.text import pace, size

    with Progress(TextColumn("{task.description}", markup=False), BarColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("counting", total=None)
        last = None
        for last in lines:
            if isinstance(last, CopyProgress):
                words = f"{size(last.bytes)} of {size(last.total_bytes)}{pace(last.rate, last.seconds_left)}"
                bar.update(task, description=words, completed=last.bytes, total=last.total_bytes)
    return last


def _done(report: "CopyReport") -> Iterator[str]:
    from millrace.system.text import size

    kept = f", {report.kept} files of an earlier copy among them" if report.kept else ""
    yield f"{report.source} is copied to {report.target}: {report.entries} entries, {size(report.bytes)}{kept}"
    if report.skipped:
        yield f"{report.skipped} devices, pipes or sockets are not copied"
