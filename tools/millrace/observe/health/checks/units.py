# SPDX-License-Identifier: Apache-2.0
"""Did any unit fail, why, and what is to be done about it?"""

from millrace.observe.health.checks import root
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.observe.health.unit_remedies import remedy
from millrace.system.errors import MillraceError
from millrace.system.text import one_line

NAME = "units"


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each failed unit, also for one that is tried again by itself."""
    if not host.failed_units:
        return [HealthFinding(check=NAME, level=Level.OK, sentence="No unit has failed.")]
    first = _first(host)
    return [_finding(host, unit, again, first) for unit, again in host.failed_units.items()]


def _first(host: Host) -> str:
    """What to do first about a boot drive that is full or read-only, one reason for many failures; else empty."""
    try:
        finding = next((finding for finding in root.check(host) if finding.level is Level.FAIL), None)
    except (OSError, MillraceError):
        return ""
    if finding is None:
        return ""
    what = "Make the boot drive writable" if finding.kind == root.READ_ONLY else "Make room on the boot drive"
    return f"{what} first: {finding.todo}. "


def _finding(host: Host, unit: str, again: bool, first: str) -> HealthFinding:
    why = _why(host, unit)
    sentence = f"{unit} has failed{f': {why}' if why else ''}."
    todo = remedy(unit)
    if again:
        sentence += " It is tried again by itself."
        todo = f"Mend the reason, and wait a minute; otherwise: {todo}"
    return HealthFinding(check=NAME, subject=unit, level=Level.FAIL, sentence=sentence, todo=first + todo)


def _why(host: Host, unit: str) -> str:
    """The last sentence of the program; empty where it is no unit of ours, or the journal does not have it."""
    if not unit.startswith("millrace-"):
        return ""
    # what systemd says of the unit is that it failed
    last = ["journalctl", "--boot", f"--unit={unit}", "--identifier=millrace", "--lines=1", "--output=cat"]
    return one_line(host.query(last).out.strip()).removeprefix("millrace: ").rstrip(".")
