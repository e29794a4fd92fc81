# SPDX-License-Identifier: Apache-2.0
"""Which drives could hold the pool, and which of them are of one kind."""

from dataclasses import dataclass

from millrace.inventory.model import Drive, DriveState

LIKENESS = 1.01  # drives sold with one capacity differ by less than 1 %
CLEARLY_SMALLER = 0.8


@dataclass(frozen=True)
class Groups:
    """`data`: the largest group of equal drives. `log`: two clearly smaller ones. `rest`: candidates in neither."""

    data: list[Drive]
    log: list[Drive]
    rest: list[Drive]


def unsuitable(drive: Drive) -> str | None:
    """Why a drive is no candidate, as a sentence; None for a candidate."""
    if drive.state is DriveState.BOOT:
        return "The running system uses it."
    if drive.transport != "nvme":
        return f"It is attached by {drive.transport or 'an unknown bus'}; only NVMe drives of this server are used."
    if drive.removable:
        return "It is removable."
    return None


def candidates(drives: list[Drive]) -> list[Drive]:
    """The drives that a pool may be made of, whatever is on them, in an order that no boot changes."""
    return sorted(
        (drive for drive in drives if unsuitable(drive) is None), key=lambda drive: (drive.serial, drive.wwid)
    )


def grouped(drives: list[Drive]) -> Groups:
    """Sort candidates into data, log and rest."""
    data = max(_equal(drives), key=lambda group: (len(group), group[0].size), default=[])
    others = [drive for drive in drives if drive not in data]
    limit = min((drive.size for drive in data), default=0) * CLEARLY_SMALLER
    smaller = [drive for drive in others if drive.size <= limit]
    log = smaller if len(smaller) == 2 else []
    return Groups(data, log, [drive for drive in others if drive not in log])


def _equal(drives: list[Drive]) -> list[list[Drive]]:
    """Groups of drives with the same sector size and sizes within 1 %."""
    groups: list[list[Drive]] = []
    for drive in sorted(drives, key=lambda drive: (drive.logical_block, drive.size, drive.serial)):
        first = groups[-1][0] if groups else None
        if first and first.logical_block == drive.logical_block and drive.size <= first.size * LIKENESS:
            groups[-1].append(drive)
        else:
            groups.append([drive])
    return [sorted(group, key=lambda drive: drive.serial) for group in groups]
