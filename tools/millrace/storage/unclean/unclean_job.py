# SPDX-License-Identifier: Apache-2.0
"""The search after an unclean start as a job: the record of the starts is its journal; it goes on after a restart."""

import os
import time
from collections.abc import Callable

from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import UncleanStarts
from millrace.storage.record.model import Pool
from millrace.storage.scrub.scrub_watch import CheckContext
from millrace.storage.unclean import suspects, torn_rows, unclean_find
from millrace.system.errors import BadInput, Failed
from millrace.system.jobs import kinds, record
from millrace.system.jobs.job import Glance, Job, Pause
from millrace.system.run import Runner
from millrace.system.users import only_root


def _glance() -> Glance | None:
    starts = unclean.pending()
    if starts is None:
        return None
    checked = [start.array for start in starts.starts if start.check == "waiting"]
    if checked:
        return Glance(f"{_arrays(checked)}: parity check for torn rows")
    return Glance(f"{_arrays([start.array for start in starts.starts])}: files that may be damaged")


def _arrays(names: list[str]) -> str:
    known = list(dict.fromkeys(names))
    return f"array{'s' * (len(known) > 1)} {', '.join(known)}"


def _object() -> str:
    try:
        starts = unclean.pending()
    except BadInput:
        starts = None
    return _arrays([start.array for start in starts.starts]) if starts else kinds.UNCLEAN.title


JOB = Job(
    kind=kinds.UNCLEAN,
    busy="the search is running already; see millrace pool unclean",
    stop=(
        "a search after an unclean start is not cancelled: missing members are added after it; to give up its list and "
        "add them now: millrace pool acknowledge"
    ),
    glance=_glance,
)


def begin(pool: Pool, run: Runner) -> None:
    """Have the search started; where the pool is not mounted, millrace-storage.target starts it with the mount."""
    if os.path.ismount(suspects.top(pool)):
        JOB.start_again(run)


def finish(run: Runner, pause: Pause = time.sleep) -> None:
    """Let the unit do what is not done yet, and wait for its end; nothing happens where all is done.

    Refused: another job keeps it from that. Failed: it did not end well, and why.
    """
    if not JOB.is_open():
        return
    if not JOB.runs(run):
        with JOB.starting(run, _object()):
            pass
    for _ in JOB.follow(JOB.glance, run, pause):
        # `job follow` shows it
        pass
    last = JOB.last(run)
    if last is not None and last.state not in ("done", "cancelled"):
        raise Failed(f"the search after an unclean start has not ended well: {last.reason or JOB.last_line(run)}")


def execute(pool: Pool, context: CheckContext, report: Callable[[str], None]) -> UncleanStarts | None:
    """Do what is not done yet; what the unit runs. Return the starts to acknowledge, None if there are none.

    Refused: the pool is not mounted. Failed: a tool fails. SystemExit: systemd stops the unit; the next boot goes on.
    """
    if not JOB.is_open():
        return unclean.pending()
    said = list[str]()

    def told(line: str) -> None:
        said.append(line)
        report(line)

    with JOB.execution(_object()) as began:
        starts = unclean_find.find(pool, context, told)
        if starts is None:
            record.end(began, "cancelled", torn_rows.ACKNOWLEDGED)
        elif any(start.check == "waiting" for start in starts.starts):
            # its record stays open, and so does that of the starts
            raise SystemExit(0)
        elif JOB.is_open():
            record.end(began, "failed", "; ".join(said) or None)
    return starts


def clean_up() -> None:
    """Record a search that was killed and is not begun again; what the unit runs at its end."""
    only_root()
    JOB.clean_up()
