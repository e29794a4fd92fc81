# SPDX-License-Identifier: Apache-2.0
"""`millrace pool unclean` and `pool acknowledge`."""

import click

from millrace.system.output import Output, prints
from millrace.system.users import as_root, only_root


@click.command("unclean")
@click.option("--find", is_flag=True, help="Check parity and search for files that may be damaged, if not done yet.")
@prints("millrace.storage.assemble.unclean:UncleanStarts")
def unclean_(find: bool, show: Output) -> None:
    """Show arrays that were started unclean while degraded, and the files that may be damaged by that.

    On a RAID6 array with one missing member the files are found by parity. Otherwise the list is a guess, by the rows
    that were written last, and other files are possible.
    """
    from millrace.storage.assemble import unclean
    from millrace.storage.unclean import suspects, unclean_find, unclean_job
    from millrace.system.run import attempt

    with as_root():
        if find:
            only_root()
            unclean_job.finish(attempt)
        starts = unclean.pending() or unclean.UncleanStarts(starts=[])
        names = suspects.names()
    show(starts, lambda unclean_starts: unclean_find.lines(unclean_starts, names), unclean_find.notes(starts))


@click.command("unclean-execute", hidden=True)
def unclean_execute() -> None:
    """Check parity and search for files (started by millrace-unclean.service)."""
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub.scrub_watch import CheckContext, termination
    from millrace.storage.unclean import suspects, unclean_find, unclean_job
    from millrace.system.run import attempt

    starts = unclean_job.execute(load_pool(), CheckContext(attempt, termination()), _report)
    if starts is not None:
        for line in (*unclean_find.lines(starts, suspects.names()), *unclean_find.notes(starts)):
            click.echo(line)


@click.command("unclean-cleanup", hidden=True)
def unclean_cleanup() -> None:
    """Record a search that was killed (millrace-unclean.service at its end)."""
    from millrace.storage.unclean.unclean_job import clean_up

    clean_up()


@click.command()
@prints("millrace.storage.assemble.unclean:UncleanStarts")
def acknowledge(show: Output) -> None:
    """Acknowledge unclean starts: health no longer warns, the list of files is removed.

    A parity check that still runs for them ends; members that wait for it are added.
    """
    from millrace.storage.assemble import unclean
    from millrace.storage.unclean import torn_rows, unclean_find
    from millrace.system.jobs import record
    from millrace.system.run import attempt

    with as_root():
        starts = unclean.acknowledge()
        record.cancel_open("unclean", torn_rows.ACKNOWLEDGED)
        if any(start.check == "waiting" for start in starts.starts):
            unclean_find.add_members(attempt)
    show(
        starts,
        lambda unclean_starts: [
            f"{len(unclean_starts.starts)} unclean start{'s' * (len(unclean_starts.starts) != 1)} acknowledged"
        ],
    )


def _report(line: str) -> None:
    click.echo(line, err=True)
