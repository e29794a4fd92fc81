# SPDX-License-Identifier: Apache-2.0
"""`millrace session …`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints

if TYPE_CHECKING:
    from millrace.serve.share.session import SessionList


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
    for one in found.sessions:
        lanes = "?" if one.lanes is None else str(one.lanes)
        yield (
            f"{one.host or '?':<24} {one.protocol} {one.version:<10} {one.transport:<8} {lanes:>3} lanes  "
            f"{'?' if one.open_files is None else one.open_files:>6} open  {one.name}"
        )
    if not found.sessions and not found.warnings:
        yield "No clients are connected."
