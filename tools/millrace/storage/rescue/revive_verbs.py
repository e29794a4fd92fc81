# SPDX-License-Identifier: Apache-2.0
"""`millrace pool revive`."""

import click

from millrace.storage.drive.drive_word import DRIVE
from millrace.system.output import Output, prints
from millrace.system.prompt import typed_yes


@click.command()
@click.option(
    "--with", "wanted", multiple=True, metavar="DRIVE", type=DRIVE, help="A member to start with that left; repeatable."
)
@click.option("--dry-run", is_flag=True, help="Show what would be started and rebuilt; write nothing.")
@click.option("--plan", "digest", metavar="HASH", help="Confirm the revival by its hash, as --dry-run shows it.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; refused where something is in doubt.")
@click.option(
    "--automatic",
    is_flag=True,
    hidden=True,
    help="Carry out the order, or what is certain; millrace-pool-change@revive.service calls it.",
)
@prints("millrace.storage.rescue.revive_model:Revival")
def revive(
    wanted: tuple[str, ...], dry_run: bool, digest: str | None, yes: bool, automatic: bool, show: Output
) -> None:
    """Start a pool whose drives were gone and are back, with the members that left last.

    All members are shown with bay, serial, events and the time of the last write, what is started, what is rebuilt, and
    what is in doubt. Members that left earlier are rebuilt. The start is recorded as unclean (millrace pool unclean).
    Closing this terminal does not stop it: `millrace job follow revive`.
    """
    from millrace.inventory.present import present
    from millrace.storage.array.machine import Linux
    from millrace.storage.rescue import revive as reviving
    from millrace.storage.rescue import revive_job
    from millrace.storage.rescue.revive_text import lines
    from millrace.system.errors import BadInput, Refused
    from millrace.system.users import as_root, only_root

    if dry_run and (digest or yes):
        raise BadInput("--dry-run only shows: give it without --yes and --plan")
    only_root()
    system = Linux()
    with as_root():
        places = {drive.serial: place for drive in present() if (place := drive.bay or drive.slot)}
        if automatic:
            show(revive_job.execute(system, places, _report), lambda _: ())
            return
        revival = reviving.plan(system, wanted, places)
        if dry_run:
            show(revival, lines)
            return
        show.text(lines(revival))
        if yes and reviving.has_doubt(revival) and not wanted:
            raise Refused(
                "something is in doubt, which --yes does not decide: name the members that left last (--with SERIAL), "
                "or confirm the plan (--plan HASH); nothing was written"
            )
        if not (yes or digest):
            typed_yes("Start the arrays this way?", "--yes or --plan HASH")
        revive_job.start(system, wanted, digest or revival.sha256)
        show(revive_job.follow(system, _report), lines)


@click.command("revive-cleanup", hidden=True)
def revive_cleanup() -> None:
    """Record a revival that was killed (millrace-pool-change@revive.service at its end)."""
    from millrace.storage.rescue.revive_job import clean_up

    clean_up()


def _report(line: str) -> None:
    click.echo(line, err=True)
