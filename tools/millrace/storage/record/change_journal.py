# SPDX-License-Identifier: Apache-2.0
"""The journal of a change of drives: one that is open, and the last one that ended."""

import uuid

from millrace.storage.record.drive_change import DriveChange, DrivePlan
from millrace.storage.record.model import DriveRecord, MemberRecord, PartitionRecord, StepRecord
from millrace.storage.record.step_journal import StepLog
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Refused


class ChangeJournal(StepLog):
    """An open change and its file."""

    def __init__(self, change: DriveChange) -> None:
        self.change = change

    @classmethod
    def load(cls) -> "ChangeJournal | None":
        """Return the open change; None if there is none. BadInput: it cannot be read."""
        path = paths.drive_change_file()
        return cls(read_model(path, DriveChange)) if path.exists() else None

    @classmethod
    def open(cls, plan: DrivePlan, by: str, now: str) -> "ChangeJournal":
        """Write a confirmed change to disk. Refused: another one is open and was not stopped by an error."""
        before = running()
        if before is not None:
            raise Refused(
                f"{in_words(before.plan)} is not finished; see `millrace drive progress`; "
                "if it does not go on: millrace drive resume"
            )
        digest = plan.digest()
        journal = cls(
            DriveChange(
                id=f"{now.replace(':', '').replace('+0000', 'Z')}-{digest[:12]}",
                sha256=digest,
                by=by,
                at=now,
                plan=plan,
                drive=_identities(plan),
                steps=[StepRecord(name=name, state="pending") for name in step_names(plan)],
            )
        )
        write_model(paths.drive_change_file(), journal.change)
        return journal

    @property
    def steps(self) -> list[StepRecord]:
        """The steps of the change."""
        return self.change.steps

    @property
    def begun(self) -> bool:
        """Whether a step was started: something may have been written."""
        return any(step.state != "pending" for step in self.steps)

    def stopped(self, error: str | None) -> None:
        """Record why the change does not go on, None as soon as it does."""
        if self.change.error != error:
            self.change = self.change.model_copy(update={"error": error})
            write_model(paths.drive_change_file(), self.change)

    def end(self, now: str, error: str | None = None) -> None:
        """Close the journal. What became of the change is on disk before that."""
        self.change = self.change.model_copy(update={"ended": now, "error": error})
        write_model(paths.drive_changed_file(), self.change)
        paths.drive_change_file().unlink(missing_ok=True)

    def _write(self, steps: list[StepRecord]) -> None:
        self.change = self.change.model_copy(update={"steps": steps})
        write_model(paths.drive_change_file(), self.change)


def last() -> DriveChange | None:
    """Return the open change, else the last one that ended, None if there was none. BadInput: it cannot be read."""
    journal = ChangeJournal.load()
    if journal is not None:
        return journal.change
    path = paths.drive_changed_file()
    return read_model(path, DriveChange) if path.exists() else None


def joining(array: str) -> list[MemberRecord]:
    """Return the partitions that an open change has made, or is making, members of an array; no record has them yet."""
    try:
        journal = ChangeJournal.load()
    except BadInput:
        return []
    if journal is None or journal.change.drive is None:
        return []
    drive, labels = (
        journal.change.drive,
        {partition.label for partition in journal.change.plan.joins if partition.array == array},
    )
    if not labels or journal.state(f"join {array}") == "pending":
        return []
    return [
        MemberRecord(serial=drive.serial, wwid=drive.wwid, partuuid=partition.partuuid, label=partition.label)
        for partition in drive.partitions
        if partition.label in labels
    ]


def running() -> DriveChange | None:
    """Return the change that goes on: open and not stopped by an error. BadInput: it cannot be read."""
    journal = ChangeJournal.load()
    return journal.change if journal is not None and journal.change.error is None else None


def in_words(plan: DrivePlan) -> str:
    """Return what a change does in a few words, for sentences."""
    if plan.verb == "grow":
        return "the growth of the pool"
    if plan.old and plan.new:
        return f"the replacement of {plan.old.serial} by {plan.new.serial}"
    one = plan.new or plan.old
    return f"the {'addition' if plan.new else 'removal'} of {one.serial if one else 'no drive'}"


def step_names(plan: DrivePlan) -> list[str]:
    """Return the names of all steps in their order."""
    joined = [join.array for join in plan.joins]
    partition = [f"partition {plan.new.serial}"] if plan.new else []
    return [
        *partition,
        *(f"join {name}" for name in joined),
        *(f"rebuild {name}" for name in joined),
        *(f"leave {name}" for name in plan.leaves),
        *(f"enlarge {partition.serial}" for partition in plan.grows),
        *(f"grow {name}" for name in plan.growing),
        *(["filesystem"] if plan.second else []),
        "record",
        *(["filesystem"] if plan.grows and not plan.legs else []),
    ]


def _identities(plan: DrivePlan) -> DriveRecord | None:
    """Choose every identity before the first write: what a power cut leaves can be recognised."""
    if plan.new is None:
        return None
    return DriveRecord(
        serial=plan.new.serial,
        wwid=plan.new.wwid,
        disk_label=str(uuid.uuid4()),
        partitions=[
            PartitionRecord(role=partition.role, size=partition.size, label=partition.label, partuuid=str(uuid.uuid4()))
            for partition in plan.partitions
        ],
        discard=plan.new.discard,
    )
