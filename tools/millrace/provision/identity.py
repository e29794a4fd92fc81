# SPDX-License-Identifier: Apache-2.0
"""Every identity is chosen before the first write, so that a power cut leaves nothing that cannot be recognised."""

import uuid

from millrace.plan.labels import labels
from millrace.plan.model import Array, Plan, Role
from millrace.provision.model import (
    ArrayRecord,
    DriveRecord,
    MemberRecord,
    PartitionRecord,
    StepRecord,
    Transaction,
)


def new_transaction(plan: Plan, now: str) -> Transaction:
    """Return a journal with nothing done. `now` is UTC, ISO 8601; it becomes part of the name in the history."""
    drives = _drive_records(plan)
    arrays = _array_records(plan, {drive.serial: drive for drive in drives})
    return Transaction(
        id=f"{now.replace(':', '').replace('+0000', 'Z')}-{plan.digest()[:12]}",
        plan=plan,
        drives=drives,
        arrays=arrays,
        filesystem_uuid=str(uuid.uuid4()),
        steps=[StepRecord(name=name, state="pending") for name in step_names(drives, arrays)],
    )


def build_order(plan: Plan) -> list[Array]:
    """Return the arrays with each raid0 after its legs."""
    return sorted(plan.arrays, key=lambda array: array.over_arrays)


def step_names(drives: list[DriveRecord], arrays: list[ArrayRecord]) -> list[str]:
    """Return the names of all steps: drives first, arrays in build order, the file system last."""
    partitions = [f"partition {drive.serial}" for drive in drives]
    return [*partitions, *(f"array {record.array.name}" for record in arrays), "filesystem"]


def _drive_records(plan: Plan) -> list[DriveRecord]:
    names = labels(plan.drives)
    return [
        DriveRecord(
            serial=drive.serial,
            wwid=drive.wwid,
            disk_label=str(uuid.uuid4()),
            partitions=[
                PartitionRecord(
                    role=partition.role,
                    size=partition.size,
                    label=names[drive.serial, partition.role],
                    partuuid=str(uuid.uuid4()),
                )
                for partition in drive.partitions
            ],
            discard=plan.filesystem.discard,
        )
        for drive in plan.drives
        if drive.partitions
    ]


def _array_records(plan: Plan, drives: dict[str, DriveRecord]) -> list[ArrayRecord]:
    return [
        ArrayRecord(
            array=array,
            uuid=md_uuid(),
            members=[] if array.over_arrays else [_member(drives[serial], array.role) for serial in array.members],
            spares=[_member(drives[serial], array.role) for serial in array.spares],
        )
        for array in build_order(plan)
    ]


def _member(drive: DriveRecord, role: Role) -> MemberRecord:
    partition = next(partition for partition in drive.partitions if partition.role is role)
    return MemberRecord(serial=drive.serial, wwid=drive.wwid, partuuid=partition.partuuid, label=partition.label)


def md_uuid() -> str:
    """Return a new UUID of an array in mdadm's form."""
    digits = uuid.uuid4().hex
    return ":".join(digits[at : at + 8] for at in range(0, 32, 8))
