# SPDX-License-Identifier: Apache-2.0
"""An array that was written while degraded when the power failed, and what is recorded of such a start.

The kernel does not start it: parity that was half written cannot rebuild what the missing member held. Only the stripes
that were in flight are in doubt, so it is started where every present member was one until the end.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Literal

from millrace import paths
from millrace.provision.gather import latest_members
from millrace.provision.model import ArrayRecord
from millrace.provision.superblock import Superblock
from millrace.system import locks
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.files import write_text


class Unclean(Contract):
    """One start. `last_write` is when md last wrote its superblocks, `started` when it was forced, both ISO 8601.

    `missing` are serials.
    """

    array: str
    level: str
    last_write: str
    started: str
    missing: list[str]


class Suspects(Contract):
    """Files written shortly before the cut. `listed` of `count` are in the list; `complete`: all were searched."""

    count: int
    listed: int
    complete: bool


class UncleanStarts(Contract):
    """All starts that are not acknowledged (`/var/lib/millrace/unclean.json`). `suspects` is null until the search."""

    schema_version: Literal[1] = 1
    starts: list[Unclean]
    suspects: Suspects | None = None


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
    path = paths.unclean_file()
    return read_model(path, UncleanStarts) if path.exists() else None


def add(record: ArrayRecord, missing: Sequence[str], last_write: int | None, started: str) -> None:
    """Record that an array was started by force; the files in doubt are searched for once it is mounted.

    `last_write` in seconds since 1970, None where no superblock has it.
    """
    written = datetime.fromtimestamp(last_write, UTC) if last_write else datetime.fromisoformat(started)
    start = Unclean(
        array=record.array.name,
        level=record.array.level,
        last_write=written.isoformat(timespec="seconds"),
        started=started,
        missing=list(missing),
    )
    with _lock():
        before = pending()
        write_model(paths.unclean_file(), UncleanStarts(starts=[*(before.starts if before else []), start]))


def withdraw(record: ArrayRecord, started: str) -> None:
    """Remove a start that was recorded before it and failed."""
    with _lock():
        known = before.starts if (before := pending()) else []
        kept = [one for one in known if (one.array, one.started) != (record.array.name, started)]
        if kept:
            write_model(paths.unclean_file(), UncleanStarts(starts=kept))
        else:
            paths.unclean_file().unlink(missing_ok=True)


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
    """Delete all starts and the list of files; return what was deleted."""
    with _lock():
        found = pending()
        paths.unclean_file().unlink(missing_ok=True)
        paths.suspects_file().unlink(missing_ok=True)
    return found or UncleanStarts(starts=[])


def _lock() -> AbstractContextManager[None]:
    """Held for the moment of reading and writing; beside the documents, as that is where all who write them may."""
    return locks.held(paths.state_dir() / "unclean.lock")
