# SPDX-License-Identifier: Apache-2.0
"""Why nothing is planned: every obstacle at once, so that one visit to the server is enough."""

from collections import Counter

from millrace.inventory.model import Drive, DriveState
from millrace.plan.drives import Groups, candidates, group_drives, same_size
from millrace.plan.links import slower
from millrace.plan.model import Obstacle
from millrace.plan.other_pool import belongs_to_pool, other_pool
from millrace.plan.policy import Policy
from millrace.system.text import MIB, size

# XFS makes nothing of less than 300 MiB, and a log of 64 MiB needs room for md and for a smaller replacement.
SMALLEST_DATA_DRIVE, SMALLEST_LOG_DRIVE = 512 * MIB, 128 * MIB
RESCAN = "then plan again (`millrace plan --again`)"
TODO = {
    DriveState.UNKNOWN: f"Check why the drive does not respond (dmesg, smartctl), replace or remove it, {RESCAN}.",
    DriveState.FOREIGN: f"Copy its data elsewhere if needed, then remove or erase the drive, {RESCAN}.",
}
EXCLUDE = "or exclude it by policy ([drives] exclude)"


def obstacles(drives: list[Drive], policy: Policy) -> list[Obstacle]:
    """Return every reason not to build on the drives of a server; none means that they can be used."""
    chosen = candidates(drives, policy)
    groups = group_drives(chosen, policy)
    return [
        *_not_blank(chosen),
        *other_pool([drive for drive in chosen if drive.state is not DriveState.UNKNOWN], RESCAN),
        *_ambiguous_serials(chosen, drives),
        *_not_excluded(drives, policy),
        *_no_drives(chosen),
        *_mixed_sectors(chosen, groups),
        *_too_small(groups),
        *_slow_log(groups),
    ]


def _not_blank(drives: list[Drive]) -> list[Obstacle]:
    order = list(TODO)
    occupied = [drive for drive in drives if drive.state is DriveState.UNKNOWN or _foreign(drive)]
    occupied.sort(key=lambda drive: (order.index(drive.state), drive.serial, drive.wwid))
    return [_about(drive, _found(drive), TODO[drive.state]) for drive in occupied]


def _foreign(drive: Drive) -> bool:
    return drive.state is DriveState.FOREIGN and not belongs_to_pool(drive)


def _found(drive: Drive) -> str:
    findings = list(dict.fromkeys(item.finding for item in drive.evidence)) or ["no evidence was recorded"]
    return f"The drive is {drive.state.value}, not blank: {'; '.join(findings)}."


def _ambiguous_serials(chosen: list[Drive], drives: list[Drive]) -> list[Obstacle]:
    """Provisioning finds its drives by serial; two of one serial could be taken for each other."""
    fixed = [drive for drive in drives if drive in chosen or not drive.removable]
    counts = Counter(drive.serial for drive in fixed)
    found = []
    for serial in dict.fromkeys(drive.serial for drive in chosen):
        if not serial:
            what = f"{_several(counts[serial])} no serial number."
            found.append(_general(what, "Remove or replace it: drives are identified by their serial numbers."))
        elif counts[serial] > 1:
            what = f"{_several(counts[serial])} the serial number {serial}: namespaces of one drive, or a duplicate."
            todo = f"Keep one namespace on each drive, remove all but one, {EXCLUDE}."
            found.append(Obstacle(serial=serial, what=what, todo=todo))
    return found


def _several(count: int) -> str:
    return "A drive reports" if count == 1 else f"{count} drives report"


def _not_excluded(drives: list[Drive], policy: Policy) -> list[Obstacle]:
    """A serial with a typing error would put the very drive into the pool that is to stay out of it."""
    there = {drive.serial for drive in drives}
    return [
        Obstacle(
            serial=serial,
            what=f"The policy's drives.exclude cannot be used on this server: no drive has the serial {serial}.",
            todo="Correct the serial, or remove it from the policy.",
        )
        for serial in policy.drives.exclude
        if serial not in there
    ]


def _no_drives(chosen: list[Drive]) -> list[Obstacle]:
    if chosen:
        return []
    return [_general("This server has no NVMe drives for a pool.", "Check that the drives are seated and powered.")]


def _mixed_sectors(drives: list[Drive], groups: Groups) -> list[Obstacle]:
    """Drives that would be of the data drives if they were formatted alike: after the approval it is too late."""
    if not groups.data:
        return []
    first = groups.data[0]
    # Formatting erases: no remedy says that of a drive of a pool.
    alike = [drive for drive in drives if same_size(drive, first) and not belongs_to_pool(drive)]
    odd = [drive for drive in alike if drive.logical_block != first.logical_block]
    sectors = Counter(drive.logical_block for drive in alike)
    if len(sectors) < 2:
        return []
    mix = ", ".join(f"{count} with {sector} bytes" for sector, count in sorted(sectors.items()))
    names = ", ".join(drive.serial for drive in odd)
    return [
        _general(
            f"Drives of {size(first.size)} have different sector sizes: {mix} ({names}).",
            "Format all of them with one sector size (`nvme format` erases them), "
            f"{EXCLUDE.replace('it', 'these', 1)}.",
        )
    ]


def _too_small(groups: Groups) -> list[Obstacle]:
    limits = [(drive, SMALLEST_DATA_DRIVE) for drive in groups.data]
    limits += [(drive, SMALLEST_LOG_DRIVE) for drive in groups.log]
    return [
        _about(drive, f"The drive is too small: {size(drive.size)}.", f"Replace it with one of {size(least)} or more.")
        for drive, least in limits
        if drive.size < least
    ]


def _slow_log(groups: Groups) -> list[Obstacle]:
    return [
        _about(
            drive,
            "The log drive is slower than the data drives: every write would wait for it.",
            "Use a log drive of the same kind, move it to a slot with a faster link, or put the log on the data drives "
            'by policy ([log] mode = "partition").',
        )
        for drive in groups.log
        if slower(drive, groups.data)
    ]


def _about(drive: Drive, what: str, todo: str) -> Obstacle:
    return Obstacle(serial=drive.serial or None, what=what, todo=todo)


def _general(what: str, todo: str) -> Obstacle:
    return Obstacle(serial=None, what=what, todo=todo)
