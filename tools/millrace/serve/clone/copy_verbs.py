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
    from millrace.serve.clone.copy_model import CopyProgress
    from millrace.system.progress_bar import BarState, progress_bar
    from millrace.system.text import pace, size

    def state(line: "CopyLine") -> BarState | None:
        if not isinstance(line, CopyProgress):
            return None
        words = f"{size(line.bytes)} of {size(line.total_bytes)}{pace(line.rate, line.seconds_left)}"
        return BarState(words, line.bytes, line.total_bytes)

    return progress_bar(lines, state, "counting")


def _done(report: "CopyReport") -> Iterator[str]:
    from millrace.system.text import size

    kept = f", {report.kept} files of an earlier copy among them" if report.kept else ""
    yield f"{report.source} is copied to {report.target}: {report.entries} entries, {size(report.bytes)}{kept}"
    if report.skipped:
        yield f"{report.skipped} devices, pipes or sockets are not copied"
