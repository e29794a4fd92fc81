# SPDX-License-Identifier: Apache-2.0
"""`millrace session …`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.printing import Cell, table

if TYPE_CHECKING:
    from millrace.serve.share.session import SessionList

HEADERS = ("Client", "Protocol", "Version", "Transport", "Lanes", "Open files", "Name")


@click.group()
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


def _rows(found: "SessionList") -> Iterator[str]:
    rows: list[list[Cell]] = [
        [
            one.host or "?",
            one.protocol,
            one.version,
            one.transport,
            "?" if one.lanes is None else one.lanes,
            "?" if one.open_files is None else one.open_files,
            one.name,
        ]
        for one in found.sessions
    ]
    yield from table(HEADERS, rows, right=("Lanes", "Open files"))
    if not found.sessions and not found.warnings:
        yield "No clients are connected."
