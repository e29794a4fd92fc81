# SPDX-License-Identifier: Apache-2.0
"""A change of drives in words: what is asked before it, and its progress."""

from collections.abc import Iterator, Sequence

from millrace.storage.change.candidates import named
from millrace.storage.change.change_model import ChangeProgress
from millrace.storage.record.drive_change import ChangedDrive, DriveChange, DrivePlan, DriveProposal
from millrace.system.printing import fields
from millrace.system.text import binary, pace, size

TITLES = {"replace": "Replace", "add": "Add", "remove": "Remove", "grow": "Grow"}


def proposal_lines(proposal: DriveProposal) -> Iterator[str]:
    """Return what is shown before it is confirmed: the drives, what is written, the hash."""
    plan = proposal.plan
    yield f"{TITLES[plan.verb]}:"
    rows: list[tuple[str, str]] = []
    if plan.old and not _is_same(plan):
        rows.append(("Old drive" if plan.new else "Drive", _about(plan.old)))
    if plan.new:
        rows.append(("New drive", f"{_about(plan.new)}; it is blank, and is written"))
    if plan.verb == "grow":
        rows.append(("Gain", f"{size(plan.gain)} of usable capacity, less what XFS needs"))
    rows += [(f"Step {number}", step) for number, step in enumerate(proposal.steps, start=1)]
    rows += [("Differs", difference) for difference in proposal.differences]
    yield from fields([*rows, ("Hash", proposal.sha256)], indent=2)


def steps_in_words(plan: DrivePlan) -> list[str]:
    """Return what a change does, a sentence for each step."""
    steps = []
    if plan.verb == "grow":
        return _growing(plan)
    if plan.new:
        parts = ", ".join(f"{partition.label} {binary(partition.size)}" for partition in plan.partitions)
        steps.append(f"Write a partition table to drive {plan.new.serial}: {parts}.")
    for join in plan.joins:
        if join.copies and plan.old:
            steps.append(
                f"Array {join.array}: copy {plan.old.serial} to {join.label}; redundancy is kept, "
                f"{plan.old.serial} stays in use until the end."
            )
        elif plan.verb == "add":
            steps.append(f"Array {join.array}: add {join.label} as a hot spare.")
        else:
            steps.append(f"Array {join.array}: add {join.label}; md rebuilds onto it where a member is missing.")
    steps += [f"Array {name}: remove {plan.old.serial}." for name in plan.leaves if plan.old]
    if plan.old and plan.leaves:
        steps.append(f"Then {named(plan.old.serial, plan.old.bay)} may be pulled.")
    return steps


def _growing(plan: DrivePlan) -> list[str]:
    enlarged = [
        f"Enlarge {grown.label} of {named(grown.serial, grown.bay)}: {binary(grown.before)} to {binary(grown.size)}."
        for grown in plan.grows
    ]
    arrays = [
        f"Array {name}: use all of its members; md synchronises the new part in the background."
        for name in plan.growing
    ]
    # md cannot enlarge a RAID0 that runs
    start = [f"Array {plan.array}: use its larger legs from the next restart of the server on."] if plan.legs else []
    grow = f"{'After that grow' if plan.legs else 'Grow'} the file system, which stays mounted and served."
    return [*enlarged, *arrays, *start, grow]


def _is_same(plan: DrivePlan) -> bool:
    """Whether a member that was erased takes its own place."""
    return plan.old is not None and plan.new is not None and plan.old.serial == plan.new.serial


def result(change: DriveChange) -> str:
    """Return how a change ended that was done."""
    plan = change.plan
    if plan.legs:
        return f"the legs have grown; the pool has {size(plan.gain)} more after the next restart: systemctl reboot"
    if plan.verb == "grow":
        return f"the pool has {size(plan.gain)} more"
    if plan.old and plan.new and _is_same(plan):
        return f"{named(plan.new.serial, plan.new.bay)} has its place again"
    if plan.old and plan.new:
        pulled = f"; {named(plan.old.serial, plan.old.bay)} may be pulled" if plan.leaves else ""
        return f"{named(plan.new.serial, plan.new.bay)} has replaced {plan.old.serial}{pulled}"
    if plan.new:
        return f"{named(plan.new.serial, plan.new.bay)} was added as a hot spare"
    return f"{named(plan.old.serial, plan.old.bay)} was removed and may be pulled" if plan.old else "nothing changed"


def progress_line(now: ChangeProgress) -> str:
    """Return the progress of a change on one line."""
    words = f"{now.done}/{now.total} {now.step or 'finishing'}"
    if now.progress is None:
        return words
    return f"{words}, {now.progress:.0%}{pace(now.bytes_per_second, now.seconds_left)}"


def progress_lines(changes: Sequence[ChangeProgress]) -> Iterator[str]:
    """Return the change that runs, or how the last one ended; `found` has one, or none."""
    if not changes:
        yield "no drive was changed yet"
    for now in changes:
        if now.change.error and now.change.ended:
            yield f"failed: {now.change.error}"
        elif now.change.error:
            yield f"stopped: {now.change.error}"
            yield "to go on when the cause is corrected: millrace drive resume"
        elif now.change.ended:
            yield f"{result(now.change)} ({now.change.ended})"
        else:
            yield progress_line(now)


def _about(drive: ChangedDrive) -> str:
    words = [named(drive.serial, drive.bay), drive.model, size(drive.size) if drive.size else ""]
    return ", ".join(one for one in words if one)
