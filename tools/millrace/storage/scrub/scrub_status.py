# SPDX-License-Identifier: Apache-2.0
"""`millrace pool scrub status`: the checks of all arrays, and when the next one begins."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal

from millrace.inventory.places import bays
from millrace.plan.model import Role
from millrace.plan.policy.model import ScrubPolicy
from millrace.plan.scrub import CheckPace
from millrace.storage.array.devices import array_device
from millrace.storage.array.live_arrays import sync
from millrace.storage.array.live_model import Sync
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.scrub_record import (
    ArrayScrub,
    FileSearch,
    FilesystemScrub,
    Round,
    ScrubRecord,
    ScrubStop,
    files_in_words,
    in_words,
    load,
    located_in_words,
    restorable,
)
from millrace.storage.scrub import scrub_due as due
from millrace.storage.scrub.lost_rows import in_use
from millrace.storage.scrub.scrub_pace import seen
from millrace.system.documents import Contract
from millrace.system.printing import notes
from millrace.system.text import KIB, moment, pace, size

RETIRE = "millrace pool scrub retire"


class ScrubOfArray(Contract):
    """One array: what is kept of its checks, and the check or repair that runs; `sync` is null where none does.

    `files` are those in doubt by its last check, null where they were not searched for yet or none can be; `doubt` is
    the same in words, empty where all sectors match. `wrong` has the drives that are wrong, in sentences, and why
    others are not known. `restorable` sectors of data and parity are written to the wrong drive by a repair. `lost` are
    sectors of each member that can neither be read nor rebuilt, and are in use: `millrace pool scrub retire`.
    """

    kept: ArrayScrub
    sync: Sync | None
    files: FileSearch | None
    doubt: str
    wrong: list[str]
    restorable: int
    lost: int


class ScrubStatus(Contract):
    """The checks of the pool. `window` and `every` are those of the policy, `pace` is how fast they read.

    `problem` is why they do not keep the period, with what to change; null where they do. `next` is when the policy
    begins or goes on with a check (ISO 8601), null for never. `round` is the one that is under way, and `stopped` why
    it waits, or without a round why the last one ended early. `filesystem` is null where it was never checked.
    """

    schema_version: Literal[1] = 1
    window: str
    every: Literal["week", "month", "quarter", "never"]
    pace: CheckPace
    problem: str | None
    next: str | None
    round: Round | None
    stopped: ScrubStop | None
    arrays: list[ScrubOfArray]
    filesystem: FilesystemScrub | None


def status(pool: Pool, policy: ScrubPolicy, now: datetime) -> ScrubStatus:
    """Return the checks of all arrays of the pool."""
    record = load()
    lost = in_use(pool, record)
    pace, problem = seen(pool, policy, record)
    wrong = any(array.last and array.last.mismatches for array in record.arrays)
    known = bays() if wrong else {}
    opening = due.next_window(policy, pool, record, now)
    return ScrubStatus(
        window=policy.window,
        every=policy.every,
        pace=pace,
        problem=problem,
        next=opening.isoformat(timespec="minutes") if opening else None,
        round=record.round,
        stopped=record.stopped,
        arrays=[_of(record, array, lost.get(array.uuid, 0), known) for array in due.arrays(pool)],
        filesystem=record.filesystem,
    )


def lines(state: ScrubStatus) -> Iterator[str]:
    """Return text for a terminal."""
    if state.every == "never":
        yield f"policy: only by hand, {_pace(state.pace)}"
    else:
        yield f"policy: every {state.every}, {state.window}, {_pace(state.pace)}; next: {_next(state)}"
    if state.problem:
        yield state.problem
    for array in state.arrays:
        yield f"array {array.kept.array}: {in_words(array.kept.last)}{_now(array, state.round is not None)}"
        if array.kept.last and array.kept.last.mismatches:
            yield from notes(array.wrong)
            yield from notes([array.doubt])
        if array.lost:
            yield from notes([f"{array.lost} sectors of each member are lost; take them out of use: {RETIRE}"])
        if array.kept.retired:
            sectors = sum(row.end - row.begin for row in array.kept.retired)
            yield from notes([f"{sectors} sectors of each member are lost and retired: no file uses them"])
        if array.kept.repair is not None:
            yield from notes(["a repair is confirmed and not at its end"])
        if array.kept.repaired is not None:
            done = array.kept.repaired
            yield from notes(
                [f"repaired {moment(done.ended)}: {done.rewritten} sectors rewritten, {done.left} still do not match"]
            )
            if done.restored:
                yield from notes([f"{done.restored} of these were restored on the wrong drive from the others"])
            if done.kept:
                yield from notes([done.kept])
    checked = state.filesystem
    if checked is not None:
        yield f"file system: last checked {moment(checked.ended)}, {checked.problem or 'metadata is sound'}"
    if state.stopped:
        word = "stopped" if state.round else "ended"
        yield f"{word} {moment(state.stopped.at)}: {state.stopped.reason}"


def _pace(found: CheckPace) -> str:
    least, most = (f"{size(kib * KIB)}/s" for kib in (found.least_kib, found.most_kib))
    return f"{most} of each drive" if least == most else f"{least} of each drive beside clients, {most} at most"


def _next(found: ScrubStatus) -> str:
    return moment(found.next) if found.next else "-"


def _now(array: ScrubOfArray, waits: bool) -> str:
    begun = array.kept.under_way
    if array.sync is not None and array.kept.repair is not None:
        done = f"{int(100 * (array.sync.progress or 0))} % done"
        return f"; repair is running, {done}{pace(array.sync.bytes_per_second, array.sync.seconds_left)}"
    if begun is None:
        return ""
    share = f"{100 * begun.sector // max(begun.sectors, 1)} %"
    if array.sync is None:
        return f"; a check of {moment(begun.started)} {'waits' if waits else 'ended'} at {share}"
    return f"; {array.sync.action} is running, {share} done{pace(array.sync.bytes_per_second, array.sync.seconds_left)}"


def running(name: str) -> Sync | None:
    """Return the check or repair that md does of an array."""
    device = array_device(name)
    found = sync(device) if device else None
    return found if found and found.action in ("check", "repair") else None


def _of(record: ScrubRecord, array: ArrayRecord, lost: int, bays: Mapping[str, str]) -> ScrubOfArray:
    kept, sync = record.of(array.uuid, array.array.name), running(array.array.name)
    files: FileSearch | None = None
    doubt = ""
    if kept.last is not None and kept.last.mismatches:
        if array.array.role is Role.LOG:
            doubt = "no file is in doubt: it is the file system log"
        else:
            files, doubt = record.files_of(kept), files_in_words(record, kept)
    wrong = located_in_words(kept.last, bays) if kept.last and kept.last.mismatches else []
    return ScrubOfArray(
        kept=kept, sync=sync, files=files, doubt=doubt, wrong=wrong, restorable=restorable(kept.last), lost=lost
    )
