# SPDX-License-Identifier: Apache-2.0
"""The registered clients that a run may use."""

from collections.abc import Sequence
from pathlib import Path

from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.client import BenchClient, BenchClients
from millrace.system.command import command
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput


def file() -> Path:
    """The file of the registered clients."""
    return results.home() / "clients.json"


def load() -> BenchClients:
    """Return all registered clients."""
    return read_model(file(), BenchClients) if file().exists() else BenchClients()


def keep(clients: Sequence[BenchClient]) -> BenchClients:
    """Write these clients in place of those before."""
    kept = BenchClients(clients=list(clients))
    write_model(file(), kept)
    return kept


def chosen(names: list[str]) -> list[BenchClient]:
    """Return clients by name. BadInput: one is not registered."""
    known = {one.name: one for one in load().clients}
    for name in names:
        if name not in known:
            raise BadInput(unknown(name))
    return [known[name] for name in names]


def unknown(name: str) -> str:
    """Return the sentence for a client that is not registered."""
    return f"{name} is not a benchmark client: `{command('millrace bench clients add', name)}`"
