# SPDX-License-Identifier: Apache-2.0
"""Show where a drive is: by the locate LED of its bay, else by reads that make its activity LED blink."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat

from millrace.inventory.drives import block_dir, identify
from millrace.storage.array.machine import System
from millrace.storage.drive.drive_model import DriveRow, LocatedDrive
from millrace.storage.drive.drive_rows import row
from millrace.storage.drive.drive_text import named
from millrace.storage.drive.facts import facts
from millrace.storage.drive.leds import Led, led_of
from millrace.system import paths, sysfs
from millrace.system.errors import Failed, Refused
from millrace.system.run import must
from millrace.system.users import only_root

LONGEST = 3600
POLL = 0.5
"""Seconds between two looks."""


def locate(system: System, serial: str, seconds: int) -> LocatedDrive:
    """Light the LED of a drive for so many seconds, or until the caller is interrupted.

    Refused: the drive is not in this server. Failed: it has not answered one read.
    """
    drive = _present(serial)
    name = drive.name or ""
    led, before = _led(name), _reads(name)
    with _lit(led) if led else _blinking(system, name, seconds):
        for pause in _pauses(seconds):
            system.wait(pause)
    reads = _reads(name) - before
    if led is None and reads <= 0:
        raise Failed(f"{named(drive)} has not answered a read in {seconds} s, so its LED did not blink: replace it")
    return LocatedDrive(serial=serial, bay=drive.bay, by="locate LED" if led else "activity LED", reads=reads)


def off(system: System, serial: str) -> LocatedDrive:
    """Switch the LED of a drive off. Refused: the drive is not in this server."""
    found = _present(serial)
    name = found.name or ""
    led = _led(name)
    if led:
        led.switch_off()
    _stop(system, name)
    return LocatedDrive(serial=serial, bay=found.bay, by="locate LED" if led else "activity LED", reads=0)


def _present(serial: str) -> DriveRow:
    only_root()
    found = row(facts(), serial)
    if found.name is None:
        raise Refused(f"{named(found)} is not in this server: it has no LED to light")
    return found


def _led(name: str) -> Led | None:
    return led_of(paths.ROOT, identify(block_dir(paths.ROOT, name)).device)


@contextmanager
def _lit(led: Led) -> Iterator[None]:
    before = led.light()
    try:
        yield
    finally:
        sysfs.write(led.path, before)


@contextmanager
def _blinking(system: System, name: str, seconds: int) -> Iterator[None]:
    # the unit ends by itself, whatever becomes of this process
    must(system.attempt, ["systemctl", "start", f"millrace-locate@{name}:{seconds}.service"])
    try:
        yield
    finally:
        _stop(system, name)


def _stop(system: System, name: str) -> None:
    """Not waited for: a drive that does not answer keeps its reader."""
    system.attempt(["systemctl", "stop", "--no-block", f"millrace-locate@{name}:*.service"])


def _pauses(seconds: int) -> Iterable[float]:
    return repeat(POLL, round(seconds / POLL))


def _reads(name: str) -> int:
    """Reads that a drive has answered since boot (Documentation/block/stat.rst)."""
    words = (sysfs.text(paths.ROOT / "sys/block" / name / "stat") or "0").split()
    return int(words[0])
