# SPDX-License-Identifier: Apache-2.0
"""`millrace pool scrub …`."""

from typing import TYPE_CHECKING

import click

from millrace.system.errors import BadInput, Refused
from millrace.system.output import Output, prints
from millrace.system.prompt import confirm, typed_yes
from millrace.system.users import as_root, only_root
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.storage.record.scrub_record import ScrubRecord
    from millrace.storage.scrub.scrub_status import ScrubStatus


@click.group(cls=VerbGroup)
def scrub() -> None:
    """Check that data and parity of all arrays match: the log first, then all others side by side."""


@scrub.command()
@prints("millrace.storage.scrub.scrub_status:ScrubStatus")
def start(show: Output) -> None:
    """Start a check of all arrays now, or go on with one that was stopped; the window does not end it."""
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub import scrub_job
    from millrace.storage.scrub.scrub_status import lines
    from millrace.system.run import attempt

    only_root()
    scrub_job.start(load_pool(), attempt)
    show(_status(), lines)


@scrub.command()
@prints("millrace.storage.scrub.scrub_status:ScrubStatus")
def stop(show: Output) -> None:
    """Stop the check; the next window, or `start`, goes on from where it was."""
    from millrace.storage.scrub import scrub_job
    from millrace.storage.scrub.scrub_status import lines
    from millrace.system.run import attempt

    only_root()
    scrub_job.stop(attempt)
    show(_status(), lines)


@scrub.command("status")
@prints("millrace.storage.scrub.scrub_status:ScrubStatus")
def status_(show: Output) -> None:
    """Show result and age of the last check of each array, and when the next one begins."""
    from millrace.storage.scrub.scrub_status import lines

    show(_status(), lines)


@scrub.command()
@prints("millrace.storage.scrub.damaged_files:DamagedFiles")
def files(show: Output) -> None:
    """List files with data in sectors that do not match or cannot be read."""
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub import damaged_files, damaged_files_job
    from millrace.system.run import attempt

    only_root()
    found = damaged_files_job.search(load_pool(), attempt)
    show(found, damaged_files.lines, damaged_files.notes(found))


@scrub.command("files-execute", hidden=True)
def files_execute() -> None:
    """Search for damaged files (started by millrace-scrub-files.service)."""
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub import damaged_files, damaged_files_job
    from millrace.system.run import attempt

    found = damaged_files_job.execute(load_pool(), attempt)
    for line in (*damaged_files.lines(found), *damaged_files.notes(found)):
        click.echo(line)


@scrub.command("files-cleanup", hidden=True)
def files_cleanup() -> None:
    """Record a search that was killed (millrace-scrub-files.service at its end)."""
    from millrace.storage.scrub.damaged_files_job import clean_up

    clean_up()


@scrub.command()
@click.argument("array", required=False)
@click.option("--keep-data", is_flag=True, help="Compute parity from the data, also where the wrong drive is known.")
@click.option("--write-back", is_flag=True, help="Write to the wrong drive also where its data may be newer.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@prints("millrace.storage.scrub.scrub_status:ScrubStatus")
def repair(array: str | None, keep_data: bool, write_back: bool, yes: bool, show: Output) -> None:
    """Rewrite the sectors that did not match in the last check of ARRAY, or of all arrays, and read them again.

    Where the check has located the wrong drive of a RAID6, its blocks are restored from the other drives. Elsewhere
    parity is computed from the data, and on a mirror one copy is written over the other, which restores no data. The
    files in doubt are listed first.
    """
    from millrace.inventory.places import bays
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub import damaged_files_job, scrub_job, scrub_repair
    from millrace.storage.scrub.changed_since import changed_since
    from millrace.storage.scrub.scrub_status import lines
    from millrace.system.run import attempt

    only_root()
    if keep_data and write_back:
        raise BadInput("--keep-data and --write-back contradict each other: use one of them")
    pool = load_pool()
    arrays = scrub_repair.to_repair(pool, array)
    for line in scrub_repair.explained(arrays, keep_data, bays()):
        click.echo(line, err=True)
    newer = [] if keep_data else changed_since(pool, arrays, attempt)
    for line in newer:
        click.echo(line, err=True)
    if not yes or (newer and not write_back):
        for line in scrub_repair.doubtful(arrays, lambda: damaged_files_job.search(pool, attempt)):
            click.echo(line, err=True)
    if newer and not write_back:
        raise Refused(
            "a block that was overwritten after the drive returned wrong data would be set back. Compare the files "
            "with a backup, then repair with --keep-data if they are right, with --write-back if they are wrong"
        )
    if not yes:
        confirm("Rewrite these sectors?", "--yes")
    scrub_job.repair(pool, arrays, attempt, keep_data)
    show(_status(), lines)


@scrub.command()
@click.option("--zero-files", is_flag=True, help="Let files read as zeros where their data are lost.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what is lost and which files are concerned; change nothing.")
@prints("millrace.storage.scrub.retire:Retirement")
def retire(zero_files: bool, yes: bool, dry_run: bool, show: Output) -> None:
    """Take areas that no drive can read any more out of use; the pool serves meanwhile.

    Blocks of other data in these areas get another place. Data that are lost stay where they are without --zero-files.
    """
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub import retire as retirement
    from millrace.system.run import attempt

    only_root()
    pool = load_pool()
    survey = retirement.survey(pool, attempt)
    if dry_run:
        show(survey, lambda surveyed: retirement.explained(surveyed, zero_files))
        return
    for line in retirement.explained(survey, zero_files):
        click.echo(line, err=True)
    if not yes:
        typed_yes("Retire these areas?", "--yes")
    retired = retirement.retire(pool, attempt, zero_files)
    show(retired, retirement.lines, retired.left)


@scrub.command()
@prints("millrace.storage.record.scrub_record:ScrubRecord")
def filesystem(show: Output) -> None:
    """Check the metadata of the mounted file system; millrace-upkeep@xfs-scrub.timer does it every week."""
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub import filesystem_scrub
    from millrace.storage.scrub.scrub_status import lines
    from millrace.storage.scrub.scrub_watch import now_here
    from millrace.system.run import attempt

    only_root()
    record = filesystem_scrub.check(load_pool(), attempt, now_here)
    show(record, lambda _: lines(_status()))


@scrub.command(hidden=True)
@prints("millrace.storage.record.scrub_record:ScrubRecord")
def run(show: Output) -> None:
    """Check what is due (started by millrace-scrub.service)."""
    from millrace.plan.policy.policy_in_force import in_force
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub import damaged_files_job, scrub_job
    from millrace.storage.scrub.scrub_watch import CheckContext, termination
    from millrace.system.run import quickly

    with as_root():
        pool = load_pool()
        record = scrub_job.execute(pool, in_force().scrub, CheckContext(quickly, termination()))
        damaged_files_job.start_after_check(pool, quickly)
    show(record, _ended)


@scrub.command(hidden=True)
def release() -> None:
    """Let writes go on that a check or repair has stopped (run by millrace-scrub.service where it was killed)."""
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub import scrub as checks

    with as_root():
        checks.settle(load_pool())


def _ended(found: "ScrubRecord") -> list[str]:
    return [f"stopped: {found.stopped.reason}"] if found.round and found.stopped else []


def _status() -> "ScrubStatus":
    from millrace.plan.policy.policy_in_force import in_force
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub.scrub_status import status
    from millrace.storage.scrub.scrub_watch import now_here

    return status(load_pool(), in_force().scrub, now_here())
