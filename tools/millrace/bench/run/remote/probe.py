# SPDX-License-Identifier: Apache-2.0
"""Whether the fio of a client works in the confinement that its loads get there."""

from millrace.bench.run.remote.connection import Connection, Unreachable
from millrace.bench.run.remote.measurer import report
from millrace.errors import Failed

NOTHING = "[nothing]\nioengine=null\nrw=read\nbs=4k\nsize=4k\n"
SECONDS = 120.0


def works(connection: Connection) -> None:
    """Have the client do nothing, once; Unreachable where that does not work."""
    try:
        report(connection, connection.ask("fio", SECONDS, job=NOTHING))
    except Failed as error:
        raise Unreachable(f"{connection.facts.fio} of client {connection.name} does not work: {error}") from error
