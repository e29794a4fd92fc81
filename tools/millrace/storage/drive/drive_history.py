# SPDX-License-Identifier: Apache-2.0
"""Every drive that this server has seen: what it was, where it was, when it was last here and how it wore.

A drive that is missing must have a bay after a restart, too (`/var/lib/millrace/drives.json`).
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Literal

from pydantic import Field

from millrace.inventory.model import Drive
from millrace.storage.drive import drive_records
from millrace.storage.drive.wear import WearStep, stepped
from millrace.system import paths
from millrace.system.documents import Contract

KEPT = 256
"""Drives that are kept in the document; one server holds 24, and those that left are forgotten one day."""


class KnownDrive(Contract):
    """One drive by its serial. `size` in bytes, `bay` the bay, else the slot, `last_seen` a day."""

    serial: str
    model: str
    firmware: str
    size: int
    bay: str | None
    last_seen: date
    wear: list[WearStep] = Field(default_factory=list)


class KnownDrives(Contract):
    """All of them, the latest first."""

    schema_version: Literal[1] = 1
    drives: list[KnownDrive]


def load() -> KnownDrives:
    """Return the record; an empty one where the document is missing or cannot be parsed."""
    return drive_records.load(paths.known_drives_file(), KnownDrives(drives=[]))


def save(drives: KnownDrives) -> None:
    """Write the record, or warn on stderr where that fails."""
    drive_records.save(paths.known_drives_file(), drives)


def seen(before: KnownDrives, present: Sequence[Drive], worn: Mapping[str, int | None], today: date) -> KnownDrives:
    """Return the record with the drives that are here now; `worn` has the percent of those that report it. Pure."""
    found = {one.serial: one for one in before.drives}
    for drive in present:
        if drive.serial:
            found[drive.serial] = _seen(found.get(drive.serial), drive, worn.get(drive.serial), today)
    latest = sorted(found.values(), key=lambda one: (one.last_seen, one.serial), reverse=True)
    return KnownDrives(drives=latest[:KEPT])


def _seen(before: KnownDrive | None, drive: Drive, percent: int | None, today: date) -> KnownDrive:
    return KnownDrive(
        serial=drive.serial,
        model=drive.model,
        firmware=drive.firmware,
        size=drive.size,
        bay=drive.bay or drive.slot or (before.bay if before else None),
        last_seen=today,
        wear=stepped(before.wear if before else [], percent, today),
    )
