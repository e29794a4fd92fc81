# SPDX-License-Identifier: Apache-2.0
"""The rescue of a pool without its log: the journal, and what `millrace pool rescue --json` prints."""

from typing import Literal

from pydantic import Field

from millrace.storage.record.model import ArrayRecord, DriveRecord, StepRecord
from millrace.storage.rescue.step_names import StepName
from millrace.system.documents import Contract


class DryRunResult(Contract):
    """What can be read without the log. `files` and `size` (bytes, apparent) are of what was walked.

    `unreadable` is how many directories could not be read, `complete` is false where the time limit ended the walk.
    `problems` are lines of `xfs_repair -n`, the first ones of `problem_count`. `note` is why nothing was mounted.
    """

    files: int
    directories: int
    size: int
    unreadable: int
    complete: bool
    problem_count: int
    problems: list[str]
    note: str | None = None


class NewLog(Contract):
    """The log that takes the place of the lost one: tables for blank drives, the mirror, the steps that make both."""

    drives: list[DriveRecord]
    array: ArrayRecord
    steps: list[StepRecord]


class RepairSize(Contract):
    """What the memory and the time of xfs_repair depend on. `inode_size` in bytes, `blocks` of the file system."""

    inodes: int
    inode_size: int
    groups: int
    blocks: int


class Rescue(Contract):
    """A rescue, its own write-ahead journal (`/var/lib/millrace/rescue.json`).

    `by` is a user name, `at` and `ended` are UTC, ISO 8601. `lost` is the UUID of the lost log, `lost_drives` has the
    serials of its members, `results` what each step ended with. `image` is the file with the metadata as they were
    found; null where there is none, and `without_image` is true where that was decided. `orphans` counts names in
    lost+found at the end. `size` is null until the pool is unmounted, and where it could not be found out.
    """

    schema_version: Literal[1] = 1
    id: str
    by: str
    at: str
    lost: str
    lost_drives: list[str]
    steps: list[StepRecord]
    results: dict[str, str] = Field(default_factory=dict)
    image: str | None = None
    without_image: bool = False
    size: RepairSize | None = None
    judgement: DryRunResult | None = None
    new: NewLog | None = None
    orphans: int | None = None
    ended: str | None = None


class RescueWork(Contract):
    """A confirmed step, which millrace-rescue.service carries out (`/run/millrace/rescue-step.json`).

    `by` is a user name, `at` and `ended` are UTC, ISO 8601. `drives`, `image` and `without_image` are what was chosen.
    `line` is the last line of progress, `progress` is from 0 to 1, null where it is not known. `error` is why the step
    did not end well; it is interrupted where the unit was ended from outside.
    """

    schema_version: Literal[1] = 1
    id: str
    step: StepName
    by: str
    at: str
    drives: list[str]
    image: str | None
    without_image: bool
    state: Literal["running", "done", "failed", "interrupted"] = "running"
    line: str | None = None
    progress: float | None = None
    error: str | None = None
    ended: str | None = None


class ShownStep(Contract):
    """One step: what it does, and how it ended.

    `need` is a sentence on memory and time of a step that runs xfs_repair, null before the pool is unmounted, for
    other steps, and at its end.
    """

    name: StepName
    title: str
    explanation: str
    need: str | None = None
    state: Literal["pending", "started", "done"]
    result: str | None


class RescueState(Contract):
    """Where a rescue is. `lost_drives` has the serials of the members of the lost log.

    `happened` and `losses` are sentences; `next` is the step to confirm, null at the end. `notes` are about drives that
    are there and are not used. `new_log` has the drives of the new log in words where that is the next step, or why
    there are none. `journal` is null before the first step, `work` before the first one of this boot. `ending` has
    sentences on what is to be done after the last step.
    """

    schema_version: Literal[1] = 1
    lost_drives: list[str]
    happened: str
    losses: list[str]
    notes: list[str]
    steps: list[ShownStep]
    next: StepName | None
    new_log: str | None
    journal: Rescue | None
    work: RescueWork | None
    ending: list[str]


class RescueStatus(Contract):
    """The rescue that is open, else the last one that ended; null before the first one. `work` is as in RescueState."""

    schema_version: Literal[1] = 1
    rescue: RescueState | None
    work: RescueWork | None
