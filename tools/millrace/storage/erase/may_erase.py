# SPDX-License-Identifier: Apache-2.0
"""Whether a drive may be erased. Pure functions of the server and of a drive that was examined just now."""

import dataclasses
from collections.abc import Sequence

from millrace.inventory import drive_tests
from millrace.inventory.boot_disk import SYSTEM_MOUNTS
from millrace.inventory.model import Drive, DriveState
from millrace.inventory.surface import only_mark
from millrace.storage.array.live_arrays import MISSING
from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.drive_text import named
from millrace.storage.drive.facts import ServerFacts
from millrace.storage.drive.verdict import DriveJudgement, Judge
from millrace.storage.erase.overwrite import SMALLEST
from millrace.storage.record.erasure import INTERRUPTED, RUNNING
from millrace.system.command import command
from millrace.system.errors import BadInput, Refused
from millrace.system.text import shown

IN_USE = ("holders", "exclusive open")
WHOSE = ("mounts", "identity")
"""Probes of the inventory; where one of these failed, nobody knows whose drive it is."""
CARRIES = "carries "


def check(facts: ServerFacts, row: DriveRow, drive: Drive | None, foreign: bool) -> None:
    """Verify that a drive may be erased; `drive` as it was examined just now, None where it is not in this server.

    Refused: with the reason and what to do; `foreign` allows what another system left, and what could not be examined.
    """
    reason = _refusal(facts, row, drive, foreign)
    if reason:
        raise Refused(f"{named(row)} {reason}; nothing was written")


def confirm(serial: str, again: str) -> None:
    """Verify that the serial number was repeated. BadInput: it was not."""
    if again.strip() != serial:
        raise BadInput(f"the serial number was repeated as {shown(again)}, not {shown(serial)}: nothing was written")


def _refusal(facts: ServerFacts, row: DriveRow, drive: Drive | None, foreign: bool) -> str | None:
    if drive is None:
        return "is not in this server: put it in first"
    if Judge(facts).members.get(row.serial, MISSING) != MISSING:
        arrays = ", ".join(row.arrays)
        verb, why = "millrace drive replace", "replace it"
        if row.verdict == "spare":
            verb, why = "millrace drive remove", "take it out"
        todo = command(verb, row.serial)
        return f"belongs to this pool (array {arrays}, {row.verdict}): {why} first: {todo}"
    if row.role == "backend":
        return f"is the external device of this pool ({row.verdict}), which is never erased"
    if reason := used(row, drive):
        return reason
    if (row.what or "").startswith((RUNNING, drive_tests.RUNNING)):
        return f"{row.what}: wait until that has ended: {command('millrace drive show', row.serial)}"
    if row.verdict == "returned":
        return _returned(facts)
    if drive.size < SMALLEST:
        return f"has {drive.size} bytes only: replace it"
    if begun(facts, row.what, row.serial) and bare(drive):
        # what was on it was confirmed as not needed when the erase began, and nothing came since
        return None
    if foreign:
        return None
    if (apart := facts.apart.get(row.serial)) and apart.started:
        return (
            f"may have changes that the pool lacks ({row.what}): keep it until the files are compared with a backup, "
            "or see --foreign in --help"
        )
    if apart:
        return (
            f"has changes that the pool lacks ({row.what}): copy what is needed from it in another server first, or "
            "see --foreign in --help"
        )
    return _foreign(row)


def _foreign(row: DriveRow) -> str | None:
    """What is on a drive that only --foreign erases."""
    anyway = f"to erase it nevertheless: {command('millrace drive erase', row.serial, options=['--foreign'])}"
    if row.verdict == "other pool":
        # no sentence of ours proposes to erase a pool
        return f"carries another Millrace pool ({row.what}): put it back into its server, or see --foreign in --help"
    if row.verdict == "foreign":
        return f"carries data of another system ({row.what}); {anyway}"
    if row.verdict == "unknown":
        return f"could not be examined ({row.what}): check the drive and its slot; {anyway}"
    return None


def used(row: DriveRow, drive: Drive) -> str | None:
    """Return why a drive must not be written, whatever the user says: this system uses it, or may do so; else None."""
    if drive.state is DriveState.BOOT:
        what = drive.evidence[0].finding.removeprefix(CARRIES) if drive.evidence else "the running system"
        if what.startswith("swap"):
            return f"carries {what}: end its use first with swapoff"
        if what.startswith("/") and what not in SYSTEM_MOUNTS:
            return f"carries {what}: unmount it first: {command('umount', what)}"
        return f"is the boot drive (it carries {what}), which is never erased: choose another drive"
    for evidence in drive.evidence:
        if evidence.probe in IN_USE:
            return f"is in use ({evidence.finding}): end its use first; `lsblk` shows what is on it"
        if evidence.probe in WHOSE:
            return f"cannot be told from the boot drive or from another one ({evidence.finding}): correct that first"
    if row.verdict == "unknown" and row.what and row.what.endswith("does not run"):
        return f"carries data of this pool ({row.what}): start the pool first: millrace assemble"
    return None


def _returned(facts: ServerFacts) -> str | None:
    if intact(facts):
        return None
    return "carries data of this pool, which is not complete and may need it: repair the pool first: millrace pool show"


def intact(facts: ServerFacts) -> bool:
    """Whether all arrays of the pool run and all of their members are in sync."""
    return facts.pool is not None and all(
        one.device is not None and all(member.state in ("in-sync", "spare") for member in one.members)
        for one in facts.live
    )


def begun(facts: ServerFacts, what: str | None, serial: str) -> bool:
    """Whether an erase or a test of a drive began and did not leave it blank, and nothing else was found on it."""
    if any(one.serial == serial and not bare(one) for one in facts.examined):
        return False
    return serial in facts.unfinished or what in (INTERRUPTED, drive_tests.INTERRUPTED)


def bare(drive: Drive) -> bool:
    """Whether nothing was found on a drive but what an erase or a test leaves."""
    return drive.state is DriveState.BLANK or only_mark(drive.evidence) is not None


def possible(facts: ServerFacts, judgement: DriveJudgement, serial: str) -> bool:
    """Whether a drive can be erased, from what is known without a command to it."""
    if judgement.verdict == "returned":
        return intact(facts)
    if judgement.verdict == "unknown":
        running = (judgement.what or "").startswith((RUNNING, drive_tests.RUNNING))
        return begun(facts, judgement.what, serial) and not running
    return True


def fresh(facts: ServerFacts, drive: Drive) -> ServerFacts:
    """Return the facts with a drive as it was examined just now."""
    return dataclasses.replace(facts, examined=with_drive(facts.examined, drive))


def with_drive(drives: Sequence[Drive], drive: Drive) -> list[Drive]:
    """Return the drives of an inventory with one as it was examined just now."""
    return [*(one for one in drives if (one.serial or one.name) != (drive.serial or drive.name)), drive]
