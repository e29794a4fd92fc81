# SPDX-License-Identifier: Apache-2.0
"""What this boot has done to end a rollback: an end that fails is not begun again by itself, or it would be for ever.

Each begin disconnects SMB clients and clones what the share held, so that clients are disconnected once as well.
"""

from millrace.protect.snapshot.rollback_model import RollbackJournal, RollbackTry
from millrace.system import paths
from millrace.system.boot import boot_id
from millrace.system.command import command
from millrace.system.jobs.job import KILLED, Document
from millrace.system.text import one_line

TRY = Document(lambda: paths.run_dir() / "snapshot/rollback-try.json", RollbackTry)


def begin(journal: RollbackJournal) -> None:
    """Record that the end of a rollback begins. OSError: it cannot be recorded."""
    if not _is_last(journal):
        TRY.write(RollbackTry(id=journal.order.id, served=False))


def was_begun(journal: RollbackJournal) -> bool:
    """Whether the end of a rollback was begun in this boot, also where /run did not take it and the pool did."""
    return _is_last(journal) or _error(journal) is not None


def serve(journal: RollbackJournal) -> None:
    """Record that clients see the share as it is now. OSError: it cannot be recorded."""
    TRY.write(RollbackTry(id=journal.order.id, served=True))


def is_served(journal: RollbackJournal) -> bool:
    """Whether clients see the share as it is since this boot, or since its rollback."""
    last = TRY.get()
    return last == RollbackTry(id=journal.order.id, served=True)


def unfinished(journal: RollbackJournal, reason: str | None = None) -> str:
    """Return why a rollback is not at its end, in a sentence with what to do; the last known reason without one."""
    order, reason = journal.order, reason or _error(journal) or KILLED
    return (
        f"share {order.share} is as in {order.rollback}, but its former files are not a snapshot yet: "
        f"{one_line(reason)}; to try again: {command('millrace snapshot create', order.share)}, or start the server "
        "again"
    )


def _is_last(journal: RollbackJournal) -> bool:
    last = TRY.get()
    return last is not None and last.id == journal.order.id


def _error(journal: RollbackJournal) -> str | None:
    """Why the last try failed; None where that was in another boot, or nothing is known."""
    return journal.error if journal.boot == boot_id() else None
