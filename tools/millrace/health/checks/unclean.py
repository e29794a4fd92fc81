# SPDX-License-Identifier: Apache-2.0
"""Was an array started although a power cut had left it unclean while it was degraded?"""

from millrace.health.host import Host
from millrace.health.model import Finding, Level
from millrace.provision import unclean
from millrace.provision.unclean import Unclean, UncleanStarts
from millrace.system.text import moment

NAME = "unclean"


def check(_: Host) -> list[Finding]:
    """Return one finding for each start that is not acknowledged."""
    found = unclean.pending()
    return [_start(one, found) for one in found.starts] if found else []


def _start(one: Unclean, found: UncleanStarts) -> Finding:
    missing = f" without {', '.join(one.missing)}" if one.missing else ""
    return Finding(
        check=NAME,
        kind=one.started,
        subject=one.array,
        level=Level.WARN,
        sentence=f"Array {one.array} ({one.level}) was started unclean while degraded at {moment(one.started)}"
        f"{missing}: files written in the last minutes before the power cut may be damaged; {_files(found)}.",
        todo="Check these files (millrace pool unclean), then: millrace pool acknowledge",
    )


def _files(found: UncleanStarts) -> str:
    if found.suspects is None:
        return "they are still being searched for"
    least = "" if found.suspects.complete else "at least "
    return f"{least}{found.suspects.count} {'file was' if found.suspects.count == 1 else 'files were'} written then"
