# SPDX-License-Identifier: Apache-2.0
"""Documents of drives: records, tests and erasures, each with something in each of its fields; `record` writes them."""

from datetime import date

from pydantic import BaseModel

from millrace.inventory.drive_tests import DriveTest, DriveTests
from millrace.storage.drive.counter_rises import Rise, Rises, RisingCounter
from millrace.storage.drive.drive_history import KnownDrive, KnownDrives
from millrace.storage.drive.media_errors import Counter, Counters
from millrace.storage.drive.wear import WearStep
from millrace.storage.record.erasure import Erasure, Erasures
from tests.unit.serve.config.record_pool import AT, LATER


def of_drives() -> dict[str, BaseModel]:
    """Return the documents by the name that they are recorded by."""
    return {
        "drives.json": KnownDrives(
            drives=[
                KnownDrive(
                    serial="MRD00000000001",
                    model="ACME 7T68",
                    firmware="1.0",
                    size=7_681_501_126_656,
                    bay="1",
                    last_seen=date(2026, 11, 20),
                    wear=[WearStep(percent=3, day=date(2026, 11, 20))],
                )
            ]
        ),
        "media-errors.json": Counters(
            drives=[
                Counter(
                    serial="MRD00000000001",
                    first=0,
                    first_seen="2026-11-01",
                    last=2,
                    last_seen="2026-11-20",
                    grown="2026-11-20",
                )
            ]
        ),
        "rises.json": Rises(
            counters=[
                RisingCounter(
                    key="memory/mc0/dimm0/corrected",
                    boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
                    last=12,
                    days=[Rise(day=date(2026, 11, 20), count=12)],
                )
            ]
        ),
        "erase.json": Erasures(
            erasures=[
                Erasure(
                    id="1",
                    serial="OLD1",
                    wwid="eui.1",
                    bay="4",
                    state="failed",
                    method="sanitize-block",
                    boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
                    began=AT,
                    ended=LATER,
                    reason="the drive reports an error",
                    unproved="deallocated blocks",
                )
            ]
        ),
        "drive-tests.json": DriveTests(
            tests=[
                DriveTest(
                    id="1",
                    serial="OLD1",
                    wwid="eui.1",
                    bay="4",
                    scope="full",
                    state="passed",
                    boot="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
                    began=AT,
                    ended=LATER,
                    remarks=["the drive does not trim"],
                    blank=True,
                    written_bytes=1 << 30,
                    write_bytes_per_second=1 << 29,
                    read_bytes_per_second=1 << 30,
                    longest_write_ms=12,
                    longest_read_ms=4,
                    hottest_celsius=51,
                    media_errors=0,
                    trim="reads zeroes",
                )
            ]
        ),
    }
