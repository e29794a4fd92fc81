# SPDX-License-Identifier: Apache-2.0
"""Which drives may become a boot drive. Pure functions of the inventory."""

from collections.abc import Sequence

from millrace.inventory.model import Drive, DriveState
from millrace.lifecycle.install.model import BootCandidate
from millrace.system.command import command
from millrace.system.errors import BadInput, Refused
from millrace.system.text import shown, size

SMALLEST = 8 * 10**9
"""Bytes of a boot drive: the loader, two versions of the system, and the root file system."""
SECTOR = 512
"""Bytes of a sector in the partition table that is copied."""
IN_USE = ("holders", "exclusive open")
WHOSE = ("mounts", "identity")
"""Probes of the inventory; where one of these failed, nobody knows whose drive it is."""


def candidates(drives: Sequence[Drive]) -> list[BootCandidate]:
    """Return every drive with what is on it and why it cannot become the boot drive; those that can come first."""
    found = [candidate(drive) for drive in drives]
    return sorted(found, key=lambda one: (one.refused is not None, one.size_bytes, one.serial))


def candidate(drive: Drive) -> BootCandidate:
    """Return a drive as one that may become the boot drive."""
    held = drive.state in (DriveState.FOREIGN, DriveState.UNKNOWN)
    holds = "; ".join(evidence.finding for evidence in drive.evidence) or "unknown data"
    return BootCandidate(
        name=drive.name,
        serial=drive.serial,
        model=drive.model,
        size_bytes=drive.size,
        holds=None if drive.state is DriveState.BLANK else holds,
        refused=refusal(drive),
        foreign=held,
    )


def refusal(drive: Drive) -> str | None:
    """Return why a drive never becomes the boot drive; None where it may."""
    if drive.state is DriveState.BOOT:
        return "this system runs from it"
    for evidence in drive.evidence:
        if evidence.probe in IN_USE:
            return f"it is in use ({evidence.finding})"
        if evidence.probe in WHOSE:
            return f"it cannot be told from another drive ({evidence.finding})"
    if drive.state is DriveState.OURS:
        return "it carries a Millrace pool"
    if drive.size < SMALLEST:
        return f"it has {size(drive.size)}, and {size(SMALLEST)} are needed"
    if drive.logical_block != SECTOR:
        return f"it has sectors of {drive.logical_block} bytes, and {SECTOR} are needed"
    return None


def chosen(drives: Sequence[BootCandidate], serial: str) -> BootCandidate:
    """Return the drive with this serial number. BadInput: there is none. Refused: it cannot become the boot drive."""
    named = [drive for drive in drives if drive.serial == serial]
    if len(named) != 1:
        count = "no drive" if not named else f"{len(named)} drives"
        raise BadInput(
            f"this server has {count} with the serial number, bay or device name {shown(serial)}: millrace install list"
        )
    if named[0].refused:
        raise Refused(f"drive {serial} is not written: {named[0].refused}")
    return named[0]


def confirm(drive: BootCandidate, again: str, foreign: bool) -> None:
    """Verify that the serial number was repeated, and that data on the drive may be lost.

    BadInput: it was not repeated. Refused: it carries data, and --foreign is not given.
    """
    if again.strip() != drive.serial:
        raise BadInput(
            f"the serial number was repeated as {shown(again)}, not {shown(drive.serial)}: nothing was written"
        )
    if drive.foreign and not foreign:
        raise Refused(
            f"drive {drive.serial} carries data ({drive.holds}); to write it nevertheless: "
            f"{command('millrace install write', drive.serial, options=['--foreign'])}"
        )
