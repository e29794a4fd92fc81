# SPDX-License-Identifier: Apache-2.0
"""What is kept of the checks of all arrays (`/var/lib/millrace/scrub.json`)."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from millrace.system import ages, locks, paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import BadInput
from millrace.system.text import moment, size

NAMED = 3
"""How many names of files a sentence has."""

By = Literal["administrator", "policy"]
StoppedBy = Literal["administrator", "window", "service", "array", "benchmark"]


class MismatchRange(Contract):
    """Sectors of each member, `end` is the first after them, in which so many `sectors` do not match.

    All of them do not match where the kernel has logged the place; else the place is somewhere within.
    """

    begin: int
    end: int
    sectors: int


class LocatedBlocks(Contract):
    """Blocks of one drive that explain why these sectors of each member do not match, `end` is the first after them.

    `serial` is null where no single drive explains it. `data` is which of the data blocks of its row the drive has
    there, null for parity. `digests` are of what the drive returned, one of each block of 8 sectors: one that was
    written since differs.
    """

    begin: int
    end: int
    serial: str | None
    data: int | None = None
    digests: list[str] = Field(default_factory=list)


class Scrubbed(Contract):
    """A check of one array that came to its end. `bytes` were read from all members, in so many `seconds` of reading.

    `mismatches` in sectors of 512 bytes, with where they are in `ranges`; `bad_areas` in md's lists of bad blocks.
    `started` and `ended` are ISO 8601 in UTC; a check that took several windows lasted longer than it read.
    `floor_kib` is what md was to read of each drive in KiB/s at least, null for a check of an earlier release.
    `located` are blocks of these ranges by drive, and `unlocated` why some or all have none, empty where all have.
    """

    started: str
    ended: str
    bytes: int
    seconds: float
    mismatches: int
    bad_areas: int
    ranges: list[MismatchRange] = Field(default_factory=list)
    floor_kib: int | None = None
    located: list[LocatedBlocks] = Field(default_factory=list)
    unlocated: str = ""


class UnderWay(Contract):
    """A check of one array that has not come to its end: it goes on at `sector` of each member, of `sectors`.

    `least` and `most` are the limits of a synchronisation to restore, null while it does not run. `floor_kib` as of
    `Scrubbed`.
    """

    started: str
    sector: int
    sectors: int
    seconds: float
    mismatches: int
    least: str | None = None
    most: str | None = None
    ranges: list[MismatchRange] = Field(default_factory=list)
    floor_kib: int | None = None


class Repair(Contract):
    """Ranges that are still to be rewritten; `rewritten` sectors did not match and were.

    `write_back` is whether blocks of the wrong drive are written from the others, which is still to be done; else
    parity is computed from the data everywhere; `restored` sectors are written, and `kept` are left as they are because
    they changed since the check. `least` and `most` are the limits of a synchronisation to restore, and `cache` is the
    size of md's stripe cache, null while it does not run.
    """

    asked: str
    ranges: list[MismatchRange]
    rewritten: int = 0
    write_back: bool = False
    restored: int = 0
    kept: int = 0
    cache: str | None = None
    least: str | None = None
    most: str | None = None


class Repaired(Contract):
    """A repair that came to its end: `rewritten` sectors, of which `left` did not match when they were read again.

    `restored` of the sectors were written to the wrong drive, from the others. `kept` is why some were not rewritten.
    """

    ended: str
    rewritten: int
    left: int
    restored: int = 0
    kept: str = ""


class RetiredRows(Contract):
    """Sectors of each member whose data are lost, `end` is the first after them, and that XFS does not use any more."""

    begin: int
    end: int


class ArrayScrub(Contract):
    """The checks of one array, and the last repair; null where there is none.

    `repair` is one that an administrator has confirmed and that has not come to its end. `clean` is when the last check
    began that found no mismatch.
    """

    array: str
    uuid: str
    last: Scrubbed | None = None
    clean: str | None = None
    under_way: UnderWay | None = None
    repair: Repair | None = None
    repaired: Repaired | None = None
    retired: list[RetiredRows] = Field(default_factory=list)


class Round(Contract):
    """A check of all arrays, the log first, then the others side by side.

    The one of the policy runs in its window only.
    """

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


class FileSearch(Contract):
    """How many files have data in ranges that do not match, and the first of their names, relative to the pool.

    `complete` is false where not all names could be searched.
    """

    at: str
    count: int
    names: list[str]
    complete: bool


class ScrubRecord(Contract):
    """The checks of all arrays and of the file system; `round` is null between two rounds.

    `stopped` without a round: why the last one ended early. `files` is the last search for files in doubt, null where
    there was none.
    """

    schema_version: Literal[1] = 1
    round: Round | None = None
    stopped: ScrubStop | None = None
    arrays: list[ArrayScrub] = Field(default_factory=list)
    filesystem: FilesystemScrub | None = None
    files: FileSearch | None = None

    def files_of(self, array: ArrayScrub) -> FileSearch | None:
        """Return the search for files if it came after the last check of this array."""
        known = self.files is not None and array.last is not None and self.files.at >= array.last.ended
        return self.files if known else None

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
    return int(ages.when(stamped).timestamp())


def in_words(one: Scrubbed | None) -> str:
    """Return the result of the last check in words."""
    if one is None:
        return "never checked"
    bad = f", {one.bad_areas} areas that cannot be read" if one.bad_areas else ""
    return f"last checked {moment(one.ended)}, {size(one.bytes)} read, {one.mismatches} sectors do not match{bad}"


def restorable(last: Scrubbed | None) -> int:
    """Return how many sectors a repair writes to their drive from the others."""
    return sum(one.end - one.begin for one in last.located if one.serial is not None) if last else 0


def located_in_words(check: Scrubbed, bays: Mapping[str, str]) -> list[str]:
    """Return which drives are wrong where a check found mismatches, in sentences; `bays` by serial."""
    sectors = dict[tuple[str | None, bool], int]()
    for each in check.located:
        key = (each.serial, each.data is not None)
        sectors[key] = sectors.get(key, 0) + each.end - each.begin
    said = []
    for (serial, data), count in sectors.items():
        if serial is None:
            said.append(f"{count} sectors are not located: more than one drive is wrong there")
            continue
        drive = f"bay {bays[serial]} ({serial})" if serial in bays else serial
        said.append(f"{count} sectors of {'data' if data else 'parity, and no data,'} are wrong on {drive}")
    if check.mismatches and (check.unlocated or not check.located):
        rest = "the other wrong sectors are" if check.located else "which drive is wrong is"
        said.append(f"{rest} not known: {check.unlocated or 'no drive was searched for until the next check'}")
    return said


def files_in_words(record: ScrubRecord, array: ArrayScrub) -> str:
    """Return which files are in doubt by the last check of an array: `in doubt: a, b and 3 more`."""
    search = record.files_of(array)
    if array.last is not None and not array.last.ranges:
        return "the files in doubt are not known until the next check"
    if search is None:
        return "the files in doubt are still being searched for"
    least = "" if search.complete else " (not all files were searched)"
    if not search.count:
        return f"no file is known to be in doubt{least}"
    more = search.count - len(search.names[:NAMED])
    return f"in doubt: {', '.join(search.names[:NAMED])}{f' and {more} more' if more else ''}{least}"
