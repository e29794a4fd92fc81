# SPDX-License-Identifier: Apache-2.0
"""Drives as `millrace drive list` shows them: from the last SMART reading, no drive is asked."""

import time
from typing import get_args

from millrace.observe.drive.rows import rows
from millrace.observe.health import latency
from millrace.observe.metrics.family import Family, counter, gauge, info, stateset
from millrace.storage.drive import smart
from millrace.storage.drive.drive_model import DriveRow, Verdict
from millrace.storage.drive.facts import facts
from millrace.system import ages

HOUR = 3600


def families() -> list[Family]:
    """Return the metrics of all drives, missing members included. BadInput: the record of the pool cannot be read."""
    known = facts()
    report = smart.last()
    drives = rows(known)
    places = [(drive, {"serial": drive.serial, "bay": drive.bay or ""}) for drive in drives]
    latencies = latency.last()
    slow = {drive.serial: drive.slow for drive in latencies.drives} if latencies else {}
    return [
        info(
            "drive",
            "Model, firmware, kernel name and role of a drive; joins `device` of node_disk_*.",
            *(_about(drive) for drive in drives),
        ),
        stateset(
            "drive_verdict",
            "Verdict on a drive, as `millrace drive list` shows it.",
            get_args(Verdict),
            *((drive.verdict, place) for drive, place in places),
        ),
        gauge("drive_size_bytes", "Capacity of a drive.", *((drive.size_bytes, place) for drive, place in places)),
        gauge(
            "drive_temperature_celsius",
            "Temperature at the last SMART reading.",
            *((drive.temperature_celsius, place) for drive, place in places),
        ),
        gauge(
            "drive_wear_ratio",
            "Used part of the rated endurance; may exceed 1.",
            *((_ratio(drive.wear_percent), place) for drive, place in places),
        ),
        gauge(
            "drive_wear_end_timestamp_seconds",
            "Day on which the rated endurance is used up at the rate of the last year.",
            *((_midnight(drive.wear_ends), place) for drive, place in places),
        ),
        gauge(
            "drive_spare_ratio",
            "Remaining part of the spare blocks.",
            *((_ratio(drive.spare_percent), place) for drive, place in places),
        ),
        gauge(
            "drive_smart_up",
            "Whether an NVMe drive responded to the last SMART reading.",
            *((_responded(known.smart.get(drive.serial)), place) for drive, place in places if drive.name is not None),
        ),
        gauge(
            "smart_age_seconds",
            "Time since the last SMART reading of all drives.",
            (time.monotonic() - report.uptime if report else None, {}),
        ),
        counter(
            "drive_media_errors",
            "Media errors that the drive counted in its life.",
            *((drive.media_errors, place) for drive, place in places),
        ),
        gauge(
            "drive_slow",
            "Whether a drive answers far later than its neighbours (`millrace health`).",
            *((slow.get(drive.serial), place) for drive, place in places if drive.name is not None),
        ),
        counter(
            "drive_power_on_seconds",
            "Time for which the drive had power in its life.",
            *(
                (None if drive.power_on_hours is None else drive.power_on_hours * HOUR, place)
                for drive, place in places
            ),
        ),
    ]


def _about(one: DriveRow) -> dict[str, str]:
    return {
        "serial": one.serial,
        "bay": one.bay or "",
        "device": one.name or "",
        "model": one.model,
        "firmware": one.firmware,
        "role": one.role,
    }


def _midnight(day: str | None) -> float | None:
    return None if day is None else ages.when(day).timestamp()


def _responded(read: smart.DriveSmart | None) -> bool | None:
    """A drive of another kind, such as a SATA boot drive, is not asked: it never fails to respond."""
    return read.known if read is not None and read.transport == "nvme" else None


def _ratio(percent: int | None) -> float | None:
    return None if percent is None else percent / 100
