# SPDX-License-Identifier: Apache-2.0
"""The record of erasures: a drive whose erasure began and did not end is not blank, whatever it reads like."""

from typing import Literal

from millrace.inventory.erase_support import Method
from millrace.system import paths
from millrace.system.boot import boot_id
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.jobs import job_paths

KEPT = 64
"""Erasures that are kept, one for each drive."""
AGAIN = "run it again"
INTERRUPTED = f"erase was interrupted; {AGAIN}"
RUNNING = "is being erased"

State = Literal["running", "done", "failed", "interrupted"]


class EraseOrder(Contract):
    """What the unit is to erase: the drive that was confirmed, by serial, wwid and attachment (diskseq)."""

    id: str
    serial: str
    wwid: str
    attached: str
    foreign: bool


class Erasure(Contract):
    """One erasure, by the `id` of its order; `method` is null until it is done. `boot` is the kernel's id of its boot.

    `reason` is why it did not end well, `unproved` what nobody can verify from outside of the drive.
    """

    schema_version: Literal[1] = 1
    id: str
    serial: str
    wwid: str
    bay: str | None
    state: State
    method: Method | Literal["overwrite"] | None
    boot: str
    began: str
    ended: str | None
    reason: str | None
    unproved: str | None


class Erasures(Contract):
    """The last one of each drive, the latest first."""

    schema_version: Literal[1] = 1
    erasures: list[Erasure]


class EraseProgress(Contract):
    """How far an erasure is: bytes done of all, what it does now. Null is what the drive does not say."""

    schema_version: Literal[1] = 1
    serial: str
    what: str
    done: int | None
    total: int | None
    bytes_per_second: int | None
    seconds_left: int | None


# What `millrace drive erase --json` prints: progress many times, the erasure as it ended.
EraseLine = EraseProgress | Erasure


def load() -> list[Erasure]:
    """Return the erasures; none where the document is missing or cannot be parsed: the drives carry marks, too."""
    try:
        return read_model(paths.erase_file(), Erasures).erasures
    except MillraceError:
        return []


def last(serial: str) -> Erasure | None:
    """Return the last erasure of a drive."""
    return next((one for one in load() if one.serial == serial), None)


def save(erasure: Erasure) -> None:
    """Write an erasure in the place of the one before of its drive."""
    others = [one for one in load() if one.serial != erasure.serial]
    write_model(paths.erase_file(), Erasures(erasures=[erasure, *others][:KEPT]))


def progress(serial: str) -> EraseProgress | None:
    """Return how far the erasure of a drive is; None before it says so."""
    try:
        found = read_model(job_paths.erase_progress_file(), EraseProgress)
    except MillraceError:
        return None
    return found if found.serial == serial else None


def unfinished() -> dict[str, str]:
    """Return why a drive is not blank although it may read so, by serial."""
    boot = boot_id()
    return {one.serial: _unfinished(one, boot) for one in load() if one.state != "done"}


def is_running(erasure: Erasure, boot: str) -> bool:
    """Whether an erasure goes on: one that was recorded as running in another boot does not."""
    return erasure.state == "running" and erasure.boot == boot


def _unfinished(erasure: Erasure, boot: str) -> str:
    if is_running(erasure, boot):
        so_far = progress(erasure.serial)
        percent = f", {100 * so_far.done // so_far.total} %" if so_far and so_far.done and so_far.total else ""
        return f"{RUNNING}{percent}"
    if erasure.state == "failed":
        return f"erase failed: {erasure.reason}; {AGAIN}"
    return INTERRUPTED
