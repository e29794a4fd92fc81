# SPDX-License-Identifier: Apache-2.0
"""The last changes: who, when, what, and the complete state after each, which makes rollback simple."""

from typing import Literal

from millrace.serve.config import files
from millrace.serve.config.model import Config
from millrace.serve.config.network import DesiredModel
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Refused

KEPT = 50


class RecordedChange(DesiredModel):
    """One change. `when` is ISO 8601 in UTC, `config` the state after it."""

    schema_version: Literal[1] = 1
    number: int
    who: str
    when: str
    what: str
    config: Config


def record(change: RecordedChange) -> None:
    """Write a change durably, and keep the last 50 of all.

    A change above it was recorded and never became the state (the power failed in between): it is removed.
    """
    write_model(files.history_file(change.number), change)
    for number in files.history_numbers():
        if number <= change.number - KEPT or number > change.number:
            files.history_file(number).unlink(missing_ok=True)


def read(number: int) -> RecordedChange:
    """Return the change `number`. Refused: it is not kept. BadInput: its file cannot be parsed."""
    if not files.history_file(number).exists():
        kept = files.history_numbers()
        span = f"kept are {kept[0]} to {kept[-1]}" if kept else "none is kept"
        raise Refused(f"there is no change {number}; {span}: millrace config history")
    return read_model(files.history_file(number), RecordedChange)


def last_good() -> RecordedChange | None:
    """Return the newest change that can be read; None if there is none."""
    for number in reversed(files.history_numbers()):
        try:
            return read_model(files.history_file(number), RecordedChange)
        except (BadInput, OSError, UnicodeDecodeError):
            continue
    return None


def changes(up_to: int) -> list[RecordedChange]:
    """Return all changes with a number of at most `up_to` that can be read, newest first: later ones took no effect."""
    history = []
    for number in reversed(files.history_numbers()):
        try:
            change = read_model(files.history_file(number), RecordedChange)
        except (BadInput, OSError, UnicodeDecodeError):
            continue
        if change.number <= up_to:
            history.append(change)
    return history
