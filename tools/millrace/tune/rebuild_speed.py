# SPDX-License-Identifier: Apache-2.0
"""How fast a rebuild is at least, beside clients: the floor rises as redundancy falls, and the priority moves it.

md lets clients go first until a rebuild is slower than sync_speed_min; then it takes its share of the drives.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from millrace.plan.model import MdSettings
from millrace.plan.rebuild import GUARANTEED_SYNC
from millrace.storage.array import resync
from millrace.storage.array.devices import array_device, block
from millrace.storage.array.md import LOST_MEMBERS
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.system import paths, sysfs
from millrace.system.documents import Contract, read_model
from millrace.system.errors import BadInput
from millrace.tune.knob import Knob, Setting
from millrace.tune.priorities import PRIORITIES, Priority

SOURCE = "kernel 7.2: drivers/md/md.c md_do_sync, sync_speed_min; Millrace: the floor rises as redundancy falls"
# With one more failure to survive a rebuild gets an eighth of its limit, with none a quarter of it. With half of it
# reads waited behind the whole stripe cache, and the rebuild was no faster (tools/perf rebuild).
WITH_ONE, WITH_NONE = 8, 4


class PriorityDocument(Contract):
    """What an administrator decided (`/var/lib/millrace/priority.json`)."""

    schema_version: Literal[1] = 1
    priority: Priority = Field(default="balanced")


@dataclass(frozen=True)
class Pace:
    """The floor of one array in KiB/s of each drive, and why. `left` is how many more failures it survives."""

    array: str
    device: str
    left: int
    kib: int
    reason: str


def priority() -> Priority:
    """Return what an administrator decided; `balanced` where there is nothing that can be read."""
    try:
        return read_model(paths.priority_file(), PriorityDocument).priority
    except BadInput:
        return "balanced"


def paces(md: MdSettings, pool: Pool, wanted: Priority, least: int | None = None) -> list[Pace]:
    """Return the floor of each redundant array that runs; `least` in KiB/s is what the policy has."""
    found = []
    for one in pool.arrays:
        device = array_device(one.array.name)
        missing = sysfs.number(block(device) / "md/degraded") if device else None
        if device is not None and missing is not None and one.array.level != "raid0":
            found.append(_pace(one, device, missing, md.sync_speed_max, wanted, least))
    return found


def pace_settings(md: MdSettings, pool: Pool, least: int | None = None) -> list[Setting]:
    """Return the setting of each array, but of one that is being checked: its limits are set again at the end."""
    return [
        Knob(block(one.device) / "md/sync_speed_min", str(one.kib), one.reason, "system")
        for one in paces(md, pool, priority(), least)
        if resync.action(one.device) != resync.CHECK
    ]


def healthy(most: int) -> int:
    """Return the floor of an array that misses nothing, in KiB/s, where a rebuild may have `most`."""
    return max(min(GUARANTEED_SYNC, most), resync.FLOOR_KIB)


def _pace(record: ArrayRecord, device: str, missing: int, most: int, wanted: Priority, least: int | None) -> Pace:
    spare = len(record.array.members) - 1 if record.array.level == "raid1" else LOST_MEMBERS[record.array.level]
    left = max(spare - missing, 0)
    steps = [resync.FLOOR_KIB, healthy(most), most // WITH_ONE, most // WITH_NONE, most]
    # a policy may limit a rebuild to less than what is guaranteed otherwise
    steps = sorted(max(step, resync.FLOOR_KIB) for step in steps)
    step = 1 if not missing or left > 1 else 2 if left else 3
    step += PRIORITIES.index(wanted) - PRIORITIES.index("balanced") if missing else 0
    if least is not None and wanted == "balanced" and (left or not missing):
        return Pace(record.array.name, device, left, max(min(least, most), resync.FLOOR_KIB), "set by the policy")
    what = f"it survives {left} more failure{'s' * (left != 1)}" if missing else "nothing is missing"
    return Pace(record.array.name, device, left, steps[step], f"{what}, priority {wanted}")
