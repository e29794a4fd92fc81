# SPDX-License-Identifier: Apache-2.0
"""A change of the drives of the pool: what will be written, and how far it is."""

import hashlib
import json
from typing import Literal

from pydantic import Field

from millrace.plan.model import Role
from millrace.storage.record.model import DriveRecord, StepRecord
from millrace.system.documents import Contract

ChangeVerb = Literal["replace", "add", "remove", "grow"]


class ChangedDrive(Contract):
    """A drive that takes part in a change. `bay` is its bay or slot, the last one of a drive that is missing.

    `model` is empty and `size`, in bytes, null where a drive is missing and no record has them. `discard`: whether the
    new drive guarantees that deallocated blocks read as zeroes.
    """

    serial: str
    wwid: str
    bay: str | None
    model: str
    size: int | None
    discard: bool | None = None


class NewPartition(Contract):
    """A partition that the new drive gets, `size` in bytes.

    `array` is the one that it joins, null for a partition that is kept for later. `copies`: the old drive stays in the
    array until md has copied it.
    """

    role: Role
    size: int
    label: str
    array: str | None
    copies: bool


class GrownPartition(Contract):
    """The data partition of a drive that is enlarged from `before` to `size` bytes. `bay` is its bay or slot."""

    serial: str
    bay: str | None
    label: str
    before: int
    size: int


class DrivePlan(Contract):
    """What a change writes. `partitions` are those of `new`, in the order in which they lie on it.

    `leaves` are the arrays that `old` is removed from at the end, `fewer_spares` those of them that have one hot spare
    less from then on. `grows` are partitions that are enlarged, for `array`, which then has `gain` bytes more. `legs`:
    it lies over these, which grow first; it uses them after the next start, by a second change with neither.
    """

    verb: ChangeVerb
    old: ChangedDrive | None
    new: ChangedDrive | None
    partitions: list[NewPartition]
    leaves: list[str]
    fewer_spares: list[str] = Field(default_factory=list)
    grows: list[GrownPartition] = Field(default_factory=list)
    array: str | None = None
    gain: int = 0
    legs: list[str] = Field(default_factory=list)

    @property
    def growing(self) -> list[str]:
        """The arrays that md enlarges."""
        if not self.grows:
            return []
        return self.legs or ([self.array] if self.array else [])

    @property
    def second(self) -> bool:
        """Whether it is the second part of a growth of legs, after a start of the arrays."""
        return self.verb == "grow" and not self.grows and not self.legs

    @property
    def joins(self) -> list[NewPartition]:
        """The partitions that join an array, the log first: it is filled within seconds."""
        return sorted((one for one in self.partitions if one.array), key=lambda one: one.role is not Role.LOG)

    def digest(self) -> str:
        """Return the sha256 over the canonical JSON, without the bays: a drive is known by its serial number."""
        content = self.model_dump(mode="json", exclude={"old": {"bay"}, "new": {"bay"}, "grows": {"__all__": {"bay"}}})
        # a change that was confirmed before there was growth, or growth of legs, is the same change
        unknown = () if self.verb == "grow" else ("grows", "array", "gain")
        content = {key: value for key, value in content.items() if key not in unknown and (key != "legs" or self.legs)}
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class DriveProposal(Contract):
    """A change that is possible now: its plan, the hash that confirms it, its steps in words.

    `differences` are sentences on what sets the new drive apart from its neighbours: link, model, firmware, sectors.
    """

    schema_version: Literal[1] = 1
    sha256: str
    plan: DrivePlan
    steps: list[str]
    differences: list[str] = Field(default_factory=list)


class DriveChange(Contract):
    """A confirmed change, its own write-ahead journal (`/var/lib/millrace/drive-change.json`).

    `by` is a user name, `at` and `ended` are UTC, ISO 8601. `drive` has the identities that the new drive gets. `error`
    is why it does not go on, or why it ended without being done.
    """

    schema_version: Literal[1] = 1
    id: str
    sha256: str
    by: str
    at: str
    plan: DrivePlan
    drive: DriveRecord | None
    steps: list[StepRecord]
    ended: str | None = None
    error: str | None = None
