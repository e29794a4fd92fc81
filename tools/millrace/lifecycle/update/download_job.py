# SPDX-License-Identifier: Apache-2.0
"""The download of a release as a job: its order, its unit, and what is left of one that was cut.

Its unit has no network. A process without rights downloads each file, and this one verifies it.
"""

import time
from collections.abc import Callable
from contextlib import suppress

from millrace.lifecycle.update import stage, update_job
from millrace.lifecycle.update.model import DownloadOrder
from millrace.lifecycle.update.update_job import PROGRESS
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import Document, Glance, Job, by_stopping
from millrace.system.run import Runner

ORDER = Document(job_paths.update_download_order_file, DownloadOrder)


def _glance() -> Glance | None:
    order, now = ORDER.get(), update_job.progress()
    if order is None or now is None:
        return None
    share = min(now.done / now.total, 1.0) if now.done is not None and now.total else None
    return Glance(f"version {order.version}", share)


JOB = Job(
    kind=kinds.UPDATE_DOWNLOAD,
    busy="another update is being downloaded: millrace job show update-download",
    stop=by_stopping(kinds.UPDATE_DOWNLOAD),
    glance=_glance,
    files=(ORDER,),
)


def download(version: str, by: str, run: Runner, pause: Callable[[float], None] = time.sleep) -> None:
    """Let millrace-update-download.service bring the files of the described release, and wait for it.

    Refused: another job keeps it from that. Failed: they are not downloaded, and why.
    """
    with JOB.starting(run, f"version {version}", by):
        ORDER.write(DownloadOrder(version=version, by=by))
    for _ in JOB.follow(PROGRESS.get, run, pause):
        # `update status` and `job follow` show it
        pass
    last = JOB.last(run)
    if last is not None and last.state != "done":
        raise Failed(f"version {version} was not downloaded: {last.reason or JOB.last_line(run)}")


def execute(run: Runner) -> None:
    """Bring the files of the release that was ordered, and verify them; what the unit runs.

    BadInput: a file or the description is wrong, or another version is described by now. Refused: no source is set, or
    this server would not start with the kernel image. Failed: a download fails. Nothing stays staged then.
    """
    with JOB.execution(), update_job.JOB.alone():
        order = ORDER.read()
        try:
            described = stage.described(run)
            if described.version != order.version:
                raise BadInput(f"version {described.version} is staged, {order.version} was confirmed; apply it again")
            with stage.origin(None, run) as bring:
                stage.bring_files(described, bring, run)
        except BaseException:
            stage.clear()
            raise
        finally:
            ORDER.remove()
            PROGRESS.remove()


def clean_up(run: Runner) -> None:
    """Record a download that was killed, and remove what it left; what the unit runs at its end."""
    was_cut = ORDER.get() is not None
    JOB.clean_up()
    # the file of a download that was cancelled is of no use
    run(["systemctl", "stop", stage.FETCHER])
    # another verb has the staged files by now
    with suppress(Refused):
        if was_cut:
            with update_job.JOB.alone():
                stage.clear()
