# SPDX-License-Identifier: Apache-2.0
"""Every identity is chosen before the first write, so that what a power cut leaves behind can be told to be ours."""

import uuid

from millrace.plan.model import Array, DriveRole, Plan
from millrace.provision.model import ArrayRecord, MemberRecord, StepRecord, Transaction


def new_transaction(plan: Plan, now: str) -> Transaction:
    """A journal with nothing done yet. `now` as ISO 8601; it becomes part of the name in the history."""
    arrays = _array_records(plan)
    serials = [member.serial for record in arrays for member in record.members]
    return Transaction(
        id=f"{now.replace(':', '').replace('+0000', 'Z')}-{plan.digest()[:12]}",
        plan=plan,
        disk_labels={serial: str(uuid.uuid4()) for serial in serials},
        arrays=arrays,
        filesystem_uuid=str(uuid.uuid4()),
        steps=[StepRecord(name=name, state="pending") for name in step_names(arrays)],
    )


def build_order(plan: Plan) -> list[Array]:
    """A raid0 comes after the legs that it is made of."""
    return sorted(plan.arrays, key=lambda array: array.over_arrays)


def step_names(arrays: list[ArrayRecord]) -> list[str]:
    """Drives first, arrays in build order, the file system last."""
    partitions = [f"partition {member.serial}" for record in arrays for member in record.members]
    return [*partitions, *(f"array {record.array.name}" for record in arrays), "filesystem"]


def _array_records(plan: Plan) -> list[ArrayRecord]:
    drives = {drive.serial: drive for drive in plan.drives}
    position = {drive.serial: at for at, drive in enumerate(plan.drives)}
    numbers: dict[str, int] = {}
    for role in {array.role for array in plan.arrays}:
        serials = [s for array in plan.arrays if array.role is role and not array.over_arrays for s in array.members]
        numbers |= {serial: at for at, serial in enumerate(sorted(serials, key=position.__getitem__))}
    return [
        ArrayRecord(
            array=array,
            uuid=_md_uuid(),
            members=[] if array.over_arrays else [_member(drives[s], array, numbers[s]) for s in array.members],
        )
        for array in build_order(plan)
    ]


def _member(drive: DriveRole, array: Array, number: int) -> MemberRecord:
    return MemberRecord(
        serial=drive.serial,
        wwid=drive.wwid,
        partuuid=str(uuid.uuid4()),
        label=f"millrace-{array.role.value}-{number:02}",
    )


def _md_uuid() -> str:
    digits = uuid.uuid4().hex
    return ":".join(digits[at : at + 8] for at in range(0, 32, 8))
