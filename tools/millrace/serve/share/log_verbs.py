# SPDX-License-Identifier: Apache-2.0
"""`millrace share log` and `share disconnect`."""

from typing import TYPE_CHECKING

import click

from millrace.serve.config.completion import SHARES
from millrace.system.command import command
from millrace.system.output import Output, prints
from millrace.system.printing import table

if TYPE_CHECKING:
    from millrace.serve.share.model import Share, ShareLog

HEADERS = ("Time", "User", "Client", "Action", "File")


@click.command("log")
@click.argument("name", shell_complete=SHARES)
@click.option("--lines", "-n", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Newest entries.")
@prints("millrace.serve.share.model:ShareLog")
def log_(name: str, lines: int, show: Output) -> None:
    """Show who opened and changed which files of a share over SMB, where `share set --audit` is on."""
    from millrace.serve.share.access_log import access_log
    from millrace.system.run import quickly
    from millrace.system.users import only_root

    only_root()
    show(access_log(_share(name), lines, quickly), _rows)


@click.command("disconnect")
@click.argument("name", shell_complete=SHARES)
@prints("millrace.serve.share.model:DisconnectReport")
def disconnect_(name: str, show: Output) -> None:
    """Disconnect all SMB clients of a share, which closes their files; they connect again by themselves."""
    from millrace.serve.share.connections import disconnect
    from millrace.system.run import quickly
    from millrace.system.users import only_root

    only_root()
    show(disconnect(_share(name), quickly), lambda done: [f"Disconnected SMB clients of {done.share}: {done.clients}."])


def _share(name: str) -> "Share":
    """Return the share of this name. Refused: there is none."""
    from millrace.serve.share.desired import shares
    from millrace.storage.record.pool_file import known_pool
    from millrace.system.errors import Refused

    pool = known_pool()
    share = next((share for share in shares(pool) if share.name == name), None) if pool else None
    if share is None:
        raise Refused(f"share {name} does not exist: millrace share list")
    return share


def _rows(log: "ShareLog") -> list[str]:
    from millrace.serve.share.access_log import loss, said

    off = (
        [] if log.audit else [f"The access log is off: {command('millrace share set', log.share, options=['--audit'])}"]
    )
    lost = loss(log)
    return [*off, *([lost] if lost else []), *(table(HEADERS, said(log)) if log.entries else ["No entries."])]
