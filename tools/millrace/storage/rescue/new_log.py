# SPDX-License-Identifier: Apache-2.0
"""A new log: on blank drives that were named, else on the log partitions that the plan kept free on data drives."""

import uuid
from collections.abc import Container, Mapping, Sequence

from millrace.inventory.model import Drive
from millrace.plan.filesystem import MD_HEADROOM
from millrace.plan.model import Role
from millrace.plan.sockets import most_separated, separated_pair
from millrace.storage.array import md
from millrace.storage.array.machine import Report, System
from millrace.storage.array.signature import signature
from millrace.storage.change.candidates import DriveNeed, free_label, named, place, the_one, unfit
from millrace.storage.drive.attached import Drives
from millrace.storage.provision.create_array import ArrayStep
from millrace.storage.provision.partition import PartitionStep, is_partition_of
from millrace.storage.record.identity import md_uuid
from millrace.storage.record.model import ArrayRecord, DriveRecord, MemberRecord, PartitionRecord, Pool, StepRecord
from millrace.storage.record.step import Step, carry_out, checked_state
from millrace.storage.rescue.rescue_journal import BuildLog, RescueJournal
from millrace.storage.rescue.rescue_model import NewLog
from millrace.system.errors import MillraceError, Refused
from millrace.system.names import several
from millrace.system.text import MIB, binary, shown

SIDES = 2
MOST = 3
"""Two sides of the mirror and a hot spare."""


def choose(
    system: System,
    drives: Drives,
    pool: Pool,
    log: ArrayRecord,
    serials: Sequence[str],
    before: Sequence[DriveRecord] = (),
) -> NewLog:
    """Plan the new log on the blank drives `serials`, or without any on free log partitions; write nothing.

    `before` are drives that got their partition for a log that lost a member before its use. Refused: a drive cannot be
    used, or there are not two.
    """
    if serials:
        return _on_drives(drives, pool, log, serials, {drive.serial: drive for drive in before})
    return _planned(log, [], [], _on_partitions(system, drives, pool))


def build(system: System, drives: Drives, journal: RescueJournal, report: Report) -> str:
    """Make the planned log, or go on with it; `report` receives one line for each step. Return what was made.

    Refused: a drive is missing, or holds something else. Failed: a tool fails.
    """
    new = journal.rescue.new
    assert new is not None
    if gone := lost(drives, new):
        raise Refused(
            f"{several(gone)} of the new log is gone: put it back in, or choose again: millrace pool rescue --step log"
        )
    log, steps = BuildLog(journal, new), _steps(system, drives, new)
    for step in steps[:-1]:
        # every drive is verified before the first one is written
        checked_state(step, log)
    md.load_modules(system)
    for step in steps:
        report(f"{step.title}: {carry_out(step, log)}")
    return f"{md.title(new.array.array)} on {in_words(new)}"


def lost(drives: Drives, new: NewLog) -> list[str]:
    """Return the drives of a new log that are not in the server any more."""
    return [one.serial for one in (*new.array.members, *new.array.spares) if drives.find(one) is None]


def undo(system: System, drives: Drives, new: NewLog) -> None:
    """Remove the array of a new log that was never used from the drives that are there. Failed: mdadm fails."""
    present = [[one for one in group if drives.find(one)] for group in (new.array.members, new.array.spares)]
    record = new.array.model_copy(update={"members": present[0], "spares": present[1]})
    ArrayStep(system, drives, record).undo()


def proposed(system: System, pool: Pool, log: ArrayRecord, serials: Sequence[str], planned: NewLog | None) -> str:
    """Return which drives the new log would be on, with their bays, or why there is none; for the user to confirm."""
    drives = Drives(system)
    if planned is not None and not lost(drives, planned):
        new = planned
    else:
        try:
            new = choose(system, drives, pool, log, serials, planned.drives if planned else ())
        except Refused as problem:
            return f"not possible now: {problem}"
    members = [(member.serial, drives.find(member)) for member in (*new.array.members, *new.array.spares)]
    sides = [named(serial, place(drive) if drive else None) for serial, drive in members]
    spare = f", hot spare {sides[SIDES]}" if len(sides) > SIDES else ""
    what = "which are blank and are written" if new.drives else "on their free log partitions, which are written"
    return f"{' and '.join(sides[:SIDES])}{spare}, {what}"


def in_words(new: NewLog) -> str:
    """Return the drives of a new log for a sentence."""
    words = " and ".join(one.serial for one in new.array.members)
    spare = ", ".join(one.serial for one in new.array.spares)
    return f"{words}, hot spare {spare}" if spare else words


def _steps(system: System, drives: Drives, new: NewLog) -> list[Step]:
    partitions: list[Step] = [PartitionStep(system, drives, one) for one in new.drives]
    return [*partitions, ArrayStep(system, drives, new.array)]


def _on_drives(
    drives: Drives, pool: Pool, log: ArrayRecord, serials: Sequence[str], before: Mapping[str, DriveRecord]
) -> NewLog:
    if not SIDES <= len(set(serials)) <= MOST or len(set(serials)) != len(serials):
        raise Refused("the log is a mirror: give two drives, or a third one as its hot spare, each with --with SERIAL")
    size, made = _size(pool), list[DriveRecord]()
    for serial in serials:
        drive = the_one(drives.inventory.drives, serial)
        if drive is None:
            raise Refused(f"no drive of this server has the serial number {shown(serial)}; see `millrace drive list`")
        if serial in before and before[serial].wwid == drive.wwid:
            made.append(before[serial])
            continue
        if obstacle := unfit(drive, DriveNeed(size, None)):
            raise Refused(f"the log cannot be on {named(serial, place(drive))}: it {obstacle}; nothing was written")
        labels = pool.model_copy(update={"drives": [*pool.drives, *made]})
        partition = PartitionRecord(
            role=Role.LOG, size=size, label=free_label(labels, Role.LOG), partuuid=str(uuid.uuid4())
        )
        made.append(DriveRecord(serial=serial, wwid=drive.wwid, disk_label=str(uuid.uuid4()), partitions=[partition]))
    return _planned(log, made, before, [_member(record, record.partitions[0]) for record in made])


def _on_partitions(system: System, drives: Drives, pool: Pool) -> list[MemberRecord]:
    """Two free partitions as far from each other as the plan would choose, and a third one as hot spare."""
    free: dict[str, MemberRecord] = {}
    there: list[Drive] = []
    for record in pool.drives:
        drive = drives.find(record)
        for partition in record.partitions:
            if drive is not None and partition.role is Role.LOG and _is_free(system, drive, partition):
                free[record.serial] = _member(record, partition)
                there.append(drive)
    if len(there) < SIDES:
        raise Refused(
            f"{len(there) or 'no'} free log partition{'s' * (len(there) != 1)} on the drives of the pool, and the log "
            f"is a mirror of two: insert two blank drives with room for {binary(_size(pool))}, and give each with "
            "--with SERIAL"
        )
    pair = separated_pair(there)
    spare = most_separated(there, pair)
    return [free[drive.serial] for drive in (*pair, *([spare] if spare else []))]


def _is_free(system: System, drive: Drive, partition: PartitionRecord) -> bool:
    """Whether a partition is there and empty; one that cannot be probed is not."""
    if not is_partition_of(system.partition(partition.partuuid), drive.name):
        return False
    try:
        return not signature(system, f"/dev/disk/by-partuuid/{partition.partuuid}")
    except MillraceError:
        return False


def _planned(
    log: ArrayRecord, drives: list[DriveRecord], before: Container[str], chosen: Sequence[MemberRecord]
) -> NewLog:
    """Another UUID: a drive of the lost log that is back must never join."""
    members, spares = list(chosen[:SIDES]), list(chosen[SIDES:])
    array = log.array.model_copy(
        update={"members": [member.serial for member in members], "spares": [spare.serial for spare in spares]}
    )
    return NewLog(
        drives=drives,
        array=ArrayRecord(array=array, uuid=md_uuid(), members=members, spares=spares),
        steps=[
            *(
                StepRecord(name=f"partition {drive.serial}", state="done" if drive.serial in before else "pending")
                for drive in drives
            ),
            StepRecord(name=f"array {array.name}", state="pending"),
        ],
    )


def _member(drive: DriveRecord, partition: PartitionRecord) -> MemberRecord:
    return MemberRecord(serial=drive.serial, wwid=drive.wwid, partuuid=partition.partuuid, label=partition.label)


def _size(pool: Pool) -> int:
    """Bytes of a log partition: as those that were made, else for the log with what md keeps in front of it."""
    made = [part.size for one in pool.drives for part in one.partitions if part.role is Role.LOG]
    return min(made) if made else (pool.filesystem.log_size or 0) + MD_HEADROOM + MIB
