# SPDX-License-Identifier: Apache-2.0
"""A drive that was put in: examined, and used in the place of a missing one where the policy says so.

millrace-replace@event.service runs `inserted` for each drive that appears while the server runs,
millrace-replace@boot.service `inserted_before` once at each boot.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from millrace.inventory.model import Drive, DriveState, Inventory
from millrace.plan.drives import unsuitable
from millrace.plan.failing import why_failing
from millrace.plan.policy.model import Policy
from millrace.storage.array.machine import Report, System
from millrace.storage.change import change_job, change_proposal
from millrace.storage.change.candidates import place
from millrace.storage.change.plan_replace import PoolServer, replacement
from millrace.storage.record import removal_record
from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.drive_change import DriveChange
from millrace.storage.record.writer import EXAMINING, writing
from millrace.system import paths
from millrace.system.command import command
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Refused

BY = "policy"
"""Who confirms a replacement that the policy allows, in the journal of the change."""


@dataclass(frozen=True)
class Match:
    """A missing member or hot spare, by serial, and the blank drive that is in its bay now."""

    old: str
    bay: str
    new: Drive


def inserted(system: System, policy: Policy, report: Report) -> DriveChange | None:
    """Examine all drives; start the replacement that the policy allows and return it. `report` receives sentences.

    Waits while drives are changed: what is open for its examination can be neither partitioned nor re-added.

    Refused: there is no pool. Failed: the unit of the change does not start.
    """
    with writing(EXAMINING, wait=True):
        inventory = change_proposal.examined(system)
        write_model(paths.inventory_file(), inventory)
    return _replaced(system, policy, inventory, report)


def inserted_before(system: System, policy: Policy, report: Report) -> DriveChange | None:
    """Start the replacement that the policy allows for a drive that was put in while the server was off; return it.

    The inventory of this boot has it: drives are examined again only before a replacement. Waits for nothing.

    Refused: there is no pool. BadInput: no inventory of this boot can be read. Failed: the unit of the change does not
    start.
    """
    return _replaced(system, policy, read_model(paths.inventory_file(), Inventory), report)


def _replaced(system: System, policy: Policy, inventory: Inventory, report: Report) -> DriveChange | None:
    if (journal := ChangeJournal.load()) is not None:
        report(f"change {journal.change.id} is open; see `millrace drive progress`")
        return None
    for match in matches(change_proposal.server_with(system, inventory), removal_record.load()):
        change = _started(system, policy, match, report)
        if change is not None:
            return change
    return None


def matches(server: PoolServer, taken_out: Collection[str] = ()) -> list[Match]:
    """Return the missing drives of the pool whose bay has exactly one drive, which is blank.

    A hot spare that is among those `taken_out` on purpose is not missing.
    """
    spares = [spare.serial for record in server.pool.arrays for spare in record.spares if spare.serial not in taken_out]
    members = [member.serial for record in server.pool.arrays for member in record.members]
    pairs = []
    for old in dict.fromkeys([*members, *spares]):
        bay = server.bays.get(old)
        here = _in_bay(server.drives, bay) if bay and all(drive.serial != old for drive in server.drives) else []
        if bay and len(here) == 1 and here[0].state is DriveState.BLANK:
            pairs.append(Match(old, bay, here[0]))
    return pairs


def _in_bay(drives: Sequence[Drive], bay: str) -> list[Drive]:
    return [one for one in drives if place(one) == bay]


def _started(system: System, policy: Policy, match: Match, report: Report) -> DriveChange | None:
    if reason := why_failing(match.new):
        report(f"drive {match.new.serial} in bay {match.bay} is not used for {match.old}: it {reason}; replace it")
        return None
    if policy.drives.replace != "same-bay":
        report(
            f"a blank drive ({match.new.serial}) is in bay {match.bay}: {command('millrace drive replace', match.old)}"
        )
        return None
    if reason := unsuitable(match.new, policy):
        report(f"drive {match.new.serial} in bay {match.bay} is not used for {match.old}: {reason}")
        return None
    try:
        proposal = change_proposal.proposed(
            system, lambda server: replacement(server, match.old, match.new.serial), match.old
        )
        change = change_job.start(system, proposal, proposal.sha256, BY)
    except Refused as refusal:
        report(str(refusal))
        return None
    for difference in proposal.differences:
        report(f"drive {match.new.serial} differs: {difference}")
    report(f"drive {match.new.serial} in bay {match.bay} replaces {match.old}: `millrace drive progress`")
    return change
