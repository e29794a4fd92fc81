# SPDX-License-Identifier: Apache-2.0
"""From a confirmed revival to the unit that carries it out, which does not end with the terminal that ordered it.

The unit also revives by itself, without an order, where the drives are back and it is certain which of them left last.
"""

from collections.abc import Mapping, Sequence

from millrace.storage.array.machine import Report, System
from millrace.storage.rescue import revive
from millrace.storage.rescue.revive_model import Revival, RevivalOrder, RevivalProgress
from millrace.system.errors import Failed
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import Document, Glance, Job
from millrace.system.users import only_root

WHAT = "arrays that do not run"
ORDER = Document(job_paths.revive_order_file, RevivalOrder)
PROGRESS = Document(job_paths.revive_progress_file, RevivalProgress)
RESULT = Document(job_paths.revive_result_file, RevivalProgress)


def _glance() -> Glance | None:
    now = PROGRESS.get()
    return Glance(f"{WHAT}: {now.lines[-1]}" if now.lines else WHAT) if now else None


JOB = Job(
    kind=kinds.REVIVE,
    busy="the arrays of the pool are being started again; wait for its end: millrace job follow revive",
    stop="a revival is not cancelled: the pool would be left unmounted, with a part of its arrays; wait for its end",
    glance=_glance,
    files=(ORDER, PROGRESS),
)


def start(system: System, wanted: Sequence[str], digest: str) -> None:
    """Start the unit with the revival of the plan `digest`, as an administrator confirmed it.

    Refused: another job keeps it from that. Failed: the unit does not start.
    """
    with JOB.starting(system.attempt, WHAT):
        RESULT.remove()
        ORDER.write(RevivalOrder(wanted=list(wanted), digest=digest), 0o600)
        PROGRESS.write(RevivalProgress(lines=[]))


def follow(system: System, report: Report) -> Revival:
    """Report each line until the unit has ended; return what it did. Failed: it did not end well, and why."""
    seen = 0
    for now in JOB.follow(PROGRESS.get, system.attempt, system.wait):
        _tell(now.lines[seen:], report)
        seen = len(now.lines)
    done = RESULT.get()
    if done is not None:
        _tell(done.lines[seen:], report)
    if done is None or done.revival is None:
        last = JOB.last(system.attempt)
        raise Failed(last.reason if last is not None and last.reason else JOB.last_line(system.attempt))
    return done.revival


def execute(system: System, bays: Mapping[str, str], report: Report) -> Revival:
    """Carry out the order, or without one what is certain; what the unit runs.

    Refused, BadInput, Failed: as `revive.revive` and `revive.revive_by_itself`.
    """
    order, lines = ORDER.get(), list[str]()

    def told(line: str) -> None:
        report(line)
        lines.append(line)
        PROGRESS.write(RevivalProgress(lines=lines))

    with JOB.execution(WHAT):
        done = None
        try:
            PROGRESS.write(RevivalProgress(lines=lines))
            if order is None:
                done = revive.revive_by_itself(system, bays, told)
            else:
                done = revive.revive(system, order.wanted, bays, order.digest, told)
        finally:
            # a start that systemd repeats has no order
            ORDER.remove()
            RESULT.write(RevivalProgress(lines=lines, revival=done), 0o600)
    return done


def clean_up() -> None:
    """Record a revival that was killed; what the unit runs at its end."""
    only_root()
    JOB.clean_up()


def _tell(lines: Sequence[str], report: Report) -> None:
    for line in lines:
        report(line)
