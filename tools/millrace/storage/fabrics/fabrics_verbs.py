# SPDX-License-Identifier: Apache-2.0
"""`millrace backend …`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

import click

from millrace.system.nvme import FIRST_PORT, Transport
from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.storage.fabrics.fabrics_model import ConnectionList, ConnectionReport, ConnectionRow

_change = prints("millrace.storage.fabrics.fabrics_model:ConnectionReport")


@click.group(cls=VerbGroup)
def backend() -> None:
    """Connect the external device of the pool over NVMe/TCP or NVMe/RDMA, now and at each boot."""


@backend.command("list")
@prints("millrace.storage.fabrics.fabrics_model:ConnectionList")
def list_connections(show: Output) -> None:
    """List connections with their paths and block devices, and the NQN of this server."""
    from millrace.storage.fabrics import connect

    show(connect.connection_list(), _table)


@backend.command("connect")
@click.argument("nqn")
@click.option(
    "--address", "addresses", multiple=True, required=True, help="Address of the target; repeatable: a path each."
)
@click.option(
    "--transport", type=click.Choice(get_args(Transport)), default="tcp", show_default=True, help="Transport."
)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=FIRST_PORT, show_default=True, help="Port of the target."
)
@click.option("--dhchap-stdin", is_flag=True, help="Read the DH-HMAC-CHAP secret of this host from standard input.")
@_change
def connect_subsystem(
    nqn: str, addresses: tuple[str, ...], transport: Transport, port: int, dhchap_stdin: bool, show: Output
) -> None:
    """Connect the subsystem NQN, which must allow this server: `millrace backend list` shows its own NQN."""
    from millrace.storage.fabrics import connect
    from millrace.system.prompt import secret
    from millrace.system.run import attempt

    given = secret("DH-HMAC-CHAP secret", True, "--dhchap-stdin") if dhchap_stdin else None
    _report(connect.connect(connect.wanted(nqn, transport, port, addresses, given), given, attempt), show)


@backend.command()
@click.argument("nqn")
@_change
def disconnect(nqn: str, show: Output) -> None:
    """Connect the subsystem NQN no more; refused while the pool lies on it."""
    from millrace.storage.fabrics import connect

    _report(connect.disconnect(nqn), show)


@backend.command(hidden=True)
def restore() -> None:
    """Connect everything that is recorded (started by millrace-backend.service)."""
    from millrace.storage.fabrics import connect
    from millrace.system.errors import Failed
    from millrace.system.run import attempt

    if problems := connect.connect_all(attempt):
        raise Failed(f"not connected yet: {'; '.join(problems)}")


@backend.command(hidden=True)
def release() -> None:
    """Disconnect everything that is recorded and not in use (millrace-backend-release.service, at shutdown)."""
    from millrace.storage.fabrics import connect
    from millrace.system.errors import Failed

    if left := connect.release():
        raise Failed(f"still connected: {'; '.join(left)}")


def _report(report: "ConnectionReport", show: Output) -> None:
    def lines(done: "ConnectionReport") -> Iterator[str]:
        yield done.done
        if done.connection is not None:
            yield from _row(done.connection)

    show(report, lines, report.warnings)


def _table(found: "ConnectionList") -> Iterator[str]:
    if not found.connections:
        yield "Nothing is connected: millrace backend connect NQN --address ADDRESS"
    for one in found.connections:
        yield f"{one.nqn}, {one.transport} port {one.port}{', authenticated' if one.authenticated else ''}"
        yield from _row(one)
    yield f"NQN of this server: {found.host_nqn or 'it has none yet'}"


def _row(one: "ConnectionRow") -> Iterator[str]:
    from millrace.system.printing import table
    from millrace.system.text import size

    yield from table(("Path", "State"), [(path.address, path.state) for path in one.paths], indent=2)
    yield from table(("Device", "Size"), [(each.device, size(each.size)) for each in one.namespaces], indent=2)
