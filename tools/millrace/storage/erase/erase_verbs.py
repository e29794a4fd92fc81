# SPDX-License-Identifier: Apache-2.0
"""`millrace drive erase`."""

import click

from millrace.storage.drive.drive_word import DRIVE
from millrace.system.output import Output, prints


@click.command()
@click.argument("serial", metavar="DRIVE", type=DRIVE)
@click.option(
    "--serial-again", metavar="SERIAL", help="Serial number of the drive, to confirm; without it, it is prompted for."
)
@click.option(
    "--foreign",
    is_flag=True,
    help="Also erase what another system or another Millrace pool left, and drives that could not be examined.",
)
@prints("millrace.storage.record.erasure:EraseLine", lines=True, words="Print progress as JSON lines.")
def erase(serial: str, serial_again: str | None, foreign: bool, show: Output) -> None:
    """Erase DRIVE (serial number, bay or device): all of its data is lost.

    Members of the pool and the boot drive are never erased. The drive erases itself where it can, else zeros are
    written and read back. Closing this terminal does not stop it; `millrace drive list` shows how far it is.
    """
    from millrace.storage.array.machine import Linux
    from millrace.storage.drive.drive_text import named
    from millrace.storage.erase import erase_job
    from millrace.storage.erase import may_erase as decision
    from millrace.storage.erase.erase_text import before_erase, erase_bar, erased
    from millrace.storage.record.erasure import Erasure
    from millrace.system.errors import Failed
    from millrace.system.prompt import repeated

    system = Linux()
    if serial_again is not None:
        decision.confirm(serial, serial_again)
    ready = erase_job.ready(system, serial, foreign)
    show.text(before_erase(ready.row))
    if serial_again is None:
        decision.confirm(serial, repeated("Serial number of the drive to erase", "--serial-again SERIAL"))
    order = erase_job.start(system, ready, foreign)
    ended = show.each(erase_job.follow(system, order), erase_bar)
    if not isinstance(ended, Erasure) or ended.state != "done":
        reason = ended.reason if isinstance(ended, Erasure) else None
        raise Failed(f"{named(ready.row)} is not erased: {reason}; run it again")
    show.text(erased(ended))


@click.command("erase-execute", hidden=True)
def erase_execute() -> None:
    """Erase the drive of the order (started by millrace-erase.service)."""
    from millrace.storage.array.machine import Linux
    from millrace.storage.erase.erase_job import execute
    from millrace.storage.erase.erase_text import erased

    for line in erased(execute(Linux())):
        click.echo(line)


@click.command("erase-cleanup", hidden=True)
def erase_cleanup() -> None:
    """Record an erasure that was killed."""
    from millrace.storage.array.machine import Linux
    from millrace.storage.erase.erase_job import clean_up

    clean_up(Linux())
