# SPDX-License-Identifier: Apache-2.0
"""Which drives could hold the pool, and which of them are of one kind."""

from dataclasses import dataclass, field

from millrace.inventory.model import Drive, DriveState
from millrace.plan.apart import two_apart
from millrace.plan.pace import slower
from millrace.plan.policy import Policy
from millrace.system.text import binary

LIKENESS = 1.01  # drives sold with one capacity differ by less than 1 %
CLEARLY_SMALLER = 0.8


@dataclass(frozen=True)
class Unused:
    """A drive that could be used and is not, and why."""

    drive: Drive
    reason: str


@dataclass(frozen=True)
class Groups:
    """`data`: the group of equal drives that holds most. `log`: two clearly smaller ones, `log_spare` a third."""

    data: list[Drive]
    log: list[Drive] = field(default_factory=list)
    log_spare: Drive | None = None
    unused: list[Unused] = field(default_factory=list)


def unsuitable(drive: Drive, policy: Policy) -> str | None:
    """Why a drive is no candidate, as a sentence; None for a candidate."""
    if drive.state is DriveState.BOOT:
        return "The running system uses it."
    if drive.transport != "nvme":
        return f"It is attached by {drive.transport or 'an unknown bus'}; only NVMe drives of this server are used."
    if drive.removable:
        return "It is removable."
    if drive.serial in policy.drives.exclude:
        return "The policy leaves it out (drives.exclude)."
    return None


def candidates(drives: list[Drive], policy: Policy) -> list[Drive]:
    """The drives that a pool may be made of, whatever is on them, in an order that no boot changes."""
    suitable = (drive for drive in drives if unsuitable(drive, policy) is None)
    return sorted(suitable, key=lambda drive: (drive.serial, drive.wwid))


def grouped(drives: list[Drive], policy: Policy) -> Groups:
    """Sort candidates into data, log and what is left over."""
    groups = equal(drives)
    if not groups:
        return Groups([])
    data = max(groups, key=lambda group: (len(group) > 1, _protected(group), len(group), group[0].size))
    others = [drive for drive in drives if drive not in data]
    smaller = [drive for drive in others if clearly_smaller(drive, data)]
    log, spare = _log(smaller, data) if policy.log.mode in (None, "pair") else ([], None)
    left = [drive for drive in others if drive not in log and drive is not spare]
    return Groups(data, log, spare, [Unused(drive, _why_unused(drive, data, bool(log))) for drive in left])


def equal(drives: list[Drive]) -> list[list[Drive]]:
    """Groups of drives with the same sector size and sizes within 1 %."""
    groups: list[list[Drive]] = []
    for drive in sorted(drives, key=lambda drive: (drive.logical_block, drive.size, drive.serial)):
        first = groups[-1][0] if groups else None
        if first and first.logical_block == drive.logical_block and same_size(drive, first):
            groups[-1].append(drive)
        else:
            groups.append([drive])
    return [sorted(group, key=lambda drive: (drive.serial, drive.wwid)) for group in groups]


def same_size(one: Drive, other: Drive) -> bool:
    """Within 1 %."""
    return max(one.size, other.size) <= min(one.size, other.size) * LIKENESS


def clearly_smaller(drive: Drive, data: list[Drive]) -> bool:
    """At most 80 % of the smallest data drive."""
    return drive.size <= min(other.size for other in data) * CLEARLY_SMALLER


def _protected(group: list[Drive]) -> int:
    """About what a group holds after its redundancy, to compare groups by."""
    count = len(group)
    lost = 0 if count == 1 else 1 if count <= 5 else 2 if count <= 12 else -(-count // 9)
    return (count - lost) * min(drive.size for drive in group)


def _log(smaller: list[Drive], data: list[Drive]) -> tuple[list[Drive], Drive | None]:
    """Two drives for the log and, of three equal ones or more, a hot spare."""
    if len(smaller) <= 2:
        return (smaller if len(smaller) == 2 else []), None
    fit = [drive for drive in smaller if not slower(drive, data)]
    alike = [group for group in equal(fit) if len(group) > 1]
    if not alike:
        # Two of different sizes do as well; the smallest are the least loss.
        return sorted(fit if len(fit) > 1 else smaller, key=lambda drive: (drive.size, drive.serial))[:2], None
    group = min(alike, key=lambda group: group[0].size)
    pair = two_apart(group)
    return pair, next((drive for drive in group if drive not in pair), None)


def _why_unused(drive: Drive, data: list[Drive], has_log: bool) -> str:
    lost = f"{binary(drive.size)} stay unused"
    smallest = min(other.size for other in data)
    if clearly_smaller(drive, data):
        why = "the log has its drives" if has_log else "a log needs two such drives, or has another place by policy"
    elif drive.logical_block != data[0].logical_block:
        why = f"its sectors have {drive.logical_block} bytes, those of the data drives {data[0].logical_block}"
    else:
        than = "larger" if drive.size > smallest else "smaller"
        why = (
            f"it is {than} than the {len(data)} data drives of {binary(smallest)}, and an array is made of equal drives"
        )
    return f"{lost}: {why}."
