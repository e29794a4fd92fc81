# SPDX-License-Identifier: Apache-2.0
"""`millrace drive …`."""

import click

from millrace.storage.drive.drive_word import DRIVE
from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup


@click.group(cls=VerbGroup)
def drive() -> None:
    """List, show, test, replace, add, remove, locate and erase the drives of this server."""


@drive.command("list")
@prints("millrace.storage.drive.drive_model:DriveList")
def list_(show: Output) -> None:
    """List all drives, missing members included: bay, serial, role, verdict, temperature, wear."""
    from millrace.observe.drive.rows import rows
    from millrace.observe.drive.text import table
    from millrace.storage.drive.drive_model import DriveList
    from millrace.storage.drive.facts import facts

    show(DriveList(drives=rows(facts())), lambda found: table(found.drives))


@drive.command("show")
@click.argument("serial", metavar="DRIVE", type=DRIVE)
@prints("millrace.storage.drive.drive_model:DriveReport")
def show_(serial: str, show: Output) -> None:
    """Show everything that is known of DRIVE (serial number, bay or device)."""
    from millrace.observe.drive.rows import row
    from millrace.observe.drive.text import details
    from millrace.storage.drive.drive_model import DriveReport
    from millrace.storage.drive.facts import facts

    show(DriveReport(drive=row(facts(), serial)), lambda found: details(found.drive))
