# SPDX-License-Identifier: Apache-2.0
"""What is kept of the checks of all arrays (`/var/lib/millrace/scrub.json`)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from millrace import paths
from millrace.errors import BadInput
from millrace.system import locks
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.text import moment, size

By = Literal["administrator", "policy"]
StoppedBy = Literal["administrator", "window", "service", "array", "benchmark"]


class Scrubbed(Contract):
    """A check of one array that came to its end. `bytes` were read from all members, in so many `seconds` of reading.

    `mismatches` in sectors of 512 bytes, `bad_areas` in md's lists of bad blocks. `started` and `ended` are ISO 8601 in
    UTC; a check that took several windows lasted longer than it read.
    """

    started: str
    ended: str
    bytes: int
    seconds: float
    mismatches: int
    bad_areas: int


class UnderWay(Contract):
    """A check of one array that has not come to its end: it goes on at `sector` of each member, of `sectors`.

    `least` and `most` are the limits of a synchronisation to restore, null while it does not run.
    """

    started: str
    sector: int
    sectors: int
    seconds: float
    mismatches: int
    least: str | None = None
    most: str | None = None


class ArrayScrub(Contract):
    """The checks of one array; `last` and `under_way` are null where there is none."""

    array: str
    uuid: str
    last: Scrubbed | None = None
    under_way: UnderWay | None = None


class Round(Contract):
    """A check of all arrays, one after another. The one of the policy runs in its window only."""

    started: str
    by: By


class ScrubStop(Contract):
    """Why a round does not go on: a sentence, and what it was in one word."""

    at: str
    by: StoppedBy
    reason: str


class FilesystemScrub(Contract):
    """The last check of the metadata of XFS; `problem` is null where it is sound."""

    started: str
    ended: str
    seconds: float
    problem: str | None


class ScrubRecord(Contract):
    """The checks of all arrays and of the file system; `round` is null between two rounds."""

    schema_version: Literal[1] = 1
    round: Round | None = None
    stopped: ScrubStop | None = None
    arrays: list[ArrayScrub] = Field(default_factory=list)
    filesystem: FilesystemScrub | None = None

    def of(self, uuid: str, array: str) -> ArrayScrub:
        """Return what is kept of an array; nothing of one that was never checked."""
        return next((one for one in self.arrays if one.uuid == uuid), ArrayScrub(array=array, uuid=uuid))

    def having(self, changed: ArrayScrub) -> "ScrubRecord":
        """Return the record with this array changed."""
        others = [one for one in self.arrays if one.uuid != changed.uuid]
        return self.model_copy(update={"arrays": [*others, changed]})


def load() -> ScrubRecord:
    """Return the record; an empty one where there is none, or none that can be parsed: it is history."""
    try:
        return read_model(paths.scrub_file(), ScrubRecord)
    except BadInput:
        return ScrubRecord()


def change(how: Callable[[ScrubRecord], ScrubRecord]) -> ScrubRecord:
    """Change the record under its lock; return what it is now."""
    with locks.held(paths.state_dir() / "scrub.lock"):
        changed = how(load())
        write_model(paths.scrub_file(), changed)
    return changed


def stamp(moment: datetime) -> str:
    """Return a moment as it is kept: in UTC, to the second."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def epoch(stamped: str) -> int:
    """Return a moment that was kept in seconds since 1970."""
    return int(datetime.fromisoformat(stamped).timestamp())


def in_words(one: Scrubbed | None) -> str:
    """Return the result of the last check in words."""
    if one is None:
        return "never checked"
    bad = f", {one.bad_areas} areas that cannot be read" if one.bad_areas else ""
    return f"last checked {moment(one.ended)}, {size(one.bytes)} read, {one.mismatches} sectors do not match{bad}"
