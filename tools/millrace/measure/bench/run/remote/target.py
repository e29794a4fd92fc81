# SPDX-License-Identifier: Apache-2.0
"""The benchmark's directory on real clients while they measure: exported to them alone, and mounted."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event

from millrace.measure.bench.plan import connections
from millrace.measure.bench.plan.job import Target
from millrace.measure.bench.result.client import BenchClient
from millrace.measure.bench.run import loopback
from millrace.measure.bench.run.export import exported
from millrace.measure.bench.run.remote import tokens
from millrace.measure.bench.run.remote.connection import MOUNT_SECONDS, ClientConnection
from millrace.system.errors import Failed
from millrace.system.run import Runner

OPTIONS = {
    "nfs-tcp": loopback.USUAL,
    "nfs-rdma": loopback.RDMA,
    **{target: loopback.over(wanted) for target, wanted in connections.TO_ONE_ADDRESS.items()},
}


@contextmanager
def opened(
    target: str, directory: Path, chosen: Sequence[BenchClient], stop: Event, run: Runner
) -> Iterator[tuple[Target, list[ClientConnection]]]:
    """Connect to all clients and prepare them for measuring; afterwards undo everything on them."""
    with ExitStack() as stack:
        connections = [
            stack.enter_context(ClientConnection(client.name, client.address, tokens.of(client.name), stop))
            for client in chosen
        ]
        where = ""
        for connection in connections:
            stack.enter_context(exported(directory, connection.address, run))
            reply = connection.request("mount", MOUNT_SECONDS, path=str(directory), options=OPTIONS[target])
            where = str(reply["directory"])
            # before the export goes
            stack.callback(_release, connection)
        yield Target(directory=Path(where), copies=len(connections)), connections


def _release(connection: ClientConnection) -> None:
    # a client that is gone, or was disconnected, does it by itself
    with suppress(Failed):
        connection.request("release", MOUNT_SECONDS, even_when_stopped=True)
