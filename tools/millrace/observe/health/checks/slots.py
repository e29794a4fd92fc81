# SPDX-License-Identifier: Apache-2.0
"""Slots in which a drive that is put in while the server runs would take the addresses of others."""

from millrace.inventory.hotplug import without_addresses
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import paths
from millrace.system.errors import MillraceError

NAME = "slots"

ONLY_OFF = "Put a drive in there only while the server is off."


def check(host: Host) -> list[HealthFinding]:
    """Return one finding of all such slots; a warning where hot plug is on there, or a new drive is to be expected."""
    slots = without_addresses(paths.ROOT)
    if not slots:
        return []
    sentence = f"The firmware left no addresses for a new drive: {', '.join(slot.name for slot in slots)}."
    if any(slot.is_watched for slot in slots):
        sentence += " A drive that is put in there now takes the addresses of drives in use, and the pool fails."
        return [_finding(Level.WARN, sentence, f"{ONLY_OFF} Switch hot plug off there: millrace tune")]
    sentence += " Hot plug is off there: a drive that is put in is found after a restart."
    if not _is_incomplete(host):
        return [_finding(Level.OK, sentence)]
    todo = f"{ONLY_OFF} The setup of the firmware may have a larger reserve for PCIe hot plug."
    return [_finding(Level.WARN, sentence, todo)]


def _finding(level: Level, sentence: str, todo: str | None = None) -> HealthFinding:
    return HealthFinding(check=NAME, level=level, sentence=sentence, todo=todo)


def _is_incomplete(host: Host) -> bool:
    """Whether a member of the pool is missing."""
    try:
        arrays = host.pool.arrays if host.pool else []
    except MillraceError:
        return True
    members = {member.serial for array in arrays if not array.array.over_arrays for member in array.members}
    return not members <= {drive.serial for drive in host.drives}
