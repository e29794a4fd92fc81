# SPDX-License-Identifier: Apache-2.0
"""SMART of all drives, including the boot drive; each is named with its bay and serial."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from millrace.inventory.model import Drive
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.drives import audit_drives
from millrace.plan.finding import REPLACE_DRIVE, Severity
from millrace.storage.drive import drive_history, smart, wear
from millrace.storage.drive.smart import DriveSmart
from millrace.storage.drive.wear import WearStep
from millrace.system.names import several

NAME = "drives"

SMART = {"drive.failing", "drive.spare", "drive.worn", "heat.drive", "cache.protection"}
"""The findings of the audit that come from SMART."""
STALE_SECONDS = 1800
"""Three readings of millrace-upkeep@smart.timer."""
SOON = timedelta(days=90)
"""So long before its rated endurance ends a drive is a warning."""

_LEVELS = {Severity.INFO: Level.OK, Severity.WARN: Level.WARN, Severity.FAIL: Level.FAIL}


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each drive that warns, wears out or does not answer; with or without a pool."""
    report = smart.last()
    if report is None:
        return [] if host.starting else [_unread("SMART of the drives has not been read in this boot.")]
    age = time.monotonic() - report.uptime
    findings = (
        [_unread(f"SMART of the drives was last read {age / 60:.0f} minutes ago.")] if age > STALE_SECONDS else []
    )
    present = {drive.serial: drive for drive in host.drives}
    worn = {drive.serial: drive.wear for drive in drive_history.load().drives}
    for reading in report.drives:
        if reading.serial in present:
            findings += [
                *_about(host, reading, present[reading.serial]),
                *_wearing(host, reading, worn.get(reading.serial, [])),
            ]
    known = [reading for reading in report.drives if reading.known]
    read = {reading.serial for reading in report.drives}
    unread = [host.place(drive.serial) for drive in host.drives if drive.serial and drive.serial not in read]
    fine = f"SMART of {len(known)} drives has no warning" if known else "No drive of this server has SMART of NVMe"
    fine += f"; that of {several(unread)} has not been read yet." if unread else "."
    if not any(finding.level is not Level.OK for finding in findings):
        findings.insert(0, HealthFinding(check=NAME, level=Level.OK, sentence=fine))
    return findings


def _about(host: Host, reading: DriveSmart, drive: Drive) -> list[HealthFinding]:
    if not reading.known:
        return [_silent(reading, _place(host, reading))]
    findings = [
        _finding(
            reading,
            _LEVELS[each.severity],
            _place(host, reading),
            each.what,
            _todo(host, reading, each.todo),
            each.name,
        )
        for each in audit_drives([smart.with_smart(drive, reading)], [])
        if each.name in SMART
    ]
    if new := reading.media_errors_new:
        times = f"{new} time{'s' * (new > 1)}"
        what = f"It could not read data back {times} since {reading.media_errors_since} (media errors)."
        findings.append(
            _finding(reading, Level.WARN, _place(host, reading), what, host.replace(reading.serial), "media-errors")
        )
    return findings


def _wearing(host: Host, one: DriveSmart, steps: Sequence[WearStep]) -> list[HealthFinding]:
    """A drive that is bought in time: its endurance ends soon at the rate of the last year."""
    today = datetime.now(UTC).date()
    end = wear.ends(steps, today) if one.known else None
    if end is None or end > today + SOON:
        return []
    what = f"At the rate of the last year its rated endurance is used up on {end.isoformat()}."
    return [_finding(one, Level.WARN, _place(host, one), what, host.replace(one.serial), "wear-ends")]


def _place(host: Host, one: DriveSmart) -> str:
    return f"boot drive {one.serial or one.name}" if one.boot else host.place(one.serial)


def _todo(host: Host, one: DriveSmart, todo: str) -> str:
    """The remedy of the audit, which knows no pool yet, with the command that there is for a member."""
    return host.replace(one.serial) if todo == REPLACE_DRIVE else todo


def _silent(one: DriveSmart, place: str) -> HealthFinding:
    if one.transport != "nvme":
        what = f"SMART is not known: this server reads that of NVMe, not {one.transport}."
        return _finding(one, Level.OK, place, what, None, "silent")
    return _finding(
        one, Level.UNKNOWN, place, "It does not respond to SMART.", f"nvme smart-log /dev/{one.name}", "silent"
    )


def _finding(one: DriveSmart, level: Level, place: str, what: str, todo: str | None, kind: str) -> HealthFinding:
    sentence = f"{place[0].upper()}{place[1:]}: {what}"
    return HealthFinding(
        check=NAME, kind=kind, subject=one.serial or one.name, level=level, sentence=sentence, todo=todo
    )


def _unread(sentence: str) -> HealthFinding:
    todo = "systemctl status millrace-upkeep@smart.timer millrace-smart.service"
    return HealthFinding(check=NAME, kind="unread", level=Level.UNKNOWN, sentence=sentence, todo=todo)
