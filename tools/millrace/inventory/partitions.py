# SPDX-License-Identifier: Apache-2.0
"""The partitions that the kernel sees on a drive, and whether they are ours."""

import re
from dataclasses import dataclass
from pathlib import Path

from millrace.system import sysfs

# The boot disk's own partitions start with millrace too; only these make a drive a pool member.
POOL_LABEL = re.compile(r"millrace-(data|log)-\d\d")


@dataclass(frozen=True)
class Partition:
    """One partition. `label` is the GPT partition name, empty without one."""

    name: str
    label: str
    directory: Path


def partitions(drive: Path) -> list[Partition]:
    """Return the partitions of a drive in the order of their numbers."""
    # a partition has the name of its drive in front of its own
    own = [name for name in sysfs.names(drive) if name.startswith(drive.name)]
    found = [drive / name for name in own if (drive / name / "partition").exists()]
    found.sort(key=lambda directory: sysfs.number(directory / "partition") or 0)
    return [Partition(entry.name, sysfs.uevent(entry).get("PARTNAME", ""), entry) for entry in found]


def are_ours(found: list[Partition]) -> bool:
    """Whether a drive carries pool partitions of Millrace and nothing else."""
    return bool(found) and all(POOL_LABEL.fullmatch(partition.label) for partition in found)
