# SPDX-License-Identifier: Apache-2.0
"""One row for each drive, with what it allows now. Pure functions."""

from millrace.storage.change.possible_changes import PossibleChanges
from millrace.storage.drive import drive_rows
from millrace.storage.drive.drive_model import DriveAction, DriveRow
from millrace.storage.drive.facts import ServerFacts
from millrace.storage.drive.verdict import ALLOWED, DriveJudgement, Judge
from millrace.storage.drive_test import may_test
from millrace.storage.erase import may_erase


def rows(facts: ServerFacts) -> list[DriveRow]:
    """Return all drives in the order of their bays; what has no bay comes last."""
    judge = Judge(facts)
    possible = PossibleChanges(facts, [(one, judge.drive(one)) for one in facts.present if one.size])
    return [_complete(facts, judge, one, possible) for one in drive_rows.rows(facts)]


def row(facts: ServerFacts, serial: str) -> DriveRow:
    """Return the drive with this serial number. Refused: there is none, or it is not the only one."""
    return drive_rows.only(rows(facts), serial)


def _complete(facts: ServerFacts, judge: Judge, one: DriveRow, possible: PossibleChanges) -> DriveRow:
    """A row with what its drive allows."""
    judgement = DriveJudgement(one.verdict, one.what, one.too_small_by)
    needs, actions = _changes(facts, judge, one.serial, judgement, possible)
    seconds = may_test.seconds(one.size_bytes) if "test" in actions and one.size_bytes else None
    return one.model_copy(update={"needs_bytes": needs, "test_seconds": seconds, "actions": actions})


def _changes(
    facts: ServerFacts, judge: Judge, serial: str, judgement: DriveJudgement, possible: PossibleChanges
) -> tuple[int | None, list[DriveAction]]:
    """What a drive needs to be replaced, and what it allows now; nothing where drives cannot be distinguished."""
    if not serial or judge.times(serial) > 1:
        return None, []
    if serial in judge.backends:
        # what keeps the device replaces and erases it
        return None, []
    allowed = ALLOWED[judgement.verdict]
    actions = [action for action in allowed if possible.allows(action, serial)]
    if not may_erase.possible(facts, judgement, serial):
        actions = [action for action in actions if action != "erase"]
    if not may_test.possible(facts, judgement):
        actions = [action for action in actions if action != "test"]
    return possible.needs(serial) if "replace" in allowed else None, actions
