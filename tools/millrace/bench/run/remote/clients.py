# SPDX-License-Identifier: Apache-2.0
"""Which clients a run may drive: added once they have answered, removed by name."""

import socket
from datetime import UTC, datetime
from pathlib import Path

from millrace.bench.result import store as results
from millrace.bench.result.client import BenchClient, BenchClients
from millrace.bench.run.remote import tokens
from millrace.bench.run.remote.connection import Connection
from millrace.bench.run.remote.probe import works
from millrace.errors import BadInput
from millrace.system.documents import read_model, write_model
from millrace.system.users import only_root


def file() -> Path:
    """Where they are kept."""
    return results.home() / "clients.json"


def load() -> BenchClients:
    """All of them."""
    return read_model(file(), BenchClients) if file().exists() else BenchClients()


def add(name: str, typed: str) -> BenchClient:
    """A client that answers now, knows the token and has a fio that works; nothing is kept where it does not.

    A client that is there already gets its new address, facts and token: its program has another one each time.
    """
    only_root()
    token = tokens.checked(typed)
    address = resolved(name)
    with Connection(name, address, token) as connection:
        works(connection)
        made = BenchClient(
            name=name,
            address=address,
            added=datetime.now(UTC).isoformat(timespec="seconds"),
            facts=connection.facts,
        )
    others = [one for one in load().clients if one.name != name]
    # first: a client without a token could not be driven, a token without a client harms nobody
    tokens.keep(name, token)
    write_model(file(), BenchClients(clients=[*others, made]))
    return made


def remove(name: str) -> BenchClients:
    """Those that are left."""
    only_root()
    known = load()
    left = BenchClients(clients=[one for one in known.clients if one.name != name])
    if len(left.clients) == len(known.clients):
        raise BadInput(unknown(name))
    write_model(file(), left)
    tokens.drop(name)
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
