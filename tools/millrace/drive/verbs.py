# SPDX-License-Identifier: Apache-2.0
"""`millrace drive …`."""

import click

from millrace.drive.change_verbs import add, apply, inserted, progress, remove, replace, resume
from millrace.drive.testing_verbs import test_, test_cleanup, test_execute
from millrace.system.output import Output, prints


@click.group()
def drive() -> None:
    """List, show, test, replace, add, remove, locate and erase the drives of this server."""


for verb in (replace, add, remove, progress, resume, apply, inserted, test_, test_execute, test_cleanup):
    drive.add_command(verb)


@drive.command("list")
@prints("millrace.drive.model:DriveList")
def list_(show: Output) -> None:
    """List all drives, missing members included: bay, serial, role, verdict, temperature, wear."""
    from millrace.drive.facts import facts
    from millrace.drive.lines import table
    from millrace.drive.model import DriveList
    from millrace.drive.rows import rows

    show(DriveList(drives=rows(facts())), lambda found: table(found.drives))


@drive.command("show")
@click.argument("serial")
@prints("millrace.drive.model:DriveReport")
def show_(serial: str, show: Output) -> None:
    """Show everything that is known of the drive SERIAL."""
    from millrace.drive.facts import facts
    from millrace.drive.lines import details
    from millrace.drive.model import DriveReport
    from millrace.drive.rows import row

    show(DriveReport(drive=row(facts(), serial)), lambda found: details(found.drive))


@drive.command()
@click.argument("serial")
@click.option("--serial-again", metavar="SERIAL", help="Repeat SERIAL to confirm; without it, SERIAL is prompted for.")
@click.option(
    "--foreign",
    is_flag=True,
    help="Also erase what another system or another Millrace pool left, and drives that could not be examined.",
)
@prints("millrace.provision.erasure:EraseLine", lines=True, words="Print progress as JSON lines.")
def erase(serial: str, serial_again: str | None, foreign: bool, show: Output) -> None:
    """Erase the drive SERIAL: all of its data is lost.

    Members of the pool and the boot drive are never erased. The drive erases itself where it can, else zeros are
    written and read back. Closing this terminal does not stop it; `millrace drive list` shows how far it is.
    """
    from millrace.drive import erase as decision
    from millrace.drive import erase_job
    from millrace.drive.lines import before_erase, erase_bar, erased
    from millrace.errors import Failed
    from millrace.provision.erasure import Erasure
    from millrace.provision.system import Linux
    from millrace.system.prompt import repeated

    system = Linux()
    if serial_again is not None:
        decision.confirm(serial, serial_again)
    ready = erase_job.ready(system, serial, foreign)
    show.text(before_erase(ready.row))
    if serial_again is None:
        decision.confirm(serial, repeated("Serial number of the drive to erase", "--serial-again"))
    order = erase_job.start(system, ready, foreign)
    ended = show.each(erase_job.follow(system, order), erase_bar)
    if not isinstance(ended, Erasure) or ended.state != "done":
        reason = ended.reason if isinstance(ended, Erasure) else None
        raise Failed(f"{decision.named(ready.row)} is not erased: {reason}; run it again")
    show.text(erased(ended))


@drive.command()
@click.argument("serial")
@click.option("--seconds", type=click.IntRange(1, 3600), default=60, show_default=True, help="How long the LED blinks.")
@click.option("--off", is_flag=True, help="Switch it off.")
@prints("millrace.drive.model:Located")
def locate(serial: str, seconds: int, off: bool, show: Output) -> None:
    """Light the LED of the drive SERIAL, until Ctrl-C or the seconds are over.

    Where the kernel has no LED of the bay, the drive is read so that its activity LED blinks, one second on, one off.
    """
    from millrace.drive import locate as leds
    from millrace.drive.lines import located
    from millrace.provision.system import Linux

    if off:
        show(leds.off(Linux(), serial), lambda _: [f"drive {serial}: off"])
        return
    show.text([f"drive {serial} blinks for {seconds} s; Ctrl-C ends it"])
    show(leds.locate(Linux(), serial, seconds), located)


@drive.command("erase-execute", hidden=True)
def erase_execute() -> None:
    """Erase the drive of the order (started by millrace-erase.service)."""
    from millrace.drive.erase_job import execute
    from millrace.drive.lines import erased
    from millrace.provision.system import Linux

    for line in erased(execute(Linux())):
        click.echo(line)


@drive.command("erase-cleanup", hidden=True)
def erase_cleanup() -> None:
    """Record an erasure that was killed."""
    from millrace.drive.erase_job import clean_up
    from millrace.provision.system import Linux

    clean_up(Linux())
