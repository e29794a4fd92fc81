# SPDX-License-Identifier: Apache-2.0
"""A clone of a share or of a directory of one: what is asked for, its forecast, its progress, and how it ended."""

from typing import Literal

from pydantic import Field

from millrace.system import paths
from millrace.system.documents import Contract, Count, read_model, write_model
from millrace.system.errors import MillraceError

CloneState = Literal["running", "done", "failed", "cancelled", "interrupted"]
ClonePhase = Literal["count", "clone", "serve"]

USUAL_RATE = 3000.0
"""Files and directories a second until this server has measured its own rate."""


class CloneOrder(Contract):
    """What the unit is to clone: `SHARE` or `SHARE/DIRECTORY` each; `size` in bytes limits a new share."""

    id: str
    source: str
    target: str
    seal: bool
    size: int | None
    by: str


class CloneForecast(Contract):
    """What a clone needs, and whether it fits; `obstacle` is why it does not.

    `seconds` follows from the rate of the last clone of this server (`measured`), else from a usual one. `metadata` are
    the bytes of the pool that are written, `charged` the bytes that count against the quota of the target.
    """

    schema_version: Literal[1] = 1
    source: str
    target: str
    entries: Count
    charged: Count
    metadata: Count
    seconds: Count
    measured: bool
    obstacle: str | None


class CloneProgress(Contract):
    """How far a clone is: files and directories done of all that were counted; `total` is null while it counts."""

    schema_version: Literal[1] = 1
    source: str
    target: str
    phase: ClonePhase
    done: Count
    total: int | None
    seconds_left: int | None


class Clone(Contract):
    """The last clone. `inode` is that of its directory, `share` whether it became a share of its own.

    `changed` entries were removed or replaced by clients meanwhile, `skipped` are devices and what is mounted.
    """

    schema_version: Literal[1] = 1
    id: str
    source: str
    target: str
    sealed: bool
    share: bool
    by: str
    state: CloneState
    boot: str
    began: str
    ended: str | None = None
    reason: str | None = None
    entries: Count = 0
    changed: Count = 0
    skipped: Count = 0
    seconds: float = Field(default=0.0, ge=0)
    inode: int | None = None
    verified: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)


class CloneStatus(Contract):
    """The last clone of this server, and how far it is where it is under way."""

    schema_version: Literal[1] = 1
    clone: Clone | None
    progress: CloneProgress | None


# What `millrace share clone --json` prints: progress many times, the clone as it ended.
CloneLine = CloneProgress | Clone
# With --dry-run, the forecast only.


def load() -> Clone | None:
    """Return the last clone; None where there is none or its record cannot be read: nothing depends on it."""
    try:
        return read_model(paths.clone_file(), Clone)
    except MillraceError:
        return None


def save(clone: Clone) -> None:
    """Write the record of the clone in the place of the one before."""
    write_model(paths.clone_file(), clone)


def rate() -> float | None:
    """Return how many files and directories a second the last clone made; None where that says little."""
    last = load()
    if last is None or last.state != "done" or last.seconds < 1 or last.entries < USUAL_RATE:
        return None
    return last.entries / last.seconds
