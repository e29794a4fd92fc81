# SPDX-License-Identifier: Apache-2.0
"""`millrace drive locate`."""

import click

from millrace.storage.drive.drive_word import DRIVE
from millrace.system.output import Output, prints


@click.command()
@click.argument("serial", metavar="DRIVE", type=DRIVE)
@click.option("--seconds", type=click.IntRange(1, 3600), default=60, show_default=True, help="How long the LED blinks.")
@click.option("--off", is_flag=True, help="Switch it off.")
@prints("millrace.storage.drive.drive_model:LocatedDrive")
def locate(serial: str, seconds: int, off: bool, show: Output) -> None:
    """Light the LED of DRIVE (serial number, bay or device), until Ctrl-C or the seconds are over.

    Where the kernel has no LED of the bay, the drive is read so that its activity LED blinks, one second on, one off.
    """
    from millrace.storage.array.machine import Linux
    from millrace.storage.drive import locate as leds
    from millrace.storage.drive.drive_text import located

    if off:
        show(leds.off(Linux(), serial), lambda _: [f"drive {serial}: off"])
        return
    show(leds.locate(Linux(), serial, seconds, lambda line: show.text([line])), located)
