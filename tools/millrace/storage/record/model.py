# SPDX-License-Identifier: Apache-2.0
"""What provisioning leaves behind: the approval, the transaction under way, the pool that exists."""

from typing import Literal

from pydantic import Field

from millrace.plan.model import Backend, Filesystem, MdArray, Plan, Role
from millrace.plan.sizes import START
from millrace.system.documents import Contract


class Approval(Contract):
    """The approval of a plan. `by` is a user name, or `credential`. `layout`: the one that was chosen, None for the one
    that this server proposes.
    """

    schema_version: Literal[1] = 1
    sha256: str
    by: str
    at: str
    layout: str | None = None


class MemberRecord(Contract):
    """One member of an array, by names that survive a move to another bay.

    `partuuid` and `label` are empty for a whole drive that was added by hand.
    """

    serial: str
    wwid: str
    partuuid: str
    label: str


class PartitionRecord(Contract):
    """One partition that was made, whether an array uses it or it is kept for later. `size` in bytes."""

    role: Role
    size: int
    label: str
    partuuid: str


class DriveRecord(Contract):
    """One drive with our partition table, its partitions in the order in which they lie on it.

    `discard`: whether discards may reach it; None where it was added before that was recorded. `start`: where the first
    partition begins, in bytes.
    """

    serial: str
    wwid: str
    disk_label: str
    partitions: list[PartitionRecord]
    discard: bool | None = None
    start: int = START


class ArrayRecord(Contract):
    """One array. `uuid` in mdadm's form (four groups of eight hex digits, colons between).

    `members` are in the order of md's slots. One that is missing stays until another is in sync in its slot.
    """

    array: MdArray
    uuid: str
    members: list[MemberRecord]
    spares: list[MemberRecord] = Field(default_factory=list)


class WaitingGrowth(Contract):
    """Legs that have grown, and the RAID0 `array` over them, which uses them after the next start of the arrays.

    The pool gains `gain` bytes. `by` is a user name. `started`: the array uses them, and the file system has to grow.
    """

    array: str
    gain: int
    by: str
    started: bool = False


class Pool(Contract):
    """The pool that exists (`/var/lib/millrace/pool.json`).

    Members and spares of its arrays are those of now; `generation` counts how often they changed. `drives` has
    the partitions that were made, a replacement's in the place of those of the drive that it replaced. Each array's
    `array` stays as the pool was made. `growth`: what is left of a growth of its legs.

    With `backend` external there are no arrays: the file system lies on the partition of role data, its log on that of
    role log where there is one, and the partitions are known by their GUIDs on whatever server they appear.
    """

    schema_version: Literal[1] = 1
    backend: Backend = "md"
    generation: int = 1
    plan_sha256: str
    created: str
    drives: list[DriveRecord] = Field(default_factory=list)
    arrays: list[ArrayRecord]
    filesystem: Filesystem
    filesystem_uuid: str
    growth: WaitingGrowth | None = None


class StepRecord(Contract):
    """One step of a transaction. `started` is on disk before the first byte is written."""

    name: str
    state: Literal["pending", "started", "done"]


class Transaction(Contract):
    """The write-ahead journal: all identities are chosen before the first write."""

    schema_version: Literal[1] = 1
    id: str
    plan: Plan
    drives: list[DriveRecord]
    arrays: list[ArrayRecord]
    filesystem_uuid: str
    steps: list[StepRecord]
