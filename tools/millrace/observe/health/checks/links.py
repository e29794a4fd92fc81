# SPDX-License-Identifier: Apache-2.0
"""Errors of the PCIe links of drives, network cards and switches (AER), with the end that reported them.

A link that runs below its speed or width is a finding of the audit, see `hardware`.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime

from millrace.inventory import error_counters
from millrace.inventory.error_counters import CountedLink
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.drive import counter_rises, hardware_errors
from millrace.system import paths

NAME = "links"

CORRECTED_A_DAY = 1000
"""Corrected errors of one end of a link on one day that are a warning.

PCIe allows one wrong bit in 10^12 (base specification, electrical part): at 32 GT/s ×4 eleven thousand a day. Links
that are sound have none for weeks, those with a bad contact have thousands an hour; each is a repeated transfer.
"""
DAYS = 2
"""Today and yesterday: a link that was mended is not reported for longer."""

_REMEDIES = {
    "drive": "Reseat the drive; if that does not help, check the cable and backplane, then replace the drive.",
    "card": "Reseat the card; if that does not help, check the riser and the slot, then replace the card.",
    "switch": "Check the cable or the riser between the board and the backplane.",
}


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each link with errors; nothing where there are none."""
    links = error_counters.links(paths.ROOT, host.drives)
    counted = hardware_errors.of_links(links)
    # nothing is recorded of counters that never rose
    if not any(counted.values()) and not host.rises.counters:
        return []
    today = datetime.now(UTC).date()
    risen = counter_rises.days(host.rises, counted, counter_rises.boot_id(), today, DAYS)
    return [finding for one in links for finding in _link(host, one, risen)]


def _link(host: Host, link: CountedLink, risen: counter_rises.RisenDays) -> list[HealthFinding]:
    lost = _ends(link, risen, hardware_errors.UNCORRECTED, 1)
    corrected = _ends(link, risen, hardware_errors.CORRECTED, CORRECTED_A_DAY)
    findings = []
    for kind, ends, word in (("uncorrected", lost, "not corrected"), ("corrected", corrected, "corrected")):
        if ends:
            count, since = sum(sum(days.values()) for days in ends.values()), min(min(days) for days in ends.values())
            at = f", reported by {', '.join(ends)}" if len(ends) < len(link.ends) else ""
            errors = f"{count} error{'s' * (count != 1)} that {'was' if count == 1 else 'were'} {word}"
            sentence = f"{_title(host, link)}: its PCIe link had {errors} since {since.isoformat()}{at}."
            findings.append(_finding(link, kind, sentence))
    return findings


def _ends(link: CountedLink, risen: counter_rises.RisenDays, kind: str, least: int) -> dict[str, Mapping[date, int]]:
    """The ends with so many errors on a day, in words."""
    found: dict[str, Mapping[date, int]] = {}
    for end in link.ends:
        days = risen.get(hardware_errors.link_key(end.key, kind), {})
        if max(days.values(), default=0) >= least:
            name = "the drive" if end.key == link.subject and link.kind == "drive" else end.key
            found[name] = days
    return found


def _title(host: Host, link: CountedLink) -> str:
    if link.kind == "drive":
        place = host.place(link.subject)
        return f"{place[0].upper()}{place[1:]}"
    return f"Network card of {link.subject}" if link.kind == "card" else f"PCIe switch {link.subject}"


def _finding(link: CountedLink, kind: str, sentence: str) -> HealthFinding:
    todo = _REMEDIES[link.kind]
    return HealthFinding(check=NAME, kind=kind, subject=link.subject, level=Level.WARN, sentence=sentence, todo=todo)
