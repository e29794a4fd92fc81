# SPDX-License-Identifier: Apache-2.0
"""The contract of `millrace drive list --json` and `millrace drive show SERIAL --json`."""

from typing import Literal

from millrace.inventory.drive_tests import DriveTest
from millrace.inventory.model import OpalState
from millrace.storage.record.test_order import DriveTestProgress
from millrace.system.documents import Contract

Verdict = Literal[
    "in-sync",
    "rebuilding",
    "spare",
    "faulty",
    "missing",
    "returned",
    "blank",
    "too small",
    "foreign",
    "other pool",
    "boot",
    "unknown",
]
RowRole = Literal["data", "log", "spare", "backend", "boot", "none"]
DriveAction = Literal["replace", "add", "remove", "erase", "locate", "test"]


class DriveRow(Contract):
    """One drive of this server, or one that its pool misses.

    `serial` is empty and `name` null where the drive or the kernel has none; `bay` is the bay, else the slot, of a
    drive that is gone the last one. `arrays` are those that it belongs to; the external device of a pool, with the role
    backend, is in none. `what` was found on it or is the reason of the verdict, `too_small_by` the number of bytes that
    a blank drive lacks. `returned` is a member that is back and not in its array; `unknown` a drive that was not
    examined or whose examination failed.

    The rest is what the drive itself said last, null where it did not: degrees Celsius, percent, counts, hours. A drive
    that is gone has no temperature.
    `wear_ends` is the day on which its rated endurance is used up at the rate of the last year, `last_seen` a day, too.
    `test` is the last test of the drive, null where this server has not tested it; `testing` is how far the one that
    goes on is, null where none does. `test_seconds` is how long a full test of a drive that may be tested now is
    expected to take.
    `opal` is whether the drive can lock itself and whether it did when it was examined, null where it cannot.
    `needs_bytes` is the size of the smallest blank drive that can take its place, null where it cannot be replaced now.
    `actions` are those that would not be refused now as far as is known without a command to a drive; `replace` is one
    where a drive that fits is there.
    """

    serial: str
    name: str | None
    bay: str | None
    model: str
    firmware: str
    size_bytes: int | None
    role: RowRole
    arrays: list[str]
    verdict: Verdict
    what: str | None
    too_small_by: int | None
    temperature_celsius: int | None
    wear_percent: int | None
    wear_ends: str | None
    spare_percent: int | None
    media_errors: int | None
    power_on_hours: int | None
    last_seen: str | None
    opal: OpalState | None
    needs_bytes: int | None
    test: DriveTest | None
    testing: DriveTestProgress | None
    test_seconds: int | None
    actions: list[DriveAction]


class DriveList(Contract):
    """All drives: those that are here and those that the pool misses, in the order of their bays."""

    schema_version: Literal[1] = 1
    drives: list[DriveRow]


class DriveReport(Contract):
    """One drive."""

    schema_version: Literal[1] = 1
    drive: DriveRow


class LocatedDrive(Contract):
    """A drive whose LED was lit: the locate LED of its bay, else its activity LED.

    `reads` how many reads the drive answered meanwhile, those of others included.
    """

    schema_version: Literal[1] = 1
    serial: str
    bay: str | None
    by: Literal["locate LED", "activity LED"]
    reads: int
