# SPDX-License-Identifier: Apache-2.0
"""The drive that is put in the place of another: the one that was named, or the one that fits. Pure functions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from millrace.inventory.model import Drive, DriveState
from millrace.plan.failing import why_failing
from millrace.plan.model import Role
from millrace.plan.sizes import START, TABLE_END
from millrace.storage.record.model import Pool
from millrace.system.errors import Refused
from millrace.system.text import shown


@dataclass(frozen=True)
class DriveNeed:
    """What a new drive must offer: `partitions` bytes in all, and logical blocks of `sector` bytes, None for any."""

    partitions: int
    sector: int | None

    @property
    def size(self) -> int:
        """The smallest drive, in bytes, with both partition tables."""
        return START + self.partitions + TABLE_END


def the_one(drives: Sequence[Drive], serial: str) -> Drive | None:
    """Return the drive with this serial number; None if there is none. Refused: several drives have it."""
    found = [one for one in drives if one.serial == serial]
    if len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise Refused(f"{len(found)} drives have the serial number {shown(serial)}: {names}; pull one of them")
    return found[0] if found else None


def chosen(
    drives: Sequence[Drive],
    need: DriveNeed,
    why: str,
    old: str,
    bay: str | None,
    new: str | None,
    members: Collection[str] = (),
) -> Drive:
    """Return the drive `new`, or the one blank drive that fits; one in the bay of the old drive is preferred.

    `why` begins the sentence; `members` are the serials of the pool's drives. Refused: the drive does not fit, none
    does, or several do.
    """
    if new is not None:
        drive = the_one(drives, new)
        if drive is None:
            raise Refused(f"no drive of this server has the serial number {shown(new)}; see `millrace drive list`")
        if reason := unfit(drive, need):
            raise Refused(f"{why}: {named(drive.serial, place(drive))} {reason}; nothing was written")
        return drive
    blank = [drive for drive in drives if drive.state is DriveState.BLANK]
    fits = [drive for drive in blank if unfit(drive, need) is None]
    same_bay = [drive for drive in fits if bay is not None and place(drive) == bay]
    if len(same_bay or fits) == 1:
        return (same_bay or fits)[0]
    if fits:
        serials = ", ".join(named(drive.serial, place(drive)) for drive in fits)
        raise Refused(f"{why}: {len(fits)} blank drives fit, {serials}; choose one with --with SERIAL")
    # The boot drive and those of a pool are no candidates.
    left = [
        drive
        for drive in drives
        if drive.state not in (DriveState.OURS, DriveState.BOOT) and drive.serial not in members
    ]
    reasons = (
        "; ".join(f"{named(drive.serial, place(drive))} {unfit(drive, need)}" for drive in left) or "no drive is blank"
    )
    raise Refused(f"{why}: {reasons}; insert a blank drive of at least {need.size} bytes")


def unfit(drive: Drive, need: DriveNeed) -> str | None:
    """Return why a drive cannot be used, as the end of a sentence about it; None if it can."""
    if reason := obstacle(drive) or why_failing(drive):
        return reason
    if drive.size < need.size:
        return f"is too small by {need.size - drive.size} bytes"
    if need.sector is not None and drive.logical_block != need.sector:
        return f"has sectors of {drive.logical_block} bytes, and its array of {need.sector}"
    return None


def obstacle(drive: Drive) -> str | None:
    """Return what is on a drive that is not blank, as the end of a sentence about it; None if it is blank."""
    findings = "; ".join(evidence.finding for evidence in drive.evidence) or drive.state.value
    match drive.state:
        case DriveState.BOOT:
            return "is the boot drive"
        case DriveState.OURS:
            return "carries partitions of a Millrace pool"
        case DriveState.FOREIGN:
            return f"is not blank ({findings})"
        case DriveState.UNKNOWN:
            return f"could not be examined ({findings})"
        case DriveState.BLANK:
            return None


def place(drive: Drive) -> str | None:
    """Return the bay of a drive, else its slot."""
    return drive.bay or drive.slot


def named(serial: str, bay: str | None) -> str:
    """Return a drive as sentences name it."""
    return f"drive {serial} (bay {bay})" if bay else f"drive {serial}"


def free_label(pool: Pool, role: Role) -> str:
    """Return the first label of a role that no drive has."""
    used = {one.label for drive in pool.drives for one in drive.partitions}
    labels = (f"millrace-{role.value}-{number:02}" for number in range(len(used) + 1))
    return next(label for label in labels if label not in used)
