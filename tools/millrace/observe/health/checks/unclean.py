# SPDX-License-Identifier: Apache-2.0
"""Was an array started although a power cut had left it unclean while it was degraded?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import Unclean, UncleanStarts
from millrace.system.text import moment

NAME = "unclean"


def check(_: Host) -> list[HealthFinding]:
    """Return one finding for each start that is not acknowledged."""
    found = unclean.pending()
    return [_start(one, found) for one in found.starts] if found else []


def _start(one: Unclean, found: UncleanStarts) -> HealthFinding:
    if one.outside:
        return _outside(one, found)
    missing = f" without {', '.join(one.missing)}" if one.missing else ""
    happened = f"was started unclean while degraded at {moment(one.started)}{missing}: {_known(one, found)}"
    return _finding(one, happened, _todo(one, found))


def _outside(one: Unclean, found: UncleanStarts) -> HealthFinding:
    seen, since = found.suspects, one.since or one.last_write
    listed = "the pool is searched for them once it is mounted" if seen is None else f"{_files(seen.count)} found"
    return _finding(
        one,
        f"broke at {moment(one.last_write)} and was started outside Millrace: its members may differ, so files written "
        f"since {moment(since)}{'' if one.dated else ' or earlier'} may be damaged ({listed}), and others are possible",
        "Compare the listed files with a backup (millrace pool unclean): a check of the array does not find old data. "
        "Check the file system as well: millrace pool scrub filesystem. Then: millrace pool acknowledge",
    )


def _finding(one: Unclean, happened: str, todo: str) -> HealthFinding:
    return HealthFinding(
        check=NAME,
        kind=one.started,
        subject=one.array,
        level=Level.WARN,
        sentence=f"Array {one.array} ({one.level}) {happened}.",
        todo=todo,
    )


def _known(start: Unclean, starts: UncleanStarts) -> str:
    if start.check == "waiting":
        return "its parity is being checked for damaged files, and missing members are added after that"
    if starts.suspects is None:
        return f"{unclean.IN_DOUBT}; they are being searched for"
    seen = starts.suspects
    least = "" if seen.complete else "at least "
    if start.is_told_by_parity:
        if not start.torn:
            return "its parity check found no damage"
        others = ", and metadata of the file system" if seen.others or seen.more_others else ""
        return f"its parity does not match in {least}{_files(seen.by_parity)}{others}, which may be damaged"
    guess = seen.count - seen.by_parity
    return (
        f"{unclean.IN_DOUBT}; which rows is not known, {_files(guess)} {'is' if guess == 1 else 'are'} listed as a "
        f"guess, and others are possible"
    )


def _files(count: int) -> str:
    return f"{count} file{'s' * (count != 1)}"


def _todo(one: Unclean, found: UncleanStarts) -> str:
    if one.is_told_by_parity and not one.torn and found.suspects is not None:
        return "millrace pool acknowledge"
    also = "" if one.is_told_by_parity else " Check the file system as well: millrace pool scrub filesystem."
    return f"Compare the listed files with a backup (millrace pool unclean).{also} Then: millrace pool acknowledge"
