# SPDX-License-Identifier: Apache-2.0
"""Clients that a run may drive, as they are kept."""

from collections.abc import Sequence
from pathlib import Path

from millrace.bench.result import store as results
from millrace.bench.result.client import BenchClient, BenchClients
from millrace.errors import BadInput
from millrace.system.documents import read_model, write_model


def file() -> Path:
    """Where they are kept."""
    return results.home() / "clients.json"


def load() -> BenchClients:
    """All of them."""
    return read_model(file(), BenchClients) if file().exists() else BenchClients()


def keep(clients: Sequence[BenchClient]) -> BenchClients:
    """Keep these clients, instead of those before."""
    kept = BenchClients(clients=list(clients))
    write_model(file(), kept)
    return kept


def chosen(names: list[str]) -> list[BenchClient]:
    """Clients by name; BadInput where one was never added."""
    known = {one.name: one for one in load().clients}
    for name in names:
        if name not in known:
            raise BadInput(unknown(name))
    return [known[name] for name in names]


def unknown(name: str) -> str:
    """The sentence for a client that was never added."""
    return f"{name} is not a benchmark client: `millrace bench clients add {name}`"
