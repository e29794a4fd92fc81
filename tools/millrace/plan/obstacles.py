# SPDX-License-Identifier: Apache-2.0
"""Why nothing is planned: every obstacle at once, so that one visit to the server is enough."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from millrace.inventory.model import Drive, DriveState, Evidence
from millrace.inventory.probe import OURS
from millrace.inventory.surface import ERASE_INTERRUPTED, only_mark
from millrace.plan.drives import Groups, candidates, group_drives, same_size
from millrace.plan.failing import failing
from millrace.plan.finding import place_of
from millrace.plan.links import slower
from millrace.plan.model import DriveName, PlanObstacle
from millrace.plan.other_pool import belongs_to_pool, other_pool
from millrace.plan.policy.model import Policy
from millrace.system.text import MIB, size

# XFS makes nothing of less than 300 MiB, and a log of 64 MiB needs room for md and for a smaller replacement.
SMALLEST_DATA_DRIVE, SMALLEST_LOG_DRIVE = 512 * MIB, 128 * MIB
RESCAN = "then plan again (`millrace plan --again`)"
EXCLUDE = "or exclude it by policy ([drives] exclude)"
FOREIGN_TODO = f"Copy its data elsewhere if needed, then remove or erase the drive, {RESCAN}."
SILENT_TODO = f"Check why the drive does not respond (dmesg, smartctl), replace or remove it, {RESCAN}."
IN_USE_TODO = f"End its use: `lsblk` shows what is on it, {RESCAN}."
MOUNTS_TODO = "Correct that first: any drive could be the one that the system runs from."
ERASE_TODO = f"Erase the drive again (millrace drive erase SERIAL), {RESCAN}."
TEST_TODO = f"Test the drive again (millrace drive test SERIAL) or erase it, {RESCAN}."
IDENTITY, NOTHING_FOUND = "identity", "all"
"""Probes of the inventory: who a drive is, and the one line of a drive on which nothing was found."""


def obstacles(drives: list[Drive], policy: Policy) -> list[PlanObstacle]:
    """Return every reason not to build on the drives of a server; none means that they can be used."""
    chosen = candidates(drives, policy)
    groups = group_drives(chosen, policy)
    return [
        *_not_blank(chosen),
        *other_pool([drive for drive in map(_as_found, chosen) if drive.state is not DriveState.UNKNOWN], RESCAN),
        *_failing(chosen),
        *_ambiguous_identity(chosen, drives),
        *_not_excluded(drives, policy),
        *_no_drives(chosen),
        *_mixed_sectors(chosen, groups),
        *_too_small(groups),
        *_slow_log(groups),
    ]


def named(drives: Iterable[Drive]) -> list[DriveName]:
    """Return drives as obstacles name them."""
    return [DriveName(bay=place_of(one), name=one.name, serial=one.serial) for one in drives]


def remedy(drive: Drive) -> str:
    """Return what to do about a drive that is foreign or unknown: of its cause, not of its state."""
    if mark := only_mark(drive.evidence):
        return ERASE_TODO if mark == ERASE_INTERRUPTED else TEST_TODO
    if drive.state is DriveState.FOREIGN:
        return FOREIGN_TODO
    probes = {one.probe for one in drive.evidence}
    if "mounts" in probes:
        return MOUNTS_TODO
    return IN_USE_TODO if probes & {"exclusive open", "holders"} else SILENT_TODO


def one_row(found: Iterable[tuple[Drive, str, str]]) -> Iterator[PlanObstacle]:
    """Return one obstacle for each cause: drives of which the same was found and is to be done share it."""
    rows: dict[tuple[str, str], list[Drive]] = {}
    for drive, what, todo in found:
        rows.setdefault((what, todo), []).append(drive)
    for (what, todo), together in rows.items():
        yield PlanObstacle(drives=named(together), what=what, todo=todo)


def _not_blank(drives: Sequence[Drive]) -> Iterator[PlanObstacle]:
    order = [DriveState.UNKNOWN, DriveState.FOREIGN]
    occupied = [one for one in map(_as_found, drives) if one.state is DriveState.UNKNOWN or _foreign(one)]
    occupied.sort(key=lambda one: (order.index(one.state), one.serial, one.wwid))
    return one_row((one, _found(one), remedy(one)) for one in occupied)


def _as_found(drive: Drive) -> Drive:
    """The drive without what is the cause of another row: that its serial number or wwid is shared or missing."""
    rest = [one for one in drive.evidence if one.probe != IDENTITY]
    if len(rest) == len(drive.evidence):
        return drive
    return drive.model_copy(update={"evidence": rest, "state": _state(rest)})


def _state(evidence: Sequence[Evidence]) -> DriveState:
    """What the inventory would call a drive with nothing but this on it."""
    if all(one.probe == NOTHING_FOUND for one in evidence):
        return DriveState.BLANK
    if any(one.finding.startswith(OURS) for one in evidence):
        return DriveState.OURS
    return DriveState.UNKNOWN if _failed(evidence) else DriveState.FOREIGN


def _failed(evidence: Sequence[Evidence]) -> bool:
    """Whether a probe failed, as far as its name shows it: only these find nothing that could be on a drive."""
    return any(one.probe in ("mounts", "exclusive open", "read", "size") for one in evidence)


def _foreign(drive: Drive) -> bool:
    return drive.state is DriveState.FOREIGN and not belongs_to_pool(drive)


def _found(drive: Drive) -> str:
    findings = list(dict.fromkeys(item.finding for item in drive.evidence)) or ["no evidence was recorded"]
    # the row names the drive, and drives with one cause are one row
    cause = re.sub(rf"\b{re.escape(drive.name)}\b", "the drive", "; ".join(findings))
    return f"The drive is {drive.state.value}, not blank: {cause}."


def _failing(drives: Sequence[Drive]) -> Iterator[PlanObstacle]:
    """What health would report as failed a minute after the build is not built."""
    todo = f"Replace or remove the drive, {RESCAN}, {EXCLUDE}."
    return one_row((one, " ".join(each.what for each in found), todo) for one in drives if (found := failing(one)))


def _ambiguous_identity(chosen: Sequence[Drive], drives: Sequence[Drive]) -> Iterator[PlanObstacle]:
    """Provisioning finds its drives by serial and wwid; two of one could be taken for each other."""
    fixed = [drive for drive in drives if drive in chosen or not drive.removable]
    shared: list[set[str]] = []
    for serial in dict.fromkeys(drive.serial for drive in chosen):
        same = [drive for drive in fixed if drive.serial == serial]
        if not serial:
            what = f"{_several(len(same))} no serial number."
            todo = "Remove or replace it: drives are identified by their serial numbers."
            yield PlanObstacle(drives=named(same), what=what, todo=todo)
        elif len(same) > 1:
            shared.append({drive.name for drive in same})
            what = f"{_several(len(same))} the serial number {serial}: namespaces of one drive, or a duplicate."
            todo = (
                "Keep one namespace on each drive, give virtual drives serial numbers of their own, remove all but "
                f"one, {EXCLUDE}."
            )
            yield PlanObstacle(drives=named(same), what=what, todo=todo)
    for wwid in dict.fromkeys(drive.wwid for drive in chosen if drive.wwid):
        same = [drive for drive in fixed if drive.wwid == wwid]
        names = {drive.name for drive in same}
        if len(same) > 1 and not any(names <= group for group in shared):
            what = f"{_several(len(same))} the wwid {wwid}."
            yield PlanObstacle(drives=named(same), what=what, todo=f"Remove all but one, {EXCLUDE}.")


def _several(count: int) -> str:
    return "A drive reports" if count == 1 else f"{count} drives report"


def _not_excluded(drives: Sequence[Drive], policy: Policy) -> list[PlanObstacle]:
    """A serial with a typing error would put the very drive into the pool that is to stay out of it."""
    there = {drive.serial for drive in drives}
    return [
        _general(
            f"The policy's drives.exclude cannot be used on this server: no drive has the serial {serial}.",
            "Correct the serial, or remove it from the policy.",
        )
        for serial in policy.drives.exclude
        if serial not in there
    ]


def _no_drives(chosen: list[Drive]) -> list[PlanObstacle]:
    if chosen:
        return []
    return [_general("This server has no NVMe drives for a pool.", "Check that the drives are seated and powered.")]


def _mixed_sectors(drives: list[Drive], groups: Groups) -> list[PlanObstacle]:
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
    return [
        PlanObstacle(
            drives=named(odd),
            what=f"Drives of {size(first.size)} have different sector sizes: {mix}.",
            todo="Format all of them with one sector size (`nvme format` erases them), "
            f"{EXCLUDE.replace('it', 'these', 1)}.",
        )
    ]


def _too_small(groups: Groups) -> Iterator[PlanObstacle]:
    limits = [(drive, SMALLEST_DATA_DRIVE) for drive in groups.data]
    limits += [(drive, SMALLEST_LOG_DRIVE) for drive in groups.log]
    return one_row(
        (drive, f"The drive is too small: {size(drive.size)}.", f"Replace it with one of {size(least)} or more.")
        for drive, least in limits
        if drive.size < least
    )


def _slow_log(groups: Groups) -> Iterator[PlanObstacle]:
    what = "The log drive is slower than the data drives: every write would wait for it."
    todo = (
        "Use a log drive of the same kind, move it to a slot with a faster link, or put the log on the data drives "
        'by policy ([log] mode = "partition").'
    )
    return one_row((drive, what, todo) for drive in groups.log if slower(drive, groups.data))


def _general(what: str, todo: str) -> PlanObstacle:
    return PlanObstacle(drives=[], what=what, todo=todo)
