# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit that copies from another server, which does not end with the terminal that started it."""

import uuid
from collections.abc import Iterator

from millrace.serve.clone import copy_run
from millrace.serve.clone.copy_model import CopyLine, CopyOrder, CopyProgress, CopyReport
from millrace.serve.share.server import ShareServer
from millrace.system.errors import Failed
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import Document, Glance, Job, by_stopping
from millrace.system.users import invoking_user, only_root

ORDER = Document(job_paths.copy_order_file, CopyOrder)
PROGRESS = Document(job_paths.copy_progress_file, CopyProgress)
RESULT = Document(job_paths.copy_result_file, CopyReport)


def _glance() -> Glance | None:
    order, now = ORDER.get(), PROGRESS.get()
    if order is None or now is None:
        return None
    share = now.bytes / now.total_bytes if now.total_bytes else None
    return Glance(_object(order), share, now.seconds_left, now.rate)


JOB = Job(
    kind=kinds.COPY,
    busy="another copy is under way: millrace job show copy",
    stop=by_stopping(kinds.COPY),
    glance=_glance,
    files=(ORDER, PROGRESS),
)


def start(source: str, target: str, server: ShareServer) -> CopyOrder:
    """Start the unit. Refused: another job, or source or target, keeps it from that. Failed: it does not start.

    BadInput: source or target is no place.
    """
    export, place = copy_run.prepare(source, target, server)
    order = CopyOrder(id=uuid.uuid4().hex, source=str(export), target=str(place), by=invoking_user())
    with JOB.starting(server.run, _object(order), order.by):
        RESULT.remove()
        ORDER.write(order)
    return order


def follow(order: CopyOrder, server: ShareServer) -> Iterator[CopyLine]:
    """Yield the progress until the unit has ended, then what was done. Failed: it did not end well, and why."""
    yield from JOB.follow(PROGRESS.get, server.run, server.pause)
    ended = RESULT.get()
    if ended is None or ended.id != order.id:
        last = JOB.last(server.run)
        reason = last.reason if last is not None and last.reason else JOB.last_line(server.run)
        raise Failed(f"{order.source} is not copied completely: {reason}")
    yield ended


def execute(server: ShareServer) -> CopyReport:
    """Carry out the order; what the unit runs.

    Refused: the policy or the share does not allow it any more. Failed: why the copy is not complete.
    """
    with JOB.execution():
        order = ORDER.read()
        export, place = copy_run.prepare(order.source, order.target, server)
        report = None
        for line in copy_run.copy(export, place, order.id, server):
            if isinstance(line, CopyProgress):
                PROGRESS.write(line)
            else:
                report = line
        # its last line is the report
        assert report is not None
        RESULT.write(report)
        if sentence := incomplete(report):
            raise Failed(sentence)
        return report


def incomplete(report: CopyReport) -> str | None:
    """Return why a copy is not complete, with the remedy; None where it is."""
    words = []
    if report.unreadable:
        words.append(
            f"{report.unreadable} files or directories are not copied, because the source server treats root of this "
            "server as nobody (root_squash): export the share to this server with squash `none` for the copy, or make "
            "them readable for others"
        )
    if report.changed:
        words.append(f"{report.changed} files changed while they were read")
    return f"{'; '.join(words)}. Then run the same command again." if words else None


def clean_up() -> None:
    """Record a copy that was killed; what the unit runs at its end."""
    only_root()
    JOB.clean_up()


def _object(order: CopyOrder) -> str:
    return f"{order.source} to {order.target}"
