# SPDX-License-Identifier: Apache-2.0
"""Changes of the drives of the pool: proposed, confirmed by their hash, carried out by millrace-drive.service."""

from collections.abc import Callable
from contextlib import suppress

from millrace.inventory.model import Inventory
from millrace.plan.audit import differences
from millrace.plan.model import Role
from millrace.storage.array.machine import Report, System, settle
from millrace.storage.array.member_state import arrays_now
from millrace.storage.assemble import grown_legs, unclean
from millrace.storage.change.carry_out import carry_out_change
from millrace.storage.change.change_steps import LostDrive
from millrace.storage.change.change_text import steps_in_words
from millrace.storage.change.plan_grow import growth
from millrace.storage.change.plan_replace import PoolServer, replacement, require_member
from millrace.storage.change.spares import addition, removal
from millrace.storage.drive import drive_history
from millrace.storage.drive.attached import Drives
from millrace.storage.record import apart_record, removal_record
from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.drive_change import DriveChange, DrivePlan, DriveProposal
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.writer import changing, writing
from millrace.storage.scrub import scrub
from millrace.system import locks, paths
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.files import describe

SHORTEST_PREFIX = 12

Decide = Callable[[PoolServer], DrivePlan]


def proposed(system: System, decide: Decide, old: str | None) -> DriveProposal:
    """Examine all drives, and return what `decide` plans, for the member `old` where there is one.

    Refused: it is no member, or the change is not possible; one sentence.
    """
    pool = load_pool()
    if old is not None:
        # before the drives are examined, which takes a while
        require_member(pool, arrays_now(system, pool), old)
    server = server_with(system, examined(system))
    plan = decide(server)
    return DriveProposal(
        sha256=plan.digest(), plan=plan, steps=steps_in_words(plan), differences=_differences(server, plan)
    )


def confirm(system: System, proposal: DriveProposal, digest: str, by: str) -> DriveChange:
    """Record the confirmation of a proposal by its hash, or by at least 12 leading digits of it.

    `by` is a user name. BadInput: it is no hash. Refused: it is that of another plan, or another change is open.
    """
    wanted = digest.strip().lower()
    if len(wanted) < SHORTEST_PREFIX:
        raise BadInput(f"'{digest}' is not the hash of a change: give at least its first {SHORTEST_PREFIX} digits")
    if not proposal.sha256.startswith(wanted):
        raise Refused(
            f"{wanted} is not the hash of this change, which is {proposal.sha256}: the drives have changed; "
            "read it again with --dry-run. Nothing was written"
        )
    for array in (*(join.array for join in proposal.plan.joins), *proposal.plan.growing):
        if array and unclean.holds(array):
            raise Refused(
                f"array {array}: no member is added before its parity was checked for torn rows; wait for the end "
                "of the check (millrace pool unclean), or give it up: millrace pool acknowledge"
            )
    with writing(changing(proposal.plan)):
        return ChangeJournal.open(proposal.plan, by, system.now()).change


def stopped() -> DriveChange:
    """Return the change that is to go on. Refused: none is open. BadInput: it cannot be read."""
    journal = ChangeJournal.load()
    if journal is None:
        raise Refused("no change of drives is open; how the last one ended: millrace drive progress")
    return journal.change


def apply(system: System, report: Report) -> DriveChange | None:
    """Carry out the confirmed change, or go on with an interrupted one; None where there is none.

    `report` receives one line for each step. Refused: the server has changed since it was confirmed, and nothing was
    written; or a drive holds something else. LostDrive: the new drive is gone; the change has ended. Failed: a tool
    failed; run it again to go on.
    """
    with writing(changing()):
        journal = ChangeJournal.load()
        if journal is None:
            return None
        settle(system)
        drives = Drives(system)
        try:
            if not journal.begun:
                _verify(system, drives.inventory, journal)
            report("going on with an interrupted change" if journal.begun else f"change {journal.change.id}")
            journal.stopped(None)
            if journal.change.plan.joins or journal.change.plan.grows:
                scrub.give_way(load_pool(), system.attempt)
            carry_out_change(system, drives, journal, report)
        except (Refused, LostDrive) as error:
            if journal.begun and not isinstance(error, LostDrive):
                journal.stopped(str(error))
            else:
                # nothing was written, or there is nothing to go on with
                journal.end(system.now(), str(error))
            raise
        except (MillraceError, OSError) as error:
            # on a full boot drive nothing can be recorded, and the change stays as it is
            with suppress(OSError):
                journal.stopped(describe(error))
            raise
        return journal.change


def decision(plan: DrivePlan) -> Decide:
    """Return what plans the same change again."""
    old, new = (drive.serial if drive else "" for drive in (plan.old, plan.new))
    match plan.verb:
        case "replace":
            return lambda server: replacement(server, old, new)
        case "add":
            return lambda server: addition(server, new)
        case "remove":
            return lambda server: removal(server, old)
        case "grow":
            return growth


def examined(system: System) -> Inventory:
    """Examine all drives; wait for another process that does: each opens blank drives for itself alone."""
    with locks.held(paths.run_dir() / "examine.lock"):
        return system.scan()


def server_with(system: System, inventory: Inventory) -> PoolServer:
    """Return the pool with these drives as a change finds it. Refused: there is no pool."""
    pool = load_pool()
    bays = {drive.serial: drive.bay for drive in drive_history.load().drives if drive.bay}
    return PoolServer(
        pool,
        arrays_now(system, pool),
        inventory.drives,
        bays,
        apart_record.recorded(),
        removal_record.load(),
        grown_legs.unused(system, pool),
        grown_legs.uneven(system, pool),
        grown_legs.unfilled(system, pool),
    )


def _differences(server: PoolServer, plan: DrivePlan) -> list[str]:
    """What sets the new drive apart from the members that it is to work with."""
    new = server.present(plan.new.serial) if plan.new else None
    joined, old = {one.array for one in plan.joins}, plan.old.serial if plan.old else None
    around = {one.who.serial for name, array in server.arrays.items() if name in joined for one in array.members}
    neighbours = [one for one in server.drives if one.serial in around and one.serial != old]
    return differences(new, neighbours, any(one.role is Role.DATA for one in plan.joins)) if new else []


def _verify(system: System, inventory: Inventory, journal: ChangeJournal) -> None:
    """Plan the change again with the drives of now. Refused: it is not possible any more, or it is another one."""
    plan = decision(journal.change.plan)(server_with(system, inventory))
    if plan.digest() != journal.change.sha256:
        raise Refused(
            f"the server has changed since change {journal.change.sha256[:12]} was confirmed; nothing was written: "
            "start it again"
        )
