# SPDX-License-Identifier: Apache-2.0
"""After an unclean start: torn rows, then the files in them, then the repair of parity, then the missing members."""

from collections.abc import Callable, Iterator, Sequence

from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import Unclean, UncleanStarts
from millrace.storage.record.model import Pool
from millrace.storage.scrub.scrub_watch import CheckContext
from millrace.storage.unclean import suspects, torn_rows
from millrace.system.errors import Failed
from millrace.system.run import Runner

OTHERS = 10
"""How many other owners a terminal shows."""


def find(pool: Pool, context: CheckContext, report: Callable[[str], None]) -> UncleanStarts | None:
    """Do what is not done yet; return the starts to acknowledge, None if there are none.

    It is repeated after a restart, and for a start that is recorded while it runs. Members are added again as soon as
    the torn rows are recorded, also where the search fails. Refused: the pool is not mounted. Failed: a tool fails.
    """
    while _find(pool, context, report):
        pass
    return unclean.pending()


def _find(pool: Pool, context: CheckContext, report: Callable[[str], None]) -> bool:
    """Return whether another start was recorded meanwhile."""
    held = any(unclean.holds(array.array.name) for array in pool.arrays)
    try:
        stopped = torn_rows.check_all(pool, context)
    except OSError as error:
        # a boot drive that is full or read-only keeps no member away from its array
        unclean.give_up()
        add_members(context.run)
        raise Failed(f"torn rows cannot be recorded: {error.strerror or type(error).__name__}") from error
    if stopped is not None and stopped.by == "service":
        report(f"the parity check is stopped and begins again at the next start: {stopped.reason}")
        return False
    try:
        starts = suspects.search(pool, context.run)
        for line in torn_rows.repair_all(pool, context):
            report(line)
    finally:
        if held:
            add_members(context.run)
    return starts is not None and starts.suspects is None


def add_members(run: Runner) -> None:
    """Have members that were waiting added: those that returned, hot spares, a blank drive in the bay of one."""
    run(["systemctl", "start", "--no-block", "millrace-readd.service", "millrace-replace@boot.service"])


def lines(starts: UncleanStarts, names: Sequence[str]) -> Iterator[str]:
    """Return text for a terminal: the starts, then the names, a line each."""
    for start in starts.starts:
        missing = f" without {', '.join(start.missing)}" if start.missing else ""
        happened = f"last written {start.last_write}, started unclean {start.started}"
        if start.outside:
            left = f"first member left {start.since}{'' if start.dated else ' or earlier'}"
            happened = f"{left}, broke {start.last_write}, started outside Millrace, seen {start.started}"
        yield f"array {start.array} ({start.level}): {happened}{missing}"
        yield f"  {check_in_words(start)}"
    if not starts.starts:
        yield "no array was started unclean while degraded"
        return
    if starts.suspects is None:
        yield "files that may be damaged were not searched for yet: millrace pool unclean --find"
        return
    told = min(starts.suspects.by_parity, len(names))
    if told:
        yield "files in rows whose parity does not match:"
        yield from names[:told]
    if names[told:]:
        outside = any(start.outside for start in starts.starts)
        where = "written since the first member left, or in" if outside else "in"
        yield f"files that are a guess, {where} rows that were written last:"
        yield from names[told:]
    if not names:
        yield "no file is known to be damaged" if starts.suspects.complete else "no file was found; others are possible"


def notes(starts: UncleanStarts) -> list[str]:
    """Return what is not a file, and what is not known, in sentences."""
    seen = starts.suspects
    if seen is None:
        return []
    said = [f"{other} may be damaged" for other in seen.others[:OTHERS]]
    if unsaid := len(seen.others[OTHERS:]) + seen.more_others:
        said.append(f"{unsaid} more owners that are no file with a name: use --json")
    if seen.others or seen.more_others:
        said.append("check the metadata of the file system: millrace pool scrub filesystem")
    more = [f"{seen.count} files may be damaged; {seen.listed} are listed"] if seen.count > seen.listed else []
    return [*said, *seen.notes, *more]


def check_in_words(start: Unclean) -> str:
    """Return what a parity check has told of a start."""
    torn = sum(row.end - row.begin for row in start.torn)
    match start.check:
        case "none" if start.outside:
            return "members may differ in any row; millrace pool scrub start compares them"
        case "none":
            return "no second parity is left, so the rows in doubt are not known"
        case "waiting":
            return "its parity is being checked for torn rows; missing members and hot spares are added after that"
        case "failed":
            return f"its parity does not tell the torn rows: {start.problem}"
        case "found" | "done":
            repaired = "" if start.check == "done" or not torn else "; they are repaired after the search for files"
            rough = " at most" if start.rough else ""
            return f"the parity check found {torn} sectors{rough} of each member in torn rows{repaired}"
