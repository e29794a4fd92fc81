# SPDX-License-Identifier: Apache-2.0
"""Why each drive is used for what, and what a person should know about the drives."""

from collections.abc import Iterator

from millrace.plan import sources
from millrace.plan.grouping import Groups
from millrace.plan.knobs import GUARANTEED_SYNC
from millrace.plan.layout import Layout
from millrace.plan.model import Decision
from millrace.plan.shapes import FEWEST_FOR_LEGS, PARITY
from millrace.system.text import KIB, binary


def drive_decisions(groups: Groups) -> list[Decision]:
    """Data drives, log drives where there are any, and what stays unused."""
    return [_data(groups), *_log(groups), *_unused(groups)]


def warnings(layout: Layout, groups: Groups) -> list[str]:
    """What a person should know before approving."""
    return [*_redundancy(layout), *_unused_warning(groups), *_spans(layout), *_models(groups)]


def _data(groups: Groups) -> Decision:
    count, size = len(groups.data), binary(min(drive.size for drive in groups.data))
    drives = f"{count} drives of {size}" if count > 1 else f"One drive of {size}"
    return Decision(
        name="drives.data",
        value=[drive.serial for drive in groups.data],
        reason=f"{drives} with sectors of {groups.data[0].logical_block} bytes: of all groups of equal drives the one "
        "that holds most with redundancy.",
        source=sources.TALK_SHAPES,
    )


def _log(groups: Groups) -> Iterator[Decision]:
    if groups.log:
        yield Decision(
            name="drives.log",
            value=[drive.serial for drive in groups.log],
            reason=f"2 drives of {binary(min(drive.size for drive in groups.log))} are clearly smaller than the "
            f"{binary(min(drive.size for drive in groups.data))} of the data drives (80 % or less).",
            source=sources.TALK_SHAPES,
        )


def _unused(groups: Groups) -> Iterator[Decision]:
    if groups.unused:
        yield Decision(
            name="drives.unused",
            value={unused.drive.serial: unused.reason for unused in groups.unused},
            reason=f"{_drives(len(groups.unused))} do not fit in: {_lost(groups)} stay unused.",
            source=sources.DISK_RULES,
        )


def _unused_warning(groups: Groups) -> Iterator[str]:
    if groups.unused:
        yield f"{_drives(len(groups.unused))} with {_lost(groups)} stay unused; the table of drives says why."


def _redundancy(layout: Layout) -> Iterator[str]:
    if len(layout.redundant.members) == 1:
        yield "There is one data drive: when it fails, all data is lost. A second one of its size makes it a mirror."
    drives = sum(map(len, layout.legs)) + len(layout.spares)
    if PARITY.get(layout.shape.level) == 1 and drives >= FEWEST_FOR_LEGS:
        hours = layout.data_partition / (GUARANTEED_SYNC * KIB) / 3600
        yield (
            f"{layout.shape.title} has single parity: after a drive fails, a second failure in the same leg loses all "
            f"data until the rebuild ends, {_duration(hours)} later at the {GUARANTEED_SYNC * KIB / 10**6:.0f} MB/s "
            'that a rebuild is guaranteed. layout.resilience = "double" in the policy gives each leg a second parity '
            "drive."
        )


def _spans(layout: Layout) -> Iterator[str]:
    if len(layout.legs) == 1:
        return
    for number, leg in enumerate(layout.legs):
        far = layout.places.strangers(leg)
        if far:
            names = ", ".join(drive.serial for drive in far)
            yield (
                f"leg{number} spans sockets: {len(far)} of its {len(leg)} drives ({names}) are not on that of the "
                f"others, and {100 * len(far) // len(leg)} % of what it moves crosses between sockets; slots on the "
                "socket of the others would avoid that."
            )


def _models(groups: Groups) -> Iterator[str]:
    models = {drive.model for drive in groups.data}
    if len(models) > 1:
        yield f"The data drives are of {len(models)} models: the slowest sets the pace."


def _duration(hours: float) -> str:
    return f"{hours:.0f} hours" if hours >= 1.5 else "an hour" if hours > 0.5 else "less than an hour"


def _lost(groups: Groups) -> str:
    return binary(sum(unused.drive.size for unused in groups.unused))


def _drives(count: int) -> str:
    return f"{count} drive{'s' * (count > 1)}"
