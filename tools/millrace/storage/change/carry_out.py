# SPDX-License-Identifier: Apache-2.0
"""Carry out a confirmed change of drives; resumed where a kill or a power cut stopped it."""

from collections.abc import Iterator

from millrace.storage.array import discard, md
from millrace.storage.array.machine import Report, System
from millrace.storage.assemble import grown_legs, in_sync
from millrace.storage.change.change_steps import JoinStep, LeaveTask, RebuildTask, Task
from millrace.storage.change.grow_steps import EnlargeTask, FilesystemTask, GrowTask, OverLegsTask, enlarged
from millrace.storage.drive.attached import Drives
from millrace.storage.provision.partition import PartitionStep
from millrace.storage.record import removal_record
from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.drive_change import DriveChange, DrivePlan
from millrace.storage.record.model import DriveRecord, PartitionRecord, Pool, WaitingGrowth
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.step import carry_out


def carry_out_change(system: System, drives: Drives, journal: ChangeJournal, report: Report) -> None:
    """Do the steps that are not done yet, and close the journal. `report` receives one line for each step.

    Refused: a drive holds something else. LostDrive: the new drive is gone. Failed: a tool failed.
    """
    pool = load_pool()
    md.load_modules(system)
    if journal.change.drive is not None:
        # a power cut from here on must not leave it out of the array that it joins
        removal_record.forget([journal.change.drive.serial])
        discard.keep_from(system, pool, journal.change.drive)
    for step in _steps(system, drives, journal, pool, report):
        if journal.state(step.name) == "done":
            continue
        if isinstance(step, PartitionStep | JoinStep):
            words = carry_out(step, journal)
        else:
            journal.start(step.name)
            words = step.perform()
            journal.done(step.name)
        report(f"{step.title}: {words}")
    journal.end(system.now())


def _steps(
    system: System, drives: Drives, journal: ChangeJournal, pool: Pool, report: Report
) -> Iterator[PartitionStep | JoinStep | Task]:
    plan, drive = journal.change.plan, journal.change.drive
    arrays = {record.array.name: record for record in pool.arrays}
    made = {partition.label: partition for partition in drive.partitions} if drive else dict[str, PartitionRecord]()
    joins = [
        (array, partition, JoinStep(system, array, partition, plan.old.serial if join.copies and plan.old else None))
        for join in plan.joins
        if join.array
        for array, partition in [(arrays[join.array], made[join.label])]
    ]
    if drive is not None:
        yield PartitionStep(system, drives, drive)
    for _, _, join in joins:
        yield join
    for array, partition, join in joins:
        yield RebuildTask(system, array, partition, join)
    for name in plan.leaves if plan.old else ():
        yield LeaveTask(system, arrays[name], plan.old.serial if plan.old else "")
    if plan.grows:
        yield from _growing(system, drives, plan, pool)
    if plan.second:
        yield OverLegsTask(system, pool, arrays[plan.array or ""])
    yield _RecordTask(system, journal.change, report)
    # after the record: a member that dies before XFS has grown is replaced by a partition of the new size
    if plan.grows and not plan.legs:
        yield FilesystemTask(system, pool)


def _growing(system: System, drives: Drives, plan: DrivePlan, pool: Pool) -> Iterator[Task]:
    records = {record.serial: record for record in pool.drives}
    for grown in plan.grows:
        yield EnlargeTask(system, drives, records[grown.serial], grown)
    before, size = (min(sizes) for sizes in zip(*((one.before, one.size) for one in plan.grows), strict=True))
    for array in (record for record in pool.arrays if record.array.name in plan.growing):
        yield GrowTask(system, array, before, size - grown_legs.RESERVE if plan.legs else None)


class _RecordTask:
    """Records the members that md has now, and the partitions of the new drive in the place of those of the old one."""

    name = "record"
    title = "pool.json"

    def __init__(self, system: System, change: DriveChange, report: Report) -> None:
        plan, new = change.plan, change.drive
        self._system = system
        self._old = plan.old.serial if plan.old else None
        self._fewer_spares = plan.fewer_spares
        self._new = new
        self._sizes = {grown.serial: grown.size for grown in plan.grows}
        self._growth = (
            WaitingGrowth(array=plan.array, gain=plan.gain, by=change.by) if plan.legs and plan.array else None
        )
        self._grows = plan.verb == "grow"
        self._report = report

    def perform(self) -> str:
        """Write the record."""
        # a drive that has its own place again has joined: a power cut would leave it out of the next start
        if self._old is not None and (self._new is None or self._old != self._new.serial):
            # before the lock is free: udev asks to re-add what has just left
            removal_record.add(self._old, self._system.now())
        pool = in_sync.record(
            self._system,
            load_pool(),
            self._report,
            self._drives,
            {name: self._old for name in self._fewer_spares},
            lambda before: self._growth if self._grows else before,
        )
        return f"generation {pool.generation}"

    def _drives(self, before: list[DriveRecord]) -> list[DriveRecord]:
        if self._sizes:
            return [enlarged(drive, self._sizes.get(drive.serial, drive.partitions[-1].size)) for drive in before]
        if self._new is None:
            return before
        left = [one for one in before if one.serial != self._new.serial]
        at = next((number for number, one in enumerate(left) if one.serial == self._old), None)
        return [*left, self._new] if at is None else [*left[:at], self._new, *left[at + 1 :]]
