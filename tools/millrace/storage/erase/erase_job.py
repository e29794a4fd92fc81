# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit that erases, which does not end with the terminal that started it."""

import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from millrace.inventory import drive_tests
from millrace.inventory.collect import examine
from millrace.inventory.model import Drive, Inventory
from millrace.inventory.present import present
from millrace.storage.array.machine import System
from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.drive_rows import row
from millrace.storage.drive.drive_text import named
from millrace.storage.drive.facts import facts
from millrace.storage.erase import may_erase
from millrace.storage.erase.eraser import Eraser, proved_blank, reread
from millrace.storage.record import erasure
from millrace.storage.record.erasure import EraseLine, EraseOrder, EraseProgress, Erasure
from millrace.storage.record.writer import erasing, writing
from millrace.system import paths
from millrace.system.boot import boot_id
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import KILLED, Document, Glance, Job
from millrace.system.users import only_root

ORDER = Document(job_paths.erase_order_file, EraseOrder)


def _glance() -> Glance | None:
    order = ORDER.get()
    now = erasure.progress(order.serial) if order else None
    if now is None:
        return None
    share = now.done / now.total if now.done is not None and now.total else None
    return Glance(f"drive {now.serial}: {now.what}", share, now.seconds_left, now.bytes_per_second)


JOB = Job(
    kind=kinds.ERASE,
    busy="another drive is being erased: `millrace drive list` shows which one; wait until that has ended",
    stop="an erasure is not cancelled: a drive that was erased in part is of no use to anyone; wait for its end",
    glance=_glance,
    files=(ORDER, Document(job_paths.erase_progress_file, EraseProgress)),
)


@dataclass(frozen=True)
class ErasableDrive:
    """A drive that may be erased now."""

    row: DriveRow
    drive: Drive
    attached: str


def ready(system: System, serial: str, foreign: bool) -> ErasableDrive:
    """Examine a drive and decide. Refused: it is not erased, or another change runs; nothing was written."""
    only_root()
    with writing(erasing(serial)):
        return _ready(system, serial, foreign)


def start(system: System, found: ErasableDrive, foreign: bool) -> EraseOrder:
    """Start the unit. Refused: another job keeps it from that. Failed: it does not start."""
    drive = found.drive
    order = EraseOrder(
        id=uuid.uuid4().hex, serial=drive.serial, wwid=drive.wwid, attached=found.attached, foreign=foreign
    )
    with JOB.starting(system.attempt, f"drive {drive.serial}"):
        ORDER.write(order)
    return order


def follow(system: System, order: EraseOrder) -> Iterator[EraseLine]:
    """Yield the progress until the unit has ended, then the erasure. Failed: it did not begin; its last line."""
    yield from JOB.follow(lambda: erasure.progress(order.serial), system.attempt, system.wait)
    ended = erasure.last(order.serial)
    if ended is None or ended.id != order.id:
        raise Failed(f"the drive is not erased: {JOB.last_line(system.attempt)}")
    yield ended


def execute(system: System) -> Erasure:
    """Carry out the order, record how it ends and examine the drive; what the unit runs.

    Refused, Failed: the drive is not erased; recorded, where the first write had begun.
    """
    with JOB.execution(), ExitStack() as deciding:
        order = ORDER.read()
        # the decision was made for the drive that was there then; it is made again for the one that is here now
        deciding.enter_context(writing(erasing(order.serial)))
        candidate = _ready(system, order.serial, order.foreign)
        if (candidate.drive.wwid, candidate.attached) != (order.wwid, order.attached):
            raise Refused(f"{named(candidate.row)} was replaced meanwhile; nothing was written")
        record = _begun(candidate, order, system)

        def begin() -> None:
            erasure.save(record)
            # nobody else can open the drive now, and other drives need not wait for hours
            deciding.close()

        try:
            erased = Eraser(system, candidate.drive, log).erase(order.attached, begin)
            proved_blank(examined(candidate.drive.name))
        except MillraceError as error:
            if erasure.last(order.serial) == record:
                erasure.save(_ended(record, system, state="failed", reason=str(error)))
            raise
        done = _ended(record, system, state="done", method=erased.method, unproved=erased.unproved)
        erasure.save(done)
        drive_tests.erased(record.serial, record.wwid)
        return done


def clean_up(system: System) -> None:
    """Record an erasure that was killed as interrupted and examine its drive; what the unit runs at its end.

    Refused: the caller is not root, or a drive is being erased.
    """
    only_root()
    JOB.clean_up()
    here = {drive.serial: drive.name for drive in present()}
    for record in erasure.load():
        if record.state == "running":
            erasure.save(_ended(record, system, state="interrupted", reason=KILLED))
            if record.serial in here:
                # what udev knew of the drive before is no longer there
                reread(system, here[record.serial], log)
                examined(here[record.serial])


def _ready(system: System, serial: str, foreign: bool) -> ErasableDrive:
    known = facts()
    before = row(known, serial)
    if before.name is None:
        may_erase.check(known, before, None, foreign)
    drive = examine(before.name or "")
    attached = system.diskseq(drive.name)
    if drive.serial != serial or attached is None:
        raise Refused(f"{named(before)} was removed or replaced just now; nothing was written")
    now = may_erase.fresh(known, drive)
    drive_row = row(now, serial)
    may_erase.check(now, drive_row, drive, foreign)
    if reason := system.in_use(drive.name):
        raise Refused(f"{named(drive_row)} is in use ({reason}): end its use first; nothing was written")
    return ErasableDrive(drive_row, drive, attached)


def examined(name: str) -> Drive:
    """Examine a drive and put what was found into the inventory of this boot, where there is one; return it."""
    drive = examine(name)
    if not paths.inventory_file().exists():
        return drive
    inventory = read_model(paths.inventory_file(), Inventory)
    drives = may_erase.with_drive(inventory.drives, drive)
    write_model(paths.inventory_file(), inventory.model_copy(update={"drives": drives}))
    return drive


def _begun(candidate: ErasableDrive, order: EraseOrder, system: System) -> Erasure:
    return Erasure(
        id=order.id,
        serial=candidate.drive.serial,
        wwid=candidate.drive.wwid,
        bay=candidate.row.bay,
        state="running",
        method=None,
        boot=boot_id(),
        began=system.now(),
        ended=None,
        reason=None,
        unproved=None,
    )


def _ended(record: Erasure, system: System, **changes: object) -> Erasure:
    return record.model_copy(update={"ended": system.now(), **changes})


def log(line: str) -> None:
    """Write a line for the journal."""
    print(f"millrace: {line}", file=sys.stderr)
