# SPDX-License-Identifier: Apache-2.0
"""Which drives may be tested. Pure functions of the server and of a drive that was examined just now."""

from collections.abc import Sequence

from millrace.inventory import drive_tests
from millrace.inventory.model import Drive, DriveState
from millrace.inventory.surface import TEST_INTERRUPTED
from millrace.plan.drives import unsuitable
from millrace.plan.policy.model import Policy
from millrace.storage.array.live_arrays import MISSING
from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.drive_text import named
from millrace.storage.drive.facts import ServerFacts
from millrace.storage.drive.verdict import DriveJudgement, Judge
from millrace.storage.erase.may_erase import used
from millrace.storage.erase.overwrite import SMALLEST
from millrace.storage.record.erasure import RUNNING
from millrace.system.command import command
from millrace.system.errors import BadInput, Refused

TESTABLE = ("blank", "too small")
LEFT = (drive_tests.INTERRUPTED, drive_tests.CANCELLED)
PASSES = 3
ASSUMED = 1_000_000_000
"""Bytes/s of each pass, for what is expected before anything was measured."""
QUICK_MINUTES = 10


def candidates(facts: ServerFacts, rows: Sequence[DriveRow], policy: Policy) -> list[str]:
    """Return the serials of the blank drives that a pool may be made of. Refused: there is none."""
    here = {drive.serial: drive for drive in facts.present}
    serials = [
        row.serial
        for row in rows
        if row.verdict in TESTABLE and row.serial in here and unsuitable(here[row.serial], policy) is None
    ]
    if not serials:
        raise Refused("no drive of this server is blank and may be used for a pool; see `millrace drive list`")
    return serials


def check(facts: ServerFacts, row: DriveRow, drive: Drive | None, quick: bool) -> None:
    """Verify that a drive may be tested; `drive` as it was examined just now, None where it is not in this server.

    What a test left that did not end may be tested again, but not by a `quick` sample.

    Refused: with the reason and what to do.
    """
    if reason := _refusal(facts, row, drive, quick):
        raise Refused(f"{named(row)} {reason}; nothing was written")


def possible(facts: ServerFacts, judgement: DriveJudgement) -> bool:
    """Whether a drive can be tested, from what is known without a command to it; none while others are tested."""
    if facts.testing:
        return False
    return judgement.what in LEFT if judgement.verdict == "unknown" else True


def seconds(size: int) -> int:
    """Return how long a full test of a drive of `size` bytes is expected to take."""
    return PASSES * size // ASSUMED


def expected(size: int, quick: bool) -> str:
    """Return how long the test of a drive of `size` bytes is expected to take, in words."""
    if quick:
        return f"less than {QUICK_MINUTES} minutes"
    hours = seconds(size) / 3600
    return f"about {hours:.0f} hours" if hours >= 1.5 else f"about {max(hours * 60, 1):.0f} minutes"


def distinct(serials: Sequence[str]) -> list[str]:
    """Return each drive once. BadInput: none is named."""
    if not serials:
        raise BadInput("name the drives to test by serial number, bay or device, or use --all-candidates")
    return list(dict.fromkeys(serials))


def _refusal(facts: ServerFacts, row: DriveRow, drive: Drive | None, quick: bool) -> str | None:
    if drive is None:
        return "is not in this server: put it in first"
    if Judge(facts).members.get(row.serial, MISSING) != MISSING:
        return f"belongs to this pool (array {', '.join(row.arrays)}, {row.verdict}): a test would destroy its data"
    if row.role == "backend":
        return f"is the external device of this pool ({row.verdict}), which is never tested"
    if reason := used(row, drive):
        # the sentences of an erase speak of erasing the boot drive
        return reason.replace("never erased", "never tested")
    if (row.what or "").startswith((RUNNING, drive_tests.RUNNING)):
        return f"{row.what}: wait until that has ended: {command('millrace drive show', row.serial)}"
    if drive.size < SMALLEST:
        return f"has {drive.size} bytes only: replace it"
    if row.verdict in TESTABLE and drive.state is DriveState.BLANK:
        return None
    if _left_by_a_test(row, drive):
        # a sample would leave what the other places got
        again = "a quick test leaves what the test before wrote: test all of it, without --quick, or erase it"
        return f"is not blank ({row.what}): {again}" if quick else None
    if row.verdict == "other pool":
        return f"carries another Millrace pool ({row.what}): only a blank drive is tested, put it back into its server"
    what = f" ({row.what})" if row.what else ""
    return (
        f"is not blank but {row.verdict}{what}: only a blank drive is tested; to lose what is on it: "
        f"{command('millrace drive erase', row.serial)}"
    )


def _left_by_a_test(row: DriveRow, drive: Drive) -> bool:
    """Whether nothing is on a drive but what a test left that did not end."""
    marked = bool(drive.evidence) and all(one.finding == TEST_INTERRUPTED for one in drive.evidence)
    return row.what in LEFT and (marked or drive.state is DriveState.BLANK)
