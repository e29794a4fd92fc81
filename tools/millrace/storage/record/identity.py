# SPDX-License-Identifier: Apache-2.0
"""Every identity is chosen before the first write, so that a power cut leaves nothing that cannot be recognised."""

import uuid

from millrace.plan.labels import labels
from millrace.plan.model import DriveRole, Filesystem, MdArray, Plan, Role
from millrace.plan.sizes import aligned_start
from millrace.storage.record.model import (
    ArrayRecord,
    DriveRecord,
    MemberRecord,
    PartitionRecord,
    StepRecord,
    Transaction,
)

BY_PARTUUID = "/dev/disk/by-partuuid/"


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


def filesystem_of(transaction: Transaction) -> Filesystem:
    """Return the file system as it is made and mounted.

    A plan knows an external device by the name that the policy has; the partition on it has a name on every server.
    """
    planned = transaction.plan.filesystem
    if transaction.plan.backend == "md":
        return planned
    devices = {
        partition.role: f"{BY_PARTUUID}{partition.partuuid}"
        for drive in transaction.drives
        for partition in drive.partitions
    }
    return planned.model_copy(update={"device": devices[Role.DATA], "log_device": devices.get(Role.LOG)})


def build_order(plan: Plan) -> list[MdArray]:
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
            start=_start(plan, drive),
        )
        for drive in plan.drives
        if drive.partitions
    ]


def _start(plan: Plan, drive: DriveRole) -> int:
    """md aligns what it makes by itself; without it the full stripes of an external device are those of XFS."""
    stripes = plan.backend == "external" and drive.role is Role.DATA
    return aligned_start(plan.filesystem.stripe_unit if stripes else 0)


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
