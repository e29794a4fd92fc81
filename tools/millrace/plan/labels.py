# SPDX-License-Identifier: Apache-2.0
"""The names of our partitions and arrays."""

from collections.abc import Iterable

from millrace.plan.model import DriveRole, Role


def labels(drives: Iterable[DriveRole]) -> dict[tuple[str, Role], str]:
    """Return GPT labels by serial and role: partitions of one role are counted over all drives, in plan order."""
    found: dict[tuple[str, Role], str] = {}
    numbers: dict[Role, int] = {}
    for drive in drives:
        for partition in drive.partitions:
            number = numbers.get(partition.role, 0)
            numbers[partition.role] = number + 1
            found[drive.serial, partition.role] = f"millrace-{partition.role.value}-{number:02}"
    return found


def array_link(array: str) -> str:
    """Return the name, in /dev/md and in its superblocks, of an array that the plan calls `array`."""
    return f"millrace-{array}"


def array_path(array: str) -> str:
    """Return the device of an array that the plan calls `array`."""
    return f"/dev/md/{array_link(array)}"
