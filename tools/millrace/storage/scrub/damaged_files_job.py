# SPDX-License-Identifier: Apache-2.0
"""From the verb, and from the end of a check, to the unit that searches for damaged files."""

import time
from contextlib import suppress

from millrace.storage.record.model import Pool
from millrace.storage.scrub import damaged_files
from millrace.storage.scrub.damaged_files import DamagedFiles
from millrace.system.errors import Failed, Refused
from millrace.system.files import write_text
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import SERVER, Document, Flag, Glance, Job, Pause, by_stopping
from millrace.system.run import Runner
from millrace.system.users import only_root

WHAT = "files in damaged areas"
ORDER = Flag(job_paths.damaged_files_order_file)
RESULT = Document(job_paths.damaged_files_result_file, DamagedFiles)

JOB = Job(
    kind=kinds.DAMAGED_FILES,
    busy="damaged files are being searched for: millrace job follow damaged-files",
    stop=by_stopping(kinds.DAMAGED_FILES),
    glance=lambda: Glance(WHAT),
    files=(ORDER,),
)


def start(run: Runner, by: str = "") -> None:
    """Start the unit; `by` is who orders it (default: the invoking user).

    Refused: another job keeps it from that. Failed: the unit does not start.
    """
    with JOB.starting(run, WHAT, by):
        RESULT.remove()
        write_text(ORDER.path(), "")


def start_after_check(pool: Pool, run: Runner) -> None:
    """Start the unit where a check has found places whose files are not known; the check may not open them itself.

    It is due again at the next look for a check where another job keeps it from that. Failed: as `start`.
    """
    if damaged_files.is_due(pool):
        with suppress(Refused):
            start(run, SERVER)


def search(pool: Pool, run: Runner, pause: Pause = time.sleep) -> DamagedFiles:
    """Let the unit search, or wait for the search that runs; return what it found.

    Refused: the pool is not mounted, or as `start`. Failed: the search did not end well, and why.
    """
    damaged_files.mounted_at(pool)
    if not JOB.runs(run):
        start(run)
    for _ in JOB.follow(JOB.glance, run, pause):
        # `job follow` shows it
        pass
    result = RESULT.get()
    if result is None:
        last = JOB.last(run)
        reason = last.reason if last is not None and last.reason else JOB.last_line(run)
        raise Failed(f"the files in damaged areas are not known: {reason}")
    return result


def execute(pool: Pool, run: Runner) -> DamagedFiles:
    """Search, and keep the result for the verb; what the unit runs. Refused, Failed: as `damaged_files.search`."""
    with JOB.execution(WHAT):
        found = damaged_files.search(pool, run)
        # names of files that only their owners may see
        RESULT.write(found, 0o600)
    return found


def clean_up() -> None:
    """Record a search that was killed; what the unit runs at its end."""
    only_root()
    JOB.clean_up()
