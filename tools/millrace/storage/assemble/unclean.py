# SPDX-License-Identifier: Apache-2.0
"""An array that was written while degraded when the power failed, and what is recorded of such a start.

The kernel does not start it: parity that was half written cannot rebuild the missing member. Only rows that were in
flight are in doubt, so the array is started where every present member was in use until the end. What may be damaged is
the missing member's chunk of such a row: an old file or metadata as well as a new file. RAID6 with one missing member
has a second parity that tells these rows. A rebuild corrects that parity (raid5.c handle_parity_checks6), so no member
is added until they are recorded.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from millrace.plan.model import Role
from millrace.storage.array import dirty_regions, md
from millrace.storage.array.area import Area, merged
from millrace.storage.array.gather import latest_members
from millrace.storage.array.machine import System
from millrace.storage.array.superblock import Superblock
from millrace.storage.record.model import ArrayRecord
from millrace.system import locks, paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.files import write_text

IN_DOUBT = "files in the rows that were being written at the power cut may be damaged, old files as well as new ones"
WAITS = "parity is checked for torn rows first (millrace pool unclean)"
GOES_ON = "the interrupted rebuild goes on, which corrects the parity that tells torn rows"

KEPT = 32
"""Starts that are recorded."""

REGIONS = 1000
"""Regions that are recorded for each of them."""

ParityCheck = Literal["none", "waiting", "found", "done", "failed"]


class TornRows(Contract):
    """Sectors of each member in which P and Q do not match; `end` is the first after them."""

    begin: int
    end: int


class Region(Contract):
    """Sectors of each member that may have been written; `end` is the first after them."""

    begin: int
    end: int


class Unclean(Contract):
    """One start. `last_write` is when md last wrote its superblocks, `started` when it was forced, both ISO 8601.

    `missing` are serials, `slots` their places in the array, null where they are not known yet. `events` is how often
    md had written the superblocks before the start, null in records of older versions. `dated` is false where the clock
    or a superblock contradicts `last_write`: times do not show which files were written then. `check`
    compares P and Q: `none` without a second parity, `waiting` until its end, `found` with the `torn` rows recorded,
    `done` once they are repaired, `failed` for the reason in `problem`. `rough`: a row in `torn` may match. `outside`:
    the array broke, and something else than Millrace started it again, with members that may not be equal: the first
    one left at `since`, ISO 8601, or before that where not `dated`. `last_write` is when the array broke then.
    `regions` may have been written before the start, by the bitmap right after it; null where that is not known.
    `older`: an administrator started it with a member that left before others, so all that was written since
    `last_write` may be old.
    """

    array: str
    level: str
    last_write: str
    started: str
    missing: list[str]
    events: int | None = None
    dated: bool = True
    check: ParityCheck = "none"
    slots: list[int] | None = None
    torn: list[TornRows] = Field(default_factory=list)
    rough: bool = False
    problem: str | None = None
    outside: bool = False
    since: str | None = None
    regions: list[Region] | None = None
    older: bool = False

    @property
    def is_told_by_parity(self) -> bool:
        """Whether the rows in doubt are known."""
        return self.check in ("found", "done")

    @property
    def in_doubt_since(self) -> datetime:
        """When the oldest write was that may be missing."""
        return datetime.fromisoformat(self.since or self.last_write)


class Suspects(Contract):
    """Files that may be damaged. `listed` of `count` are in the list, `by_parity` of them first, in torn rows.

    The others are a guess, by rows that hold files written last. `complete`: no other file is possible. `others` is
    what else is in these rows, and `more_others` are not listed. `notes` are sentences: what is not known.
    """

    count: int
    listed: int
    complete: bool
    by_parity: int = 0
    others: list[str] = Field(default_factory=list)
    more_others: int = 0
    notes: list[str] = Field(default_factory=list)


class UncleanStarts(Contract):
    """All starts that are not acknowledged (`/var/lib/millrace/unclean.json`). `suspects` is null until the search.

    `acknowledged` has the latest other start of each array, by its name: the array is checked after it all the same.
    """

    schema_version: Literal[1] = 1
    starts: list[Unclean]
    suspects: Suspects | None = None
    acknowledged: dict[str, str] = Field(default_factory=dict)


def forceable(blocks: Sequence[Superblock], needed: int) -> list[Superblock]:
    """Return the members with which an unclean, degraded array can be started; none where force does not help.

    The array needs `needed` members to start.
    """
    members = [block for block in latest_members(list(blocks)) if not block.recovering]
    slots = {block.slot for block in members}
    unclean = any(not block.clean for block in members)
    # two for one slot: it is not known which of them is the member
    return members if unclean and len(slots) == len(members) >= needed else []


def pending() -> UncleanStarts | None:
    """Return the starts to acknowledge; None if there are none. BadInput: the file cannot be parsed."""
    found = _read()
    return found if found is not None and found.starts else None


def latest() -> dict[str, datetime]:
    """Return when each array was last started unclean, by its name, acknowledged or not. BadInput: as `pending`."""
    found, times = _read(), dict[str, datetime]()
    if found is not None:
        known = [*found.acknowledged.items(), *((one.array, one.started) for one in found.starts)]
        for array, started in known:
            at = datetime.fromisoformat(started)
            times[array] = max(at, times.get(array, at))
    return times


def free_slots(record: ArrayRecord, started: Sequence[Superblock]) -> list[int]:
    """Return the slots that none of these members has. pool.json may not have a hot spare yet that took one."""
    return sorted({*range(len(record.members))} - {block.slot for block in started})


def add(
    record: ArrayRecord,
    slots: Sequence[int],
    last_write: int | None,
    started: str,
    rebuilding: bool = False,
    events: int | None = None,
    older: bool = False,
) -> None:
    """Record that an array was started by force; the files in doubt are searched for once it is mounted.

    `slots` are those without a member; `last_write` is in seconds since 1970, None where no superblock has it. A member
    that was `rebuilding` goes on at once. `events` is the highest count in the superblocks of the members of the start;
    with `older` one of them left before others.
    """
    check: ParityCheck = "waiting" if is_checkable(record, len(slots)) else "none"
    begun = datetime.fromisoformat(started)
    written = datetime.fromtimestamp(last_write, UTC) if last_write else begun
    start = Unclean(
        array=record.array.name,
        level=record.array.level,
        last_write=written.isoformat(timespec="seconds"),
        started=started,
        missing=[record.members[slot].serial for slot in slots],
        events=events,
        dated=last_write is not None and written <= begun,
        check="failed" if rebuilding and check == "waiting" else check,
        slots=sorted(slots) or None,
        problem=GOES_ON if rebuilding and check == "waiting" else None,
        older=older,
    )
    _record(start)


def add_outside(record: ArrayRecord, broke: float, since: float, known: bool, seen: str) -> None:
    """Record that an array runs which broke at `broke`, and that Millrace did not start.

    Its first member left at `since`, maybe earlier where that is not `known`; both in seconds since 1970. `seen` is
    when it was found, ISO 8601.
    """
    last_write = datetime.fromtimestamp(int(broke), UTC)
    start = Unclean(
        array=record.array.name,
        level=record.array.level,
        last_write=last_write.isoformat(timespec="seconds"),
        started=seen,
        missing=[],
        dated=known and last_write <= datetime.fromisoformat(seen),
        outside=True,
        since=datetime.fromtimestamp(int(since), UTC).isoformat(timespec="seconds"),
    )
    _record(start)


def _record(start: Unclean) -> None:
    with _lock():
        before = _read() or UncleanStarts(starts=[])
        kept = {"starts": _folded([*before.starts, start]), "suspects": None}
        write_model(paths.unclean_file(), before.model_copy(update=kept))


def _folded(starts: Sequence[Unclean]) -> list[Unclean]:
    """Return the last KEPT starts. One that only a guess is about goes into the next one of its array: no file is lost.

    An array that breaks and is started again for weeks has no list that grows.
    """
    kept = list(starts)
    while len(kept) > KEPT:
        guessed = [start for start in kept if start.check in ("none", "failed")]
        pair = next(
            (
                (start, later)
                for at, start in enumerate(guessed)
                for later in guessed[at + 1 :]
                if later.array == start.array
            ),
            None,
        )
        if pair is None:
            del kept[0]
            continue
        old, later = pair
        kept[kept.index(later)] = later.model_copy(
            update={
                "last_write": min(old.last_write, later.last_write, key=datetime.fromisoformat),
                "dated": old.dated and later.dated,
                "missing": [*later.missing, *(serial for serial in old.missing if serial not in later.missing)],
                # of all members
                "slots": later.slots if later.slots == old.slots else None,
                "outside": old.outside or later.outside,
                "older": old.older or later.older,
                "regions": _regions([Area(region.begin, region.end) for region in [*old.regions, *later.regions]])
                if old.regions is not None and later.regions is not None
                else None,
                "since": min(old.since or old.last_write, later.since or later.last_write, key=datetime.fromisoformat)
                if old.outside or later.outside
                else None,
            }
        )
        kept.remove(old)
    return kept


def keep_regions(system: System, record: ArrayRecord, started: str) -> None:
    """Record what the bitmap has right after a start: a member that is rebuilt before the search clears it.

    Where that is not possible all regions are searched, and where this start may have been folded with another one.
    """
    if record.array.role is Role.LOG:
        return
    with suppress(OSError, ValueError, MillraceError):
        active = md.find(system, record.uuid)
        if active is None:
            return
        known = _regions(dirty_regions.regions(active.device))
        with _lock():
            now = _read()
            # a clock that begins again with each boot gives two starts the same time
            last = now.starts[-1] if now else None
            if now is None or last is None or (last.array, last.started) != (record.array.name, started):
                return
            if len(now.starts) < KEPT:
                starts = [*now.starts[:-1], last.model_copy(update={"regions": known})]
                write_model(paths.unclean_file(), now.model_copy(update={"starts": starts}))


def _regions(areas: Sequence[Area]) -> list[Region]:
    """Return areas, those beside each other as one where there are too many: more is searched then."""
    found, gap = merged(areas), 1
    while len(found) > REGIONS:
        wide = merged([Area(one.begin, one.end + gap) for one in found])
        found, gap = [Area(one.begin, one.end - gap) for one in wide], 2 * gap
    return [Region(begin=one.begin, end=one.end) for one in found]


def withdraw(record: ArrayRecord, started: str) -> None:
    """Remove a start that was recorded before it and failed."""
    with _lock():
        before = _read() or UncleanStarts(starts=[])
        kept = [one for one in before.starts if (one.array, one.started) != (record.array.name, started)]
        _write_or_remove(before.model_copy(update={"starts": kept, "suspects": None}))


def if_possible(record_start: Callable[[], None]) -> str:
    """Record a start; return what the sentence about it ends with: nothing, or why it is not recorded.

    An array that stays down is worse than a record that is lost: a boot drive that is full, or a file that was torn.
    """
    try:
        record_start()
    except OSError as error:
        return f"; this could not be recorded: {error.strerror or type(error).__name__}"
    except MillraceError as error:
        return f"; this could not be recorded: {error}"
    return ""


def withdraw_unless_running(system: System, record: ArrayRecord, started: str) -> None:
    """Remove a start as `withdraw` does; it stays, and is acknowledged by hand, where nothing can be written.

    An array that runs was started, also where mdadm failed after that: it is written as soon as it is writable.
    """
    active = md.find(system, record.uuid)
    if active is not None and active.running:
        return
    with suppress(OSError, MillraceError):
        withdraw(record, started)


def is_checkable(record: ArrayRecord, missing: int) -> bool:
    """Whether an array without so many members still has a parity that nothing is computed from."""
    return md.LOST_MEMBERS.get(record.array.level, 0) > max(missing, 1)


def started_without(array: str, serial: str, events: int, written: int | None) -> bool:
    """Whether an array was started by force without a member, which was not in sync since.

    `events` and `written`, in seconds since 1970, are those of its superblock: after that start they are higher.
    """
    try:
        starts = _read()
    except MillraceError:
        return False
    if starts is None:
        return False
    known = [start for start in starts.starts if start.array == array and serial in start.missing]
    acknowledged = starts.acknowledged.get(array)
    return any(_is_before(start, events, written) for start in known) or (
        acknowledged is not None and written is not None and written < datetime.fromisoformat(acknowledged).timestamp()
    )


def _is_before(one: Unclean, events: int, written: int | None) -> bool:
    if one.events is not None:
        return events <= one.events
    return written is not None and written < datetime.fromisoformat(one.started).timestamp()


def holds(array: str) -> bool:
    """Whether no member may be added to an array yet: that would correct the parity which tells the torn rows."""
    try:
        starts = pending()
    except MillraceError:
        return False
    if _given_up().exists():
        return False
    return starts is not None and any(one.array == array and one.check == "waiting" for one in starts.starts)


def give_up() -> None:
    """Hold no member until the next start of the server: torn rows cannot be recorded."""
    write_text(_given_up(), "")


def _given_up() -> Path:
    return paths.run_dir() / "torn-rows-given-up"


def change(array: str, how: Callable[[Unclean], Unclean]) -> UncleanStarts | None:
    """Change the starts of an array; return all that are to be acknowledged, None if there are none."""
    with _lock():
        now = pending()
        if now is None:
            return None
        changed = [how(start) if start.array == array else start for start in now.starts]
        if changed != now.starts:
            now = now.model_copy(update={"starts": changed})
            write_model(paths.unclean_file(), now)
    return now


def save_suspects(starts: UncleanStarts, names: Sequence[str]) -> UncleanStarts | None:
    """Save the result of a search, unless the starts were acknowledged or more were added while it ran.

    Return what is to be acknowledged now; None if nothing.
    """
    with _lock():
        now = pending()
        if now is None or now.starts != starts.starts:
            return now
        write_text(paths.suspects_file(), "".join(f"{name}\n" for name in names), 0o600)
        write_model(paths.unclean_file(), starts)
    return starts


def acknowledge() -> UncleanStarts:
    """Delete all starts and the list of files; return what was deleted. That arrays are to be checked is kept."""
    with _lock():
        starts = _read() or UncleanStarts(starts=[])
        times = {array: at.isoformat() for array, at in latest().items()}
        try:
            _write_or_remove(UncleanStarts(starts=[], acknowledged=times))
        except OSError:
            # a boot drive that is full: the check comes with its period
            paths.unclean_file().unlink(missing_ok=True)
        paths.suspects_file().unlink(missing_ok=True)
    return starts.model_copy(update={"acknowledged": {}})


def _read() -> UncleanStarts | None:
    path = paths.unclean_file()
    return read_model(path, UncleanStarts) if path.exists() else None


def _write_or_remove(starts: UncleanStarts) -> None:
    if starts.starts or starts.acknowledged:
        write_model(paths.unclean_file(), starts)
    else:
        paths.unclean_file().unlink(missing_ok=True)


def _lock() -> AbstractContextManager[None]:
    """Held for the moment of reading and writing; beside the documents, as that is where all who write them may."""
    return locks.held(paths.state_dir() / "unclean.lock")
