# SPDX-License-Identifier: Apache-2.0
"""The drives: which could be of the pool and which of them are equal, the purpose of each group, and their health."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from millrace.inventory.model import Drive, DriveState
from millrace.plan import sources
from millrace.plan.failing import failing
from millrace.plan.finding import PlanFinding, Severity, about
from millrace.plan.links import slower
from millrace.plan.model import Decision
from millrace.plan.policy.model import Policy
from millrace.plan.sockets import separated_pair
from millrace.system.text import size

LIKENESS = 1.01  # drives sold with one capacity differ by less than 1 %
CLEARLY_SMALLER = 0.8
WORN = 90  # percent of the rated endurance
HOT_BIT = 1 << 1
"""NVMe base specification, SMART / health information, critical warning."""


@dataclass(frozen=True)
class Unused:
    """A drive that could be used and is not, with the reason."""

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
    """Return why a drive is no candidate, as a sentence; None for a candidate."""
    if drive.state is DriveState.BOOT:
        return "Boot drive of the running system."
    if drive.transport != "nvme":
        return f"It is attached by {drive.transport or 'an unknown bus'}; only local NVMe drives are used."
    if drive.removable:
        return "It is removable."
    if drive.serial in policy.drives.exclude:
        return "Excluded by the policy (drives.exclude)."
    return None


def candidates(drives: list[Drive], policy: Policy) -> list[Drive]:
    """Return the drives that a pool may be made of, whatever is on them, in an order that no boot changes."""
    suitable = (drive for drive in drives if unsuitable(drive, policy) is None)
    return sorted(suitable, key=lambda drive: (drive.serial, drive.wwid))


def group_drives(drives: list[Drive], policy: Policy) -> Groups:
    """Sort candidates into data, log and the rest."""
    groups = groups_of_equal(drives)
    if not groups:
        return Groups([])
    data = max(groups, key=lambda group: (len(group) > 1, _protected(group), len(group), group[0].size))
    others = [drive for drive in drives if drive not in data]
    smaller = [drive for drive in others if clearly_smaller(drive, data)]
    log, spare = _log(smaller, data) if policy.log.mode in (None, "pair") else ([], None)
    left = [drive for drive in others if drive not in log and drive is not spare]
    return Groups(data, log, spare, [Unused(drive, _why_unused(drive, data, bool(log))) for drive in left])


def groups_of_equal(drives: list[Drive]) -> list[list[Drive]]:
    """Return groups of drives with the same sector size and sizes within 1 %."""
    groups: list[list[Drive]] = []
    for drive in sorted(drives, key=lambda drive: (drive.logical_block, drive.size, drive.serial)):
        first = groups[-1][0] if groups else None
        if first and first.logical_block == drive.logical_block and same_size(drive, first):
            groups[-1].append(drive)
        else:
            groups.append([drive])
    return [sorted(group, key=lambda drive: (drive.serial, drive.wwid)) for group in groups]


def same_size(one: Drive, other: Drive) -> bool:
    """Whether two sizes are within 1 %."""
    return max(one.size, other.size) <= min(one.size, other.size) * LIKENESS


def clearly_smaller(drive: Drive, data: list[Drive]) -> bool:
    """Whether a drive has at most 80 % of the smallest data drive."""
    return drive.size <= min(other.size for other in data) * CLEARLY_SMALLER


def drive_decisions(groups: Groups) -> list[Decision]:
    """Return the data drives, the log drives where there are any, and the unused ones."""
    return [_data_decision(groups), *_log_decision(groups), *_unused_decision(groups)]


def drive_warnings(groups: Groups) -> list[str]:
    """Return warnings: capacity that is not used, and drives of several models."""
    return [*_unused_warning(groups), *_models_warning(groups)]


def audit_drives(used: list[Drive], data: list[Drive]) -> list[PlanFinding]:
    """Return findings on drives. `used`: all drives of the plan; `data`: those that hold the data."""
    findings = [finding for drive in used for finding in (*_health(drive), *_wear(drive), *_cache(drive))]
    return [*findings, *_models(data), *_firmware(used)]


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
    alike = [group for group in groups_of_equal(fit) if len(group) > 1]
    if not alike:
        # Two of different sizes do as well; the smallest are the least loss.
        return sorted(fit if len(fit) > 1 else smaller, key=lambda drive: (drive.size, drive.serial))[:2], None
    group = min(alike, key=lambda group: group[0].size)
    pair = separated_pair(group)
    return pair, next((drive for drive in group if drive not in pair), None)


def _why_unused(drive: Drive, data: list[Drive], has_log: bool) -> str:
    lost = f"{size(drive.size)} unused"
    smallest = min(other.size for other in data)
    if clearly_smaller(drive, data):
        why = (
            "the log already has its drives"
            if has_log
            else "a log needs two such drives, or the policy puts it elsewhere"
        )
    elif drive.logical_block != data[0].logical_block:
        why = f"its sectors are {drive.logical_block} bytes, those of the data drives {data[0].logical_block}"
    else:
        than = "larger" if drive.size > smallest else "smaller"
        why = f"it is {than} than the {len(data)} data drives of {size(smallest)}, and an array needs equal drives"
    return f"{lost}: {why}."


def _data_decision(groups: Groups) -> Decision:
    count, each = len(groups.data), size(min(drive.size for drive in groups.data))
    drives = f"{count} drives of {each}" if count > 1 else f"One drive of {each}"
    return Decision(
        name="drives.data",
        value=[drive.serial for drive in groups.data],
        reason=f"{drives} with sectors of {groups.data[0].logical_block} bytes: the group of equal drives with "
        "the largest usable capacity.",
        source=sources.TALK_SHAPES,
    )


def _log_decision(groups: Groups) -> Iterator[Decision]:
    if groups.log:
        yield Decision(
            name="drives.log",
            value=[drive.serial for drive in groups.log],
            reason=f"2 drives of {size(min(drive.size for drive in groups.log))} are clearly smaller (80 % or less) "
            f"than the data drives of {size(min(drive.size for drive in groups.data))}.",
            source=sources.TALK_SHAPES,
        )


def _unused_decision(groups: Groups) -> Iterator[Decision]:
    if groups.unused:
        yield Decision(
            name="drives.unused",
            value={unused.drive.serial: unused.reason for unused in groups.unused},
            reason=f"{_drives(groups.unused, 'does not fit', 'do not fit')} the layout: {_capacity(groups)} unused.",
            source=sources.DISK_RULES,
        )


def _unused_warning(groups: Groups) -> Iterator[str]:
    if groups.unused:
        yield f"{_drives(groups.unused, 'is', 'are')} unused ({_capacity(groups)}); the table of drives shows why."


def _models_warning(groups: Groups) -> Iterator[str]:
    models = {drive.model for drive in groups.data}
    if len(models) > 1:
        yield f"The data drives are of {len(models)} models: the slowest limits the array."


def _capacity(groups: Groups) -> str:
    return size(sum(unused.drive.size for unused in groups.unused))


def _drives(unused: list[Unused], one: str, several: str) -> str:
    return f"{len(unused)} drives {several}" if len(unused) > 1 else f"1 drive {one}"


def _health(drive: Drive) -> list[PlanFinding]:
    warning = drive.critical_warning or 0
    found = []
    if warning & HOT_BIT:
        now = "" if drive.temperature is None else f" ({drive.temperature} °C)"
        what = f"The drive is outside its temperature range{now} and throttles itself."
        todo = "Check the fans, the covers of empty bays and the room temperature."
        found.append(about(drive, "heat.drive", Severity.WARN, what, todo))
    return [*found, *failing(drive)]


def _wear(drive: Drive) -> list[PlanFinding]:
    if drive.wear is None or drive.wear < WORN:
        return []
    what = f"{drive.wear} % of the drive's rated endurance is used."
    return [about(drive, "drive.worn", Severity.WARN, what, "Plan its replacement.")]


def _cache(drive: Drive) -> list[PlanFinding]:
    """A drive with protection usually reports that it has no volatile cache; NVMe has no field for the protection."""
    if not drive.volatile_write_cache:
        return []
    what = (
        "The drive has a volatile write cache: synced data is safe if the drive keeps its promise to flush, and each "
        "flush waits for the flash. NVMe does not report whether the drive has power-loss protection."
    )
    todo = "Check the data sheet: without power-loss protection sync writes are slow, above all on log drives."
    return [about(drive, "cache.volatile", Severity.INFO, what, todo)]


def _models(data: list[Drive]) -> list[PlanFinding]:
    models = Counter(drive.model for drive in data)
    if len(models) < 2:
        return []
    what = f"The drives are of {len(models)} models: {_counted(models)}."
    return [
        PlanFinding(
            name="drives.models",
            severity=Severity.INFO,
            subject="data drives",
            what=what,
            todo="Use one model if possible: the slowest one limits the array.",
        )
    ]


def _firmware(used: list[Drive]) -> list[PlanFinding]:
    findings = []
    for model in sorted({drive.model for drive in used}):
        firmware = Counter(drive.firmware for drive in used if drive.model == model and drive.firmware)
        if len(firmware) > 1:
            rare = min(firmware.items(), key=lambda pair: (pair[1], pair[0]))[0]
            serials = sorted(drive.serial for drive in used if (drive.model, drive.firmware) == (model, rare))
            findings.append(
                PlanFinding(
                    name="drives.firmware",
                    severity=Severity.INFO,
                    subject=f"drives of model {model}",
                    what=f"Firmware versions differ: {_counted(firmware)}.",
                    todo=f"Update all to the vendor's current release; {rare} is on {', '.join(serials)}.",
                )
            )
    return findings


def _counted(counts: Counter[str]) -> str:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{count} × {name or 'unnamed'}" for name, count in ordered)
