# SPDX-License-Identifier: Apache-2.0
"""CPU sockets and drives that slowed themselves down because of heat, today or yesterday."""

from datetime import UTC, datetime

from millrace.inventory import error_counters
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.drive import counter_rises, hardware_errors, smart
from millrace.storage.drive.smart import DriveSmart
from millrace.system import paths
from millrace.system.text import duration

NAME = "heat"
AUDITED = "heat.cpu"
"""The finding of the audit, which counts since the boot and does not end before the next one."""
DAYS = 2
COOL = "Check the fans, the air filters, the covers of empty bays and the room temperature."


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each CPU socket and drive that was too hot; nothing where none was."""
    today = datetime.now(UTC).date()
    packages = error_counters.throttled_packages(paths.ROOT)
    counted = hardware_errors.of_packages(packages)
    risen = counter_rises.days(host.rises, counted, counter_rises.boot_id(), today, DAYS)
    sums = {key: (sum(days.values()), min(days).isoformat()) for key, days in risen.items()}
    findings = [finding for package in packages for finding in _package(package, sums)]
    report = smart.last()
    if report is None:
        return findings
    here = {drive.serial for drive in host.drives}
    drives = [drive for drive in report.drives if drive.serial and drive.serial in here]
    keys = hardware_errors.of_drives({drive.serial: smart.heat(drive) for drive in drives})
    grown = counter_rises.recorded(host.rises, keys, today, DAYS)
    return [*findings, *(finding for drive in drives for finding in _drive(host, drive, grown))]


def _package(number: int, sums: dict[str, tuple[int, str]]) -> list[HealthFinding]:
    times, since = sums.get(hardware_errors.cpu_key(number, hardware_errors.TIMES), (0, ""))
    if not times:
        return []
    ms, _ = sums.get(hardware_errors.cpu_key(number, hardware_errors.MILLISECONDS), (0, ""))
    took = f", for {duration(ms / 1000)} in all" if ms >= 1000 else ""
    sentence = f"CPU socket {number}: heat has slowed it down {_times(times)} since {since}{took}."
    return [_finding("cpu", str(number), sentence)]


def _drive(host: Host, drive: DriveSmart, grown: dict[str, int]) -> list[HealthFinding]:
    def rose(kind: str) -> int:
        return grown.get(hardware_errors.drive_key(drive.serial, kind), 0)

    times, seconds, minutes = (
        rose(kind)
        for kind in (hardware_errors.THROTTLED, hardware_errors.THROTTLED_SECONDS, hardware_errors.HOT_MINUTES)
    )
    what = []
    if times or seconds:
        took = f", for {duration(seconds)} in all" if seconds else ""
        what.append(f"it slowed itself down {_times(max(times, 1))} because of heat{took}")
    if minutes:
        what.append(f"it was above its warning temperature for {duration(minutes * 60)}")
    if not what:
        return []
    now = "" if drive.temperature is None else f"; it has {drive.temperature} °C now"
    place = f"boot drive {drive.serial}" if drive.boot else host.place(drive.serial)
    sentence = f"{place[0].upper()}{place[1:]}: since yesterday {' and '.join(what)}{now}."
    return [_finding("drive", drive.serial, sentence)]


def _times(count: int) -> str:
    return f"{count} time{'s' * (count != 1)}"


def _finding(kind: str, subject: str, sentence: str) -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=subject, level=Level.WARN, sentence=sentence, todo=COOL)
