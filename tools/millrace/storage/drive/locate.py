# SPDX-License-Identifier: Apache-2.0
"""Show where a drive is: by the locate LED of its bay, else by reads that make its activity LED blink."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from millrace.inventory.drives import block_dir, identify
from millrace.storage.array.machine import System
from millrace.storage.drive.drive_model import DriveRow, LocatedDrive
from millrace.storage.drive.drive_rows import row
from millrace.storage.drive.drive_text import named
from millrace.storage.drive.facts import facts
from millrace.storage.drive.leds import Led, led_of
from millrace.system import paths, sysfs
from millrace.system.command import command
from millrace.system.errors import Failed, Refused
from millrace.system.run import must
from millrace.system.users import only_root

LONGEST = 3600
POLL = 0.5
"""Seconds between two looks."""


def locate(system: System, serial: str, seconds: int, report: Callable[[str], None]) -> LocatedDrive:
    """Light the LED of a drive for so many seconds, or until the caller is interrupted.

    Each LED that is on, and each that the kernel does not switch, is reported when that is known. Refused: the drive is
    not in this server. Failed: no LED can be lit, or the drive has not answered one read.
    """
    drive = _present(serial)
    name = drive.name or ""
    led, before = _led(name), _reads(name)
    until = f"for {seconds} s; Ctrl-C ends it"
    with ExitStack() as stack:
        if led and (refused := _light(led, drive, stack)):
            report(f"{refused}; its activity LED is tried")
            led = None
        if led:
            report(f"{named(drive)}: the locate LED is on {until}")
        else:
            stack.enter_context(_blinking(system, name, seconds))
        answers = led is not None
        for _ in range(round(seconds / POLL)):
            system.wait(POLL)
            if not answers and _reads(name) > before:
                answers = True
                report(f"{named(drive)}: the activity LED blinks {until}")
    reads = _reads(name) - before
    if not answers:
        raise Failed(f"{named(drive)} has not answered a read in {seconds} s, so its LED did not blink: replace it")
    return LocatedDrive(serial=serial, bay=drive.bay, by="locate LED" if led else "activity LED", reads=reads)


def off(system: System, serial: str) -> LocatedDrive:
    """Switch the LED of a drive off.

    Refused: the drive is not in this server. Failed: the kernel does not switch its LED.
    """
    drive = _present(serial)
    name = drive.name or ""
    led = _led(name)
    _stop(system, name)
    if led:
        try:
            led.switch_off()
        except OSError as error:
            raise Failed(_unlit(drive, error)) from error
    return LocatedDrive(serial=serial, bay=drive.bay, by="locate LED" if led else "activity LED", reads=0)


def _present(serial: str) -> DriveRow:
    only_root()
    found = row(facts(), serial)
    if found.name is None:
        raise Refused(f"{named(found)} is not in this server: it has no LED to light")
    return found


def _led(name: str) -> Led | None:
    return led_of(paths.ROOT, identify(block_dir(paths.ROOT, name)).device)


def _light(led: Led, drive: DriveRow, stack: ExitStack) -> str:
    """Light an LED until the end of a stack; return why the kernel does not, empty where it does."""
    try:
        before = led.light()
    except OSError as error:
        return _unlit(drive, error)
    stack.callback(_put_back, led, before, drive)
    return ""


def _put_back(led: Led, before: str, drive: DriveRow) -> None:
    try:
        sysfs.write(led.path, before)
    except OSError as error:
        again = command("millrace drive locate", drive.serial, options=["--off"])
        raise Failed(
            f"the locate LED of {named(drive)} cannot be switched off ({error.strerror}); to try again: {again}"
        ) from error


def _unlit(drive: DriveRow, error: OSError) -> str:
    place = f"bay {drive.bay}" if drive.bay else f"the bay of drive {drive.serial}"
    return f"{place} has no light that the kernel can switch ({error.strerror})"


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


def _reads(name: str) -> int:
    """Reads that a drive has answered since boot (Documentation/block/stat.rst)."""
    words = (sysfs.text(paths.ROOT / "sys/block" / name / "stat") or "0").split()
    return int(words[0])
