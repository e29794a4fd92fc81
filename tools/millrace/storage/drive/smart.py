# SPDX-License-Identifier: Apache-2.0
"""SMART of every drive of this server, the boot drive's too: read every few minutes, left in /run/millrace/smart.json.

millrace-smart.service reads it and nothing waits for that: a drive that is dying may keep who asks it for minutes. A
critical warning starts it at once (`smart_events`).
"""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Literal

from millrace.inventory import nvme
from millrace.inventory.boot_disk import drives_in_use
from millrace.inventory.drives import block_dir, identify
from millrace.inventory.model import Drive
from millrace.inventory.present import present
from millrace.storage.drive import counter_rises, drive_history, hardware_errors, media_errors, smart_events
from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.run import Runner, within

# A healthy drive answers at once; the kernel gives a silent one a minute.
SECONDS = 90.0
_IN_TIME = within(SECONDS)


class DriveSmart(Contract):
    """One drive. `known` is false where its warnings could not be read; `boot` where it carries the running system.

    `media_errors` counts since the drive was made; `media_errors_new` are those since it is in this server, the day
    `media_errors_since`, both null where there was none within a month. `throttled` is how often it slowed itself down
    because of heat, for `throttled_seconds` in all; `hot_minutes` is how long it was above the temperature at which it
    warns.
    """

    name: str
    serial: str
    transport: str
    boot: bool
    known: bool
    temperature: int | None = None
    wear: int | None = None
    critical_warning: int | None = None
    available_spare: int | None = None
    spare_threshold: int | None = None
    media_errors: int | None = None
    media_errors_new: int | None = None
    media_errors_since: str | None = None
    power_on_hours: int | None = None
    throttled: int | None = None
    throttled_seconds: int | None = None
    hot_minutes: int | None = None


class SmartReport(Contract):
    """All drives, at `uptime` seconds after boot."""

    schema_version: Literal[1] = 1
    uptime: float
    drives: list[DriveSmart]


def last() -> SmartReport | None:
    """Return the last report; None before the first one, and where it cannot be parsed."""
    try:
        return read_model(paths.smart_file(), SmartReport)
    except MillraceError:
        return None


def with_smart(drive: Drive, read: DriveSmart | None) -> Drive:
    """Return a drive with what its SMART log said last, as an inventory that reads it has it."""
    if read is None or not read.known:
        return drive
    fields = ("temperature", "wear", "critical_warning", "available_spare", "spare_threshold")
    return drive.model_copy(update={key: getattr(read, key) for key in fields})


def write(run: Runner = _IN_TIME, command: smart_events.Command = smart_events.admin) -> None:
    """Read all drives at the same time, write the report and keep what outlives a boot.

    NVMe drives that answered report their next warning by themselves.
    """
    system = drives_in_use(paths.ROOT).system
    drives_here = [drive for drive in present() if drive.size]
    with ThreadPoolExecutor(max_workers=max(len(drives_here), 1)) as together:
        read = list(together.map(lambda drive: _read(drive, drive.name in system, run), drives_here))
    today = datetime.now(UTC).date()
    counts = {
        reading.serial: reading.media_errors for reading in read if reading.serial and reading.media_errors is not None
    }
    counters = media_errors.count(media_errors.load(), counts, today)
    new = media_errors.recent(counters, today)
    drives = [_with_new(reading, new.get(reading.serial)) for reading in read]
    write_model(paths.smart_file(), SmartReport(uptime=time.monotonic(), drives=drives))
    # After the report: what a drive does with a command that it does not know keeps no reading back.
    warnings = {
        paths.ROOT / "dev" / reading.name: reading.critical_warning
        for reading in read
        if reading.critical_warning is not None
    }
    smart_events.enable_all(warnings, SECONDS, command)
    media_errors.save(counters)
    worn = {reading.serial: reading.wear for reading in read}
    drive_history.save(drive_history.seen(drive_history.load(), drives_here, worn, today))
    hot = {reading.serial: heat(reading) for reading in read}
    counter_rises.save(hardware_errors.recorded(counter_rises.load(), drives_here, hot, today))


def heat(one: DriveSmart) -> hardware_errors.Heat:
    """Return what a drive counted of its heat."""
    return hardware_errors.Heat(one.throttled, one.throttled_seconds, one.hot_minutes)


def _with_new(one: DriveSmart, counter: media_errors.Counter | None) -> DriveSmart:
    if counter is None:
        return one
    new = {"media_errors_new": counter.last - counter.first, "media_errors_since": counter.first_seen}
    return one.model_copy(update=new)


def _read(drive: Drive, boot: bool, run: Runner) -> DriveSmart:
    values = None
    if drive.transport == "nvme":
        device = identify(block_dir(paths.ROOT, drive.name)).device
        values = nvme.smart(device, paths.ROOT / "dev" / drive.name, run)
    # a log without the warnings has nothing to say of them: "no warning" would be made up
    known = values is not None and values["critical_warning"] is not None
    about = DriveSmart(name=drive.name, serial=drive.serial, transport=drive.transport, boot=boot, known=known)
    return about.model_copy(update={**values}) if values else about
