# SPDX-License-Identifier: Apache-2.0
"""Does a member come and go, or did it come back and is not in its array?"""

from datetime import UTC, datetime

from millrace.health.host import Host
from millrace.health.model import Finding, Level
from millrace.provision import returned
from millrace.provision.returned import MOST, Return

NAME = "returns"


def check(host: Host) -> list[Finding]:
    """Return one finding for each drive whose last return within a day left it out of an array."""
    latest = {(one.serial, one.array): one for one in returned.recent(datetime.now(UTC))}
    return [_out(host, one) for one in latest.values() if one.outcome != "re-added"]


def _out(host: Host, one: Return) -> Finding:
    place = host.place(one.serial)
    why = (
        f"has returned to array {one.array} more than {MOST} times in 24 hours and is left out"
        if one.outcome == "left-out"
        else f"has returned to array {one.array} and could not be re-added"
    )
    return Finding(
        check=NAME,
        kind=one.array,
        subject=one.serial,
        level=Level.WARN,
        sentence=f"{place[0].upper()}{place[1:]} {why}.",
        todo=host.replace(one.serial),
    )
