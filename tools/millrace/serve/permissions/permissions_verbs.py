# SPDX-License-Identifier: Apache-2.0
"""`millrace share permissions`."""

import signal
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from millrace.serve.config.completion import SHARES
from millrace.system.command import command
from millrace.system.output import Output, prints

if TYPE_CHECKING:
    from millrace.serve.permissions.permissions_model import PermissionsLine, PermissionsReport


@click.command("permissions")
@click.argument("name", shell_complete=SHARES)
@click.option("--apply", "apply", is_flag=True, help="Set them; without it they are only compared.")
@prints(
    "millrace.serve.permissions.permissions_model:PermissionsLine", lines=True, words="Print progress as JSON lines."
)
def permissions_(name: str, apply: bool, show: Output) -> None:
    """Compare the permissions of everything in the share NAME with its rule for writing, or set them.

    Owners are kept; groups, modes and access lists follow the rule. Files with several names (hard links) are skipped.
    Closing this terminal does not stop it: `millrace job show permissions`, `millrace job cancel permissions`.
    """
    from millrace.serve.permissions import permissions_job
    from millrace.serve.permissions.permissions_model import PermissionsReport
    from millrace.serve.share.server import this_server
    from millrace.system.errors import Failed

    server = this_server()
    share = permissions_job.prepare(name, server)
    if apply:
        lines = permissions_job.follow(permissions_job.start(share, server), server)
    else:
        lines = iter([permissions_job.inspect(share)])
    ended = show.each(lines, lambda printed: _said(printed, show))
    if not isinstance(ended, PermissionsReport):
        raise Failed(f"the permissions of {name} are not known: run the same command again")
    show.text(_ended(ended))


@click.command("permissions-execute", hidden=True)
def permissions_execute() -> None:
    """Set the permissions in the share of the order (started by millrace-permissions.service)."""
    from millrace.serve.permissions.permissions_job import execute
    from millrace.serve.share.server import this_server

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for line in _ended(execute(this_server())):
        click.echo(line)


@click.command("permissions-cleanup", hidden=True)
def permissions_cleanup() -> None:
    """Record a walk that was killed (millrace-permissions.service at its end)."""
    from millrace.serve.permissions.permissions_job import clean_up

    clean_up()


def _said(lines: "Iterable[PermissionsLine]", show: Output) -> "PermissionsLine | None":
    from millrace.serve.permissions.permissions_model import PermissionsProgress

    last = None
    for last in lines:
        if isinstance(last, PermissionsProgress):
            of = "counted" if last.total is None else f"of {last.total}"
            show.text([f"{last.done} {of} files and directories"])
    return last


def _ended(report: "PermissionsReport") -> Iterator[str]:
    if report.applied:
        yield f"{report.differ} of {report.entries} files and directories in {report.share} have new permissions"
    else:
        yield f"{report.differ} of {report.entries} files and directories in {report.share} have other permissions"
        if report.differ:
            again = command("millrace share permissions", report.share, options=["--apply"])
            yield f"To set them: {again}"
    if report.linked:
        yield f"{report.linked} files have several names (hard links) and keep their permissions"
    if report.refused:
        yield f"{report.refused} files are immutable and keep their permissions"
