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
    full = _full(host)
    return [_finding(host, unit, again, full) for unit, again in host.failed_units.items()]


def _full(host: Host) -> str | None:
    """The remedy of a boot drive that is full, one reason for many failures; None where it is not, or not known."""
    try:
        return next((finding.todo for finding in root.check(host) if finding.level is Level.FAIL), None)
    except (OSError, MillraceError):
        return None


def _finding(host: Host, unit: str, again: bool, full: str | None) -> HealthFinding:
    why = _why(host, unit)
    sentence = f"{unit} has failed{f': {why}' if why else ''}."
    todo = remedy(unit)
    if again:
        sentence += " It is tried again by itself."
        todo = f"Mend the reason, and wait a minute; otherwise: {todo}"
    if full:
        todo = f"Make room on the boot drive first: {full}. {todo}"
    return HealthFinding(check=NAME, subject=unit, level=Level.FAIL, sentence=sentence, todo=todo)


def _why(host: Host, unit: str) -> str:
    """The last sentence of the program; empty where it is no unit of ours, or the journal does not have it."""
    if not unit.startswith("millrace-"):
        return ""
    # what systemd says of the unit is that it failed
    last = ["journalctl", "--boot", f"--unit={unit}", "--identifier=millrace", "--lines=1", "--output=cat"]
    return one_line(host.query(last).out.strip()).removeprefix("millrace: ").rstrip(".")
