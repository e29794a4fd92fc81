# SPDX-License-Identifier: Apache-2.0
"""Why nothing is planned: every obstacle at once, so that a person walks to the server once."""

from collections import Counter

from millrace.inventory.model import Drive, DriveState, PcieLink
from millrace.plan.grouping import Groups
from millrace.plan.layout import SHAPES
from millrace.plan.model import Obstacle
from millrace.plan.units import MIB, words

# Leaves a log of 64 MiB, which small file systems need, after partition slack and md metadata.
SMALLEST_DRIVE = 128 * MIB
TODO = {
    DriveState.UNKNOWN: "Find out why it does not answer (dmesg, smartctl), replace or remove it, then plan again.",
    DriveState.FOREIGN: "If its content matters, copy it elsewhere; then remove the drive or erase it, and plan again.",
    DriveState.OURS: "It belongs to a Millrace pool: assemble that pool, or remove or erase the drive, and plan again.",
}


def obstacles(drives: list[Drive], groups: Groups) -> list[Obstacle]:
    """Return every reason not to build on these candidates; none means that they can be used."""
    return [*_not_blank(drives), *_no_shape(drives, groups), *_unfit(drives, groups)]


def _not_blank(drives: list[Drive]) -> list[Obstacle]:
    order = list(TODO)
    guilty = [drive for drive in drives if drive.state in TODO]
    guilty.sort(key=lambda drive: (order.index(drive.state), drive.serial))
    return [Obstacle(serial=drive.serial or None, what=f"{_found(drive)}", todo=TODO[drive.state]) for drive in guilty]


def _found(drive: Drive) -> str:
    findings = list(dict.fromkeys(item.finding for item in drive.evidence)) or ["no evidence was recorded"]
    return f"The drive is {drive.state.value}, not blank: {'; '.join(findings)}."


def _no_shape(drives: list[Drive], groups: Groups) -> list[Obstacle]:
    if not drives:
        return [_general("This server has no NVMe drives to build on.", "Check that they are seated and powered.")]
    sectors = Counter(drive.logical_block for drive in drives)
    if len(sectors) > 1:
        mix = ", ".join(f"{count} with {sector} bytes" for sector, count in sorted(sectors.items()))
        return [_general(f"The drives have different sector sizes: {mix}.", "Format all drives alike (nvme format).")]
    if (len(groups.data), len(groups.log)) in SHAPES and not groups.rest:
        return []
    shapes = " or ".join(f"{data} equal data drives and {log} clearly smaller log drives" for data, log in SHAPES)
    return [
        _general(
            f"Found {_sizes(drives)}: that is no shape that this release plans.",
            f"It plans {shapes}; add or remove drives to match.",
        )
    ]


def _unfit(drives: list[Drive], groups: Groups) -> list[Obstacle]:
    small = [
        Obstacle(
            serial=drive.serial or None,
            what=f"The drive holds {words(drive.size)}.",
            todo=f"Replace it by one of {words(SMALLEST_DRIVE)} or more.",
        )
        for drive in drives
        if drive.size < SMALLEST_DRIVE
    ]
    slow = [
        Obstacle(
            serial=drive.serial or None,
            what="The log drive is slower than the data drives: every write would wait for it.",
            todo="Use a log drive of the same kind, or move it to a slot with a faster link.",
        )
        for drive in groups.log
        if _slower(drive, groups.data)
    ]
    return small + slow


def _slower(log: Drive, data: list[Drive]) -> bool:
    """Rotating, or on a link that carries less than half: one PCIe generation less is enough for a log."""
    if log.rotational and not any(drive.rotational for drive in data):
        return True
    slowest = min(_bandwidth(drive.link) for drive in data)
    return log.link is not None and 2 * _bandwidth(log.link) < slowest


def _bandwidth(link: PcieLink | None) -> float:
    return link.max_speed * link.max_width if link else 0.0


def _sizes(drives: list[Drive]) -> str:
    """`10 drives of 2 GiB and 1 of 1 GiB`."""
    counted = Counter(words(drive.size) for drive in sorted(drives, key=lambda drive: -drive.size))
    parts = [f"{count} x {size}" for size, count in counted.items()]
    return f"{len(drives)} NVMe drive{'s' * (len(drives) > 1)} ({', '.join(parts)})"


def _general(what: str, todo: str) -> Obstacle:
    return Obstacle(serial=None, what=what, todo=todo)
