# SPDX-License-Identifier: Apache-2.0
"""`millrace drive replace`, `add`, `remove`, `progress` and `resume`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from millrace.storage.drive.drive_word import DRIVE
from millrace.system.output import Output, prints
from millrace.system.prompt import confirm

if TYPE_CHECKING:
    from millrace.storage.array.machine import System
    from millrace.storage.change.change_model import ChangeProgress
    from millrace.storage.change.change_proposal import Decide
    from millrace.storage.record.drive_change import DriveChange


def _confirmed(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb what all changes have: how they are confirmed, and what they print."""
    printing = prints(
        "millrace.storage.change.change_model:ChangeLine",
        {"--dry-run": "millrace.storage.record.drive_change:DriveProposal"},
        lines=True,
        words="Print JSON lines: the plan, progress, the change.",
    )
    for add_option in (
        printing,
        click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing."),
        click.option("--plan", "digest", metavar="HASH", help="Confirm the change by its hash, as --dry-run shows it."),
        click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
    ):
        verb = add_option(verb)
    return verb


@click.command()
@click.argument("old", metavar="OLD", type=DRIVE)
@click.option("--with", "new", metavar="NEW", type=DRIVE, help="The new drive. [default: the one that fits]")
@_confirmed
def replace(old: str, new: str | None, yes: bool, digest: str | None, dry_run: bool, show: Output) -> None:
    """Replace the drive OLD (serial number, bay or device) by a blank one and rebuild the arrays.

    A drive that can be read stays in use until its data is copied. An interrupted replacement goes on at the next boot.
    """
    from millrace.storage.change.plan_replace import replacement

    _change(old, lambda server: replacement(server, old, new), _Confirmation(yes, digest, dry_run), show)


@click.command()
@click.argument("serial", metavar="DRIVE", type=DRIVE)
@_confirmed
def add(serial: str, yes: bool, digest: str | None, dry_run: bool, show: Output) -> None:
    """Make the blank DRIVE (serial number, bay or device) a hot spare."""
    from millrace.storage.change.spares import addition
    from millrace.storage.drive.drive_rows import row
    from millrace.storage.drive.facts import facts

    # refused at once: to examine all drives takes a while
    row(facts(), serial)
    _change(None, lambda server: addition(server, serial), _Confirmation(yes, digest, dry_run), show)


@click.command()
@click.argument("serial", metavar="DRIVE", type=DRIVE)
@_confirmed
def remove(serial: str, yes: bool, digest: str | None, dry_run: bool, show: Output) -> None:
    """Take DRIVE, a hot spare or faulty member, out of its arrays; it may be pulled then."""
    from millrace.storage.change.spares import removal

    _change(serial, lambda server: removal(server, serial), _Confirmation(yes, digest, dry_run), show)


@click.command()
@_confirmed
def grow(yes: bool, digest: str | None, dry_run: bool, show: Output) -> None:
    """Grow the pool, after each of its drives was replaced by a larger one.

    Partitions, array and file system are enlarged while they are in use. --dry-run shows the gain. The legs of a
    RAID50 or RAID60 grow at once, and the pool uses them after the next restart. An interrupted growth goes on at the
    next boot.
    """
    from millrace.storage.change.plan_grow import growth

    _change(None, growth, _Confirmation(yes, digest, dry_run), show)


@click.command()
@prints("millrace.storage.change.change_model:LastChange")
def progress(show: Output) -> None:
    """Show the progress of a replacement, or how the last one ended."""
    from millrace.storage.change import change_job
    from millrace.storage.change.change_model import LastChange
    from millrace.storage.change.change_text import progress_lines
    from millrace.storage.record import change_journal

    change = change_journal.last()
    found = LastChange(change=change_job.now(change) if change else None)
    show(found, lambda one: progress_lines([one.change] if one.change else []))


@click.command()
@prints("millrace.storage.change.change_model:ChangeLine", lines=True, words="Print JSON lines: progress, the change.")
def resume(show: Output) -> None:
    """Go on with a change of drives that an error stopped, as after the next boot.

    Correct the cause first: `millrace drive progress` shows it. A change that runs is followed.
    """
    from millrace.storage.array.machine import Linux
    from millrace.storage.change import change_job
    from millrace.system.users import as_root, only_root

    only_root()
    with as_root():
        system = Linux()
        _followed(system, change_job.resume(system), show)


@click.command(hidden=True)
@prints("millrace.storage.change.change_model:LastChange")
def apply(show: Output) -> None:
    """Carry out the confirmed change, or go on with an interrupted one; millrace-drive.service calls it."""
    from millrace.storage.array.machine import Linux
    from millrace.storage.change import change_job
    from millrace.storage.change.change_model import LastChange
    from millrace.system.users import as_root

    with as_root():
        change = change_job.execute(Linux(), lambda line: click.echo(line, err=True))
    show(LastChange(change=change_job.now(change) if change else None), lambda _: ())


@click.command(hidden=True)
@click.option("--boot", is_flag=True, help="Use the inventory of this boot: drives that were put in before it.")
def inserted(boot: bool) -> None:
    """Examine drives that were put in (millrace-replace@event calls it, and with --boot millrace-replace@boot)."""
    from millrace.plan.policy.policy_in_force import in_force
    from millrace.storage.array.machine import Linux
    from millrace.storage.change.inserted import inserted as examine_inserted
    from millrace.storage.change.inserted import inserted_before
    from millrace.system.users import as_root, only_root

    only_root()
    with as_root():
        find = inserted_before if boot else examine_inserted
        find(Linux(), in_force(), lambda line: click.echo(line, err=True))


@dataclass(frozen=True)
class _Confirmation:
    """How a change is confirmed: by `yes`, by a hash, else on the terminal; with `dry_run` it is only shown."""

    yes: bool
    digest: str | None
    dry_run: bool


def _change(old: str | None, decide: "Decide", given: _Confirmation, show: Output) -> None:
    from millrace.storage.array.machine import Linux
    from millrace.storage.change import change_job, change_proposal
    from millrace.storage.change.change_text import proposal_lines
    from millrace.system.users import as_root, invoking_user, only_root

    only_root()
    system = Linux()
    with as_root():
        proposal = change_proposal.proposed(system, decide, old)
        show(proposal, proposal_lines)
        if given.dry_run:
            return
        if not (given.yes or given.digest):
            confirm("Write to these drives?", "--yes or --plan HASH")
        change = change_job.start(system, proposal, given.digest or proposal.sha256, invoking_user())
        _followed(system, change, show)


def _followed(system: "System", change: "DriveChange", show: Output) -> None:
    from millrace.storage.change import change_job
    from millrace.storage.change.change_text import result

    last = show.each(change_job.follow(system, change), _bar)
    if last is not None:
        show(last.change, lambda one: [result(one)])


def _bar(lines: "Iterable[ChangeProgress]") -> "ChangeProgress | None":
    from millrace.storage.change.change_text import progress_line

    last = None
    for last in lines:
        click.echo(progress_line(last), err=True)
    return last
