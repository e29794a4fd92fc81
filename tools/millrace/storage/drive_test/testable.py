# SPDX-License-Identifier: Apache-2.0
"""Which drives may be tested now: each is examined again before a decision."""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.inventory.collect import examine
from millrace.inventory.model import Drive
from millrace.storage.array.machine import System
from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.drive_rows import row
from millrace.storage.drive.drive_text import named
from millrace.storage.drive.facts import facts
from millrace.storage.drive_test import may_test
from millrace.storage.erase import may_erase
from millrace.storage.record.test_order import DriveTestTarget
from millrace.storage.record.writer import testing as about_to_test
from millrace.storage.record.writer import writing
from millrace.system.errors import Refused
from millrace.system.users import only_root


@dataclass(frozen=True)
class TestableDrive:
    """A drive that may be tested now."""

    row: DriveRow
    drive: Drive
    attached: str


def ready(system: System, serials: Sequence[str], quick: bool) -> list[TestableDrive]:
    """Examine drives and decide. Refused: one is not tested, or another change runs; nothing was written."""
    only_root()
    with writing(about_to_test(serials)):
        return [candidate(system, one, quick) for one in serials]


def same(found: TestableDrive, target: DriveTestTarget) -> TestableDrive:
    """Return the drive. Refused: it is not that of the order."""
    if (found.drive.wwid, found.attached) != (target.wwid, target.attached):
        raise Refused(f"{named(found.row)} was replaced meanwhile; nothing was written")
    return found


def candidate(system: System, serial: str, quick: bool) -> TestableDrive:
    """Examine one drive and decide, under the lock of changes. Refused: it is not tested."""
    known = facts()
    before = row(known, serial)
    if before.name is None:
        may_test.check(known, before, None, quick)
    drive = examine(before.name or "")
    attached = system.diskseq(drive.name)
    if drive.serial != serial or attached is None:
        raise Refused(f"{named(before)} was removed or replaced just now; nothing was written")
    now = may_erase.fresh(known, drive)
    drive_row = row(now, serial)
    may_test.check(now, drive_row, drive, quick)
    if reason := system.in_use(drive.name):
        raise Refused(f"{named(drive_row)} is in use ({reason}): end its use first; nothing was written")
    return TestableDrive(drive_row, drive, attached)
