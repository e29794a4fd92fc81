# SPDX-License-Identifier: Apache-2.0
"""Clients are registered once they have answered and their fio works in its confinement; they are removed by name."""

import socket
from datetime import UTC, datetime

from millrace.measure.bench.plan import clients
from millrace.measure.bench.result.client import BenchClient, BenchClients
from millrace.measure.bench.run.remote import tokens
from millrace.measure.bench.run.remote.connection import ClientConnection, Unreachable
from millrace.measure.bench.run.remote.measurer import report
from millrace.system.errors import BadInput, Failed
from millrace.system.users import only_root

NOTHING = "[nothing]\nioengine=null\nrw=read\nbs=4k\nsize=4k\n"
SECONDS = 120.0


def add(name: str, typed: str) -> BenchClient:
    """Register a client that answers, knows the token and has a fio that works; else nothing is kept.

    A registered client gets its new address, facts and token: its program has another token at each start.
    """
    only_root()
    token = tokens.checked(typed)
    address = resolved(name)
    with ClientConnection(name, address, token) as connection:
        works(connection)
        client = BenchClient(
            name=name,
            address=address,
            added=datetime.now(UTC).isoformat(timespec="seconds"),
            facts=connection.facts,
        )
    others = [other for other in clients.load().clients if other.name != name]
    # first: a client without a token could not be used, a token without a client does no harm
    tokens.keep(name, token)
    clients.keep([*others, client])
    return client


def remove(name: str) -> BenchClients:
    """Remove a client; return those that remain. BadInput: there is no such client."""
    only_root()
    known = clients.load()
    left = [one for one in known.clients if one.name != name]
    if len(left) == len(known.clients):
        raise BadInput(clients.unknown(name))
    kept = clients.keep(left)
    tokens.drop(name)
    return kept


def resolved(name: str) -> str:
    """Return an address of a host. BadInput: its name does not resolve."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{name} does not resolve on this server") from error
    return str(found[0][4][0])


def works(connection: ClientConnection) -> None:
    """Have the client run an empty load once. Unreachable: it does not work."""
    try:
        report(connection, connection.request("fio", SECONDS, job=NOTHING))
    except Failed as error:
        raise Unreachable(f"{connection.facts.fio} of client {connection.name} does not work: {error}") from error
