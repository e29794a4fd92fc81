# SPDX-License-Identifier: Apache-2.0
"""Which clients a run may drive: added once they have answered, removed by name."""

import socket
from datetime import UTC, datetime
from pathlib import Path

from millrace import store
from millrace.bench import store as results
from millrace.bench.remote.connection import Connection
from millrace.bench.remote.model import BenchClient, BenchClients
from millrace.bench.remote.probe import speaks
from millrace.config.who import only_root
from millrace.errors import BadInput, Refused


def file() -> Path:
    """Where they are kept."""
    return results.home() / "clients.json"


def load() -> BenchClients:
    """All of them."""
    return store.read_model(file(), BenchClients) if file().exists() else BenchClients()


def add(name: str) -> BenchClient:
    """A client that answers now, and whose fio speaks with ours; Refused, and nothing kept, where it does not."""
    only_root()
    known = load()
    if any(one.name == name for one in known.clients):
        raise Refused(f"{name} is there already: `millrace bench clients list`")
    address = resolved(name)
    with Connection(name, address) as connection:
        speaks(connection)
        made = BenchClient(
            name=name,
            address=address,
            added=datetime.now(UTC).isoformat(timespec="seconds"),
            facts=connection.facts,
        )
    store.write_model(file(), BenchClients(clients=[*known.clients, made]))
    return made


def remove(name: str) -> BenchClients:
    """Those that are left."""
    only_root()
    known = load()
    left = BenchClients(clients=[one for one in known.clients if one.name != name])
    if len(left.clients) == len(known.clients):
        raise BadInput(unknown(name))
    store.write_model(file(), left)
    return left


def chosen(names: list[str]) -> list[BenchClient]:
    """Clients by name; BadInput where one was never added."""
    known = {one.name: one for one in load().clients}
    for name in names:
        if name not in known:
            raise BadInput(unknown(name))
    return [known[name] for name in names]


def unknown(name: str) -> str:
    return f"{name} is not a client of this benchmark: `millrace bench clients add {name}`"


def resolved(name: str) -> str:
    """An address of a host; BadInput where nobody knows it."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{name} is not a name or an address that this server knows") from error
    return str(found[0][4][0])
