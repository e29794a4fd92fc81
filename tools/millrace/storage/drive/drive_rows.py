# SPDX-License-Identifier: Apache-2.0
"""One row for each drive, without what it allows now: those that are here and those that the pool misses. Pure
functions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.inventory.drives import natural_key
from millrace.inventory.model import Drive
from millrace.plan.model import Role
from millrace.storage.drive import wear
from millrace.storage.drive.drive_model import DriveRow, RowRole
from millrace.storage.drive.facts import ServerFacts
from millrace.storage.drive.verdict import DriveJudgement, Judge
from millrace.system.errors import Refused
from millrace.system.text import shown

UNPLUGGED = "hot plug is off in its slot: put the new drive in while the server is off"


@dataclass(frozen=True)
class RowIdentity:
    """What a drive is and where: of one that is gone, what it was. `size` in bytes, `last_seen` a day."""

    serial: str
    name: str | None
    bay: str | None
    model: str
    firmware: str
    size: int | None
    last_seen: str | None


def rows(facts: ServerFacts) -> list[DriveRow]:
    """Return all drives in the order of their bays; what has no bay comes last. No row has an action."""
    judge = Judge(facts)
    judged = [(one, judge.drive(one)) for one in facts.present if one.size]
    present = [(_present(facts, one), judgement) for one, judgement in judged]
    gone = [(one, _missing(facts, one)) for one in (_gone(facts, serial) for serial in judge.gone)]
    found = [_row(facts, judge, one, judgement) for one, judgement in present + gone]
    return sorted(
        found, key=lambda one: (one.bay is None, natural_key(one.bay or ""), natural_key(one.name or "~"), one.serial)
    )


def row(facts: ServerFacts, serial: str) -> DriveRow:
    """Return the drive with this serial number. Refused: there is none, or it is not the only one."""
    return only(rows(facts), serial)


def only(rows: Sequence[DriveRow], serial: str) -> DriveRow:
    """Return the row with this serial number. Refused: there is none, or it is not the only one."""
    # a drive that reports none cannot be named by it
    named = [row for row in rows if serial and row.serial == serial]
    if not named:
        raise Refused(
            f"no drive has the serial number, bay or device name {shown(serial)}; for all of them: millrace drive list"
        )
    if len(named) > 1:
        names = ", ".join(each.name or "-" for each in named)
        raise Refused(f"{len(named)} drives have the serial number {shown(serial)}: {names}; pull one of them")
    return named[0]


def _present(facts: ServerFacts, drive: Drive) -> RowIdentity:
    known = facts.history.get(drive.serial)
    return RowIdentity(
        serial=drive.serial,
        name=drive.name,
        bay=drive.bay or drive.slot or (known.bay if known else None),
        model=drive.model,
        firmware=drive.firmware,
        size=drive.size,
        last_seen=facts.today.isoformat(),
    )


def _gone(facts: ServerFacts, serial: str) -> RowIdentity:
    """What the record knows of a drive that is not here, else the inventory of this boot."""
    if known := facts.history.get(serial):
        return RowIdentity(
            serial, None, known.bay, known.model, known.firmware, known.size, known.last_seen.isoformat()
        )
    if was := next((one for one in facts.examined if one.serial == serial), None):
        return RowIdentity(serial, None, was.bay or was.slot, was.model, was.firmware, was.size, None)
    return RowIdentity(serial, None, None, "", "", None, None)


def _missing(facts: ServerFacts, one: RowIdentity) -> DriveJudgement:
    """A drive that is put into an empty slot without hot plug is not found before the next start."""
    return DriveJudgement("missing", UNPLUGGED if one.bay in facts.unplugged else None)


def _row(facts: ServerFacts, judge: Judge, identity: RowIdentity, judgement: DriveJudgement) -> DriveRow:
    smart, known = (
        (facts.smart.get(identity.serial), facts.history.get(identity.serial)) if identity.serial else (None, None)
    )
    end = wear.ends(known.wear, facts.today) if known else None
    role, arrays = _part(facts, identity.serial)
    return DriveRow(
        serial=identity.serial,
        name=identity.name,
        bay=identity.bay,
        model=identity.model,
        firmware=identity.firmware,
        size_bytes=identity.size,
        role="boot" if judgement.verdict == "boot" else "backend" if identity.serial in judge.backends else role,
        arrays=arrays,
        verdict=judgement.verdict,
        what=judgement.what,
        too_small_by=judgement.lacks,
        temperature_celsius=smart.temperature if smart and identity.name else None,
        wear_percent=smart.wear if smart else None,
        wear_ends=end.isoformat() if end else None,
        spare_percent=smart.available_spare if smart else None,
        media_errors=smart.media_errors if smart else None,
        power_on_hours=smart.power_on_hours if smart else None,
        last_seen=identity.last_seen,
        opal=next((drive.opal for drive in facts.examined if drive.serial == identity.serial), None),
        needs_bytes=None,
        test=facts.tests.get(identity.serial) if identity.serial else None,
        testing=facts.testing.get(identity.serial) if identity.serial else None,
        test_seconds=None,
        actions=[],
    )


def _part(facts: ServerFacts, serial: str) -> tuple[RowRole, list[str]]:
    """What a drive is for in the pool, and its arrays: data before log, a member before a spare."""
    spares = (
        {(array.array.name, spare.serial) for array in facts.pool.arrays for spare in array.spares}
        if facts.pool
        else ()
    )
    parts = [
        (array, member.state == "spare" or (array.name, serial) in spares)
        for array in facts.live
        if not array.legs
        for member in array.members
        if member.serial == serial
    ]
    roles = {array.role for array, spare in parts if not spare}
    names = [array.name for array, _ in parts]
    if Role.DATA in roles:
        return "data", names
    if Role.LOG in roles:
        return "log", names
    return ("spare" if parts else "none"), names
