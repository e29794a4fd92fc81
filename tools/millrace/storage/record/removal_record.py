# SPDX-License-Identifier: Apache-2.0
"""The record of drives that were taken out of the pool on purpose: one that is put back is left alone."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Literal

from millrace.system import locks, paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError

KEPT = 256
"""Drives that are kept, the latest first."""


class Removal(Contract):
    """A drive that an administrator took out of its arrays. `at` is ISO 8601 in UTC."""

    serial: str
    at: str


class Removals(Contract):
    """The drives that were taken out and did not join again since (`/var/lib/millrace/removed.json`)."""

    schema_version: Literal[1] = 1
    removals: list[Removal]


def load() -> dict[str, str]:
    """Return when each drive was taken out, by serial; nothing where the record is missing or cannot be parsed."""
    try:
        return {one.serial: one.at for one in read_model(paths.removed_file(), Removals).removals}
    except MillraceError:
        return {}


def add(serial: str, now: str) -> None:
    """Record that a drive has left its arrays."""
    with _lock():
        _save({serial: now} | {one: at for one, at in load().items() if one != serial})


def forget(serials: Collection[str]) -> None:
    """Remove drives that are members again from the record."""
    if known := load().keys() & set(serials):
        with _lock():
            _save({one: at for one, at in load().items() if one not in known})


def _save(found: dict[str, str]) -> None:
    removals = [Removal(serial=serial, at=at) for serial, at in found.items()]
    write_model(paths.removed_file(), Removals(removals=removals[:KEPT]))


def _lock() -> AbstractContextManager[None]:
    return locks.held(paths.state_dir() / "removed.lock")
