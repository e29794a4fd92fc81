# SPDX-License-Identifier: Apache-2.0
"""`millrace drive test`."""

import click

from millrace.storage.drive.drive_word import DRIVE
from millrace.system.output import Output, prints


@click.command("test")
@click.argument("drives", metavar="[DRIVE]…", nargs=-1, type=DRIVE)
@click.option("--all-candidates", is_flag=True, help="Test all blank drives that a pool may be made of.")
@click.option("--quick", is_flag=True, help="Test a sample across each drive, in minutes. [default: all of it]")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--cancel", is_flag=True, help="End the tests under way.")
@prints(
    "millrace.storage.record.test_order:DriveTestLine",
    {"--cancel": "millrace.inventory.drive_tests:DriveTests"},
    lines=True,
    words="Print JSON lines: progress, each test.",
)
def test_(drives: tuple[str, ...], all_candidates: bool, quick: bool, yes: bool, cancel: bool, show: Output) -> None:
    """Test blank drives before they become members: each DRIVE by serial number, bay or device.

    Every block is written, then read back; at the end the drive is trimmed and blank again. A drive that loses writes,
    has less capacity than it reports or reports errors does not pass. Members, hot spares, the boot drive and drives
    that hold anything are refused. Closing this terminal does not stop a test; `millrace drive list` shows how far it
    is, `millrace drive show` the result. What a drive keeps in a power cut is not tested.
    """
    from millrace.inventory.drive_tests import DriveTests, by_serial
    from millrace.plan.policy.policy_in_force import in_force
    from millrace.storage.array.machine import Linux
    from millrace.storage.drive.drive_rows import only, rows
    from millrace.storage.drive.facts import facts
    from millrace.storage.drive_test import may_test, testable, testing_job
    from millrace.storage.drive_test.testing_text import before_tests, cancelled, test_bar
    from millrace.system.errors import Failed
    from millrace.system.prompt import confirm

    system = Linux()
    if cancel:
        if drives or all_candidates:
            raise click.UsageError("--cancel ends all tests under way: it takes no drives.")
        show(DriveTests(tests=testing_job.cancel(system)), cancelled)
        return
    if drives and all_candidates:
        raise click.UsageError("--all-candidates takes no drives.")
    known = facts()
    drive_rows = rows(known)
    serials = may_test.distinct(
        may_test.candidates(known, drive_rows, in_force())
        if all_candidates
        else [only(drive_rows, serial).serial for serial in drives]
    )
    ready = testable.ready(system, serials, quick)
    show.text(before_tests([candidate.row for candidate in ready], quick))
    if not yes:
        confirm("Test these drives?", "--yes")
    order = testing_job.start(system, ready, quick)
    show.each(testing_job.follow(system, order), test_bar)
    results = by_serial()
    bad = [serial for serial in serials if serial not in results or results[serial].state != "passed"]
    if bad:
        raise Failed(f"not passed: {', '.join(bad)}; see `millrace drive show`")


@click.command("test-execute", hidden=True)
def test_execute() -> None:
    """Test the drives of the order (started by millrace-drive-test.service)."""
    from millrace.storage.array.machine import Linux
    from millrace.storage.drive_test.testing_job import execute
    from millrace.storage.drive_test.testing_text import tested

    for one in execute(Linux()):
        click.echo(tested(one))


@click.command("test-cleanup", hidden=True)
def test_cleanup() -> None:
    """Record tests that were killed."""
    from millrace.storage.array.machine import Linux
    from millrace.storage.drive_test.testing_job import clean_up

    clean_up(Linux())
