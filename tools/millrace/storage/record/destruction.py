# SPDX-License-Identifier: Apache-2.0
"""The journal of the destruction of the pool, and what is kept of the last one."""

from typing import Literal

from pydantic import Field

from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.model import DriveRecord, MemberRecord, Pool, StepRecord
from millrace.storage.record.step_journal import StepLog
from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import BadInput

STOP, RECORDS = "stop", "records"
WIPE = "wipe "


class LeftDrive(Contract):
    """A drive of the pool that was not wiped, and why, as the end of a sentence about it. `bay` as it was last known.

    `missing`: it was not in this server, and still carries its part of the pool.
    """

    serial: str
    bay: str | None = None
    missing: bool
    why: str


class Destruction(Contract):
    """The destruction of a pool (`/var/lib/millrace/pool-destruction.json`, at its end `pool-destroyed.json`).

    `pool` is the pool as it was, `drives` all drives with partitions of it, `whole` members without any, which were
    added by hand. `by` is a user name, `at` and `ended` are UTC, ISO 8601. `ends`: jobs and clients that use the pool
    are ended. `left` are the drives that were not wiped. `error` is why it stopped.
    """

    schema_version: Literal[1] = 1
    pool: Pool
    drives: list[DriveRecord]
    whole: list[MemberRecord] = Field(default_factory=list)
    by: str
    at: str
    ends: bool
    shares: list[str]
    steps: list[StepRecord]
    left: list[LeftDrive] = Field(default_factory=list)
    ended: str | None = None
    error: str | None = None


class DestructionJournal(StepLog):
    """A destruction that is under way, and its file."""

    def __init__(self, destruction: Destruction) -> None:
        self.destruction = destruction

    @classmethod
    def load(cls) -> "DestructionJournal | None":
        """Return the destruction under way; None without one. BadInput: it cannot be read."""
        path = paths.destruction_file()
        return cls(read_model(path, Destruction)) if path.exists() else None

    @classmethod
    def open(cls, pool: Pool, by: str, now: str, ends: bool, shares: list[str]) -> "DestructionJournal":
        """Write a confirmed destruction to disk. BadInput: an open change of drives cannot be read."""
        drives, whole = _drives(pool), _whole(pool)
        serials = [*(drive.serial for drive in drives), *(member.serial for member in whole)]
        names = [STOP, *(f"{WIPE}{serial}" for serial in serials), RECORDS]
        journal = cls(
            Destruction(
                pool=pool,
                drives=drives,
                whole=whole,
                by=by,
                at=now,
                ends=ends,
                shares=shares,
                steps=[StepRecord(name=name, state="pending") for name in names],
            )
        )
        write_model(paths.destruction_file(), journal.destruction)
        return journal

    @property
    def steps(self) -> list[StepRecord]:
        """The steps of the destruction."""
        return self.destruction.steps

    @property
    def wiping(self) -> bool:
        """Whether the wipe of a drive was begun: there is no way back."""
        return any(step.state != "pending" for step in self.steps if step.name.startswith(WIPE))

    def leave(self, drive: LeftDrive) -> None:
        """Record a drive that is not wiped."""
        others = [one for one in self.destruction.left if one.serial != drive.serial]
        self._save(left=[*others, drive])

    def stopped(self, error: str | None) -> None:
        """Record why it does not go on; None as soon as it does."""
        if self.destruction.error != error:
            self._save(error=error)

    def end(self, now: str, error: str | None = None) -> None:
        """Close the journal."""
        self._save(ended=now, error=error)
        write_model(paths.destroyed_file(), self.destruction)
        paths.destruction_file().unlink(missing_ok=True)

    def _write(self, steps: list[StepRecord]) -> None:
        self._save(steps=steps)

    def _save(self, **changes: object) -> None:
        self.destruction = self.destruction.model_copy(update=changes)
        write_model(paths.destruction_file(), self.destruction)


def last_destruction() -> Destruction | None:
    """Return the destruction under way, else the last one, None without any. BadInput: it cannot be read."""
    journal = DestructionJournal.load()
    if journal is not None:
        return journal.destruction
    return read_model(paths.destroyed_file(), Destruction) if paths.destroyed_file().exists() else None


def _drives(pool: Pool) -> list[DriveRecord]:
    """The drives of the pool, with the new one of a change that is not finished: no record of the pool has it yet."""
    journal = ChangeJournal.load()
    new = journal.change.drive if journal is not None else None
    known = {one.serial for one in pool.drives}
    return [*pool.drives, *([new] if new is not None and new.serial not in known else [])]


def _whole(pool: Pool) -> list[MemberRecord]:
    known = {one.serial for one in _drives(pool)}
    members = [one for record in pool.arrays for one in (*record.members, *record.spares)]
    return list({one.serial: one for one in members if not one.partuuid and one.serial not in known}.values())


def is_open() -> bool:
    """Whether a destruction is under way; one whose journal cannot be read is."""
    try:
        return DestructionJournal.load() is not None
    except BadInput:
        return True
