# SPDX-License-Identifier: Apache-2.0
"""What is kept of the trims of the file system (`/var/lib/millrace/trim.json`)."""

from collections.abc import Callable
from typing import Literal

from millrace.storage.record.scrub_record import By
from millrace.system import locks, paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import BadInput

TrimStoppedBy = Literal["administrator", "window", "service", "array", "benchmark", "check", "plan", "refused"]


class Trimmed(Contract):
    """A trim that came to the end of the file system.

    `bytes` were trimmed in so many `seconds`: FITRIM, and the drives after it; `longest` is that of one slice.
    `started` and `ended` are ISO 8601 in UTC; with its pauses, and over several windows, a trim lasted longer.
    """

    started: str
    ended: str
    bytes: int
    seconds: float
    longest: float


class TrimRound(Contract):
    """A trim that has not come to its end. It goes on at byte `offset` of `size`, with a slice of `slice` bytes.

    One of the policy runs in the window only. The other fields are those of a trim at its end, until now.
    """

    started: str
    by: By
    size: int
    offset: int
    slice: int
    bytes: int
    seconds: float
    longest: float


class TrimStop(Contract):
    """Why a trim does not go on: a sentence, and what it was in one word."""

    at: str
    by: TrimStoppedBy
    reason: str


class TrimRecord(Contract):
    """The trims of the file system `uuid`; `round` is null between two trims, `last` before the first.

    `stopped` without a round: what kept a trim from its beginning, or by "plan" what ended the last one early.
    """

    schema_version: Literal[1] = 1
    uuid: str
    round: TrimRound | None = None
    stopped: TrimStop | None = None
    last: Trimmed | None = None


def load(uuid: str) -> TrimRecord:
    """Return what is kept of the file system `uuid`; nothing of another one.

    It is empty where there is none, or none that can be parsed: it is history.
    """
    try:
        kept = read_model(paths.trim_file(), TrimRecord)
    except BadInput:
        kept = None
    return kept if kept is not None and kept.uuid == uuid else TrimRecord(uuid=uuid)


def change(uuid: str, how: Callable[[TrimRecord], TrimRecord]) -> TrimRecord:
    """Change the record of a file system under its lock; return what it is now."""
    with locks.held(paths.state_dir() / "trim.lock"):
        changed = how(load(uuid))
        write_model(paths.trim_file(), changed)
    return changed
