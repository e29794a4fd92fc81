# SPDX-License-Identifier: Apache-2.0
"""`millrace session …`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.printing import Cell, table
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.serve.share.session import SessionList

HEADERS = ("Client", "Protocol", "Version", "Transport", "Lanes", "Open files", "Name")


@click.group(cls=VerbGroup)
def session() -> None:
    """List connected clients."""


@session.command("list")
@prints("millrace.serve.share.session:SessionList")
def list_(show: Output) -> None:
    """List NFS and SMB clients: host, protocol, transport, connections, open files."""
    from millrace.serve.share.session import sessions
    from millrace.system.run import quickly

    found = sessions(quickly)
    show(found, _rows, found.warnings)


def _rows(listing: "SessionList") -> Iterator[str]:
    rows: list[list[Cell]] = [
        [
            client.host or "?",
            client.protocol,
            client.version,
            client.transport,
            "?" if client.lanes is None else client.lanes,
            "?" if client.open_files is None else client.open_files,
            client.name,
        ]
        for client in listing.sessions
    ]
    yield from table(HEADERS, rows, right=("Lanes", "Open files"))
    if not listing.sessions and not listing.warnings:
        yield "No clients are connected."
