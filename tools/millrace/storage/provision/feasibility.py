# SPDX-License-Identifier: Apache-2.0
"""Everything that can stop provisioning is checked before the first write."""

from collections.abc import Iterable

from millrace.plan.failing import why_failing
from millrace.plan.labels import array_link, array_path
from millrace.plan.sizes import TABLE_END
from millrace.storage.array import md
from millrace.storage.array.machine import System
from millrace.storage.drive.attached import Drives
from millrace.storage.record.model import Transaction
from millrace.storage.record.step import Step, checked_state
from millrace.storage.record.step_journal import Journal
from millrace.system.errors import Failed, Refused

TOOLS = ("blkid", "mdadm", "mkfs.xfs", "modprobe", "sfdisk", "systemctl", "udevadm", "xfs_db")


def check_fresh(system: System, drives: Drives, transaction: Transaction) -> None:
    """Verify what must hold before the first write only: drives as planned, names of arrays free.

    Refused: an array of that name exists, or a drive has another size, takes no partitions, is failing or is in use.
    """
    planned = {drive.serial: drive for drive in transaction.plan.drives}
    for record in transaction.arrays:
        if system.md_link(array_link(record.array.name)) is not None:
            raise Refused(
                f"{array_path(record.array.name)} exists already and is not of this plan; nothing was written"
            )
    for used in transaction.drives:
        drive, wanted = drives.current(used), sum(partition.size for partition in used.partitions)
        if drive.size != planned[used.serial].size or used.start + wanted + TABLE_END > drive.size:
            raise Refused(f"drive {drive.serial} has {drive.size} bytes, which does not fit the plan")
        if not system.takes_partitions(drive.name):
            raise Refused(f"drive {drive.serial} ({drive.name}) takes no partitions; nothing was written: use another")
        if failing := why_failing(drive):
            raise Refused(f"drive {drive.serial} ({drive.name}) {failing}; nothing was written: replace it")
        reason = system.in_use(drive.name)
        if reason:
            raise Refused(f"drive {drive.serial} ({drive.name}) is in use ({reason}); nothing was written")


def check_all(system: System, drives: Drives, journal: Journal, partitions: Iterable[Step]) -> None:
    """Verify what must hold in every run: tools, modules, all drives present, partitions as the journal allows.

    Refused: a drive is missing, or holds other data. Failed: this image lacks a tool or a module.
    """
    absent = [tool for tool in TOOLS if not system.installed(tool)]
    if absent:
        raise Failed(f"this image lacks {', '.join(absent)}; nothing was written")
    drives.require(journal.transaction.drives)
    for step in partitions:
        checked_state(step, journal)
    if journal.transaction.arrays:
        md.load_modules(system)
