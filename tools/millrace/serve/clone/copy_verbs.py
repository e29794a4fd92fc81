# SPDX-License-Identifier: Apache-2.0
"""`millrace share copy`."""

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
    """
    from millrace.serve.clone import copy_run
    from millrace.serve.clone.copy_model import CopyReport
    from millrace.serve.share.server import this_server
    from millrace.system.errors import Failed

    server = this_server()
    export, place = copy_run.prepare(source, target, server)
    ended = show.each(copy_run.copy(export, place, server), _bar)
    if not isinstance(ended, CopyReport):
        raise Failed(f"{source} is not copied completely: run the same command again")
    show.text(_done(ended))
    if ended.unreadable or ended.changed:
        raise Failed(_incomplete(ended))


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


def _incomplete(report: "CopyReport") -> str:
    words = []
    if report.unreadable:
        words.append(
            f"{report.unreadable} files or directories are not copied, because the source server treats root of this "
            "server as nobody (root_squash): export the share to this server with squash `none` for the copy, or make "
            "them readable for others"
        )
    if report.changed:
        words.append(f"{report.changed} files changed while they were read")
    return f"{'; '.join(words)}. Then run the same command again."
