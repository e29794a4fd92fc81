# SPDX-License-Identifier: Apache-2.0
"""`millrace drive …`."""

import click

from millrace.system.output import Output, prints


@click.group()
def drive() -> None:
    """List and show the drives of this server."""


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
