# SPDX-License-Identifier: Apache-2.0
"""A server with jobs: systemd says which units work, the files of the jobs are real."""

from pathlib import Path

from millrace.storage.record.erasure import EraseOrder, EraseProgress
from millrace.storage.record.scrub_record import Round, ScrubRecord, ScrubStop
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.files import write_text
from millrace.system.jobs import job_paths, record
from millrace.system.jobs.kinds import BY_NAME, JobName
from tests.fakes.jobs import JobManager

SERIAL = "S6XYZ123"
AT = "2026-11-20T12:00:00+00:00"


def booted(root: Path) -> JobManager:
    """A server below `root` without a job; the fake is its systemd."""
    write_text(root / "proc/sys/kernel/random/boot_id", "5f0e\n")
    return JobManager("millrace-none.service")


def begin(name: JobName, what: str, systemd: JobManager) -> None:
    """The unit of a kind works, and its record is open."""
    record.begin(name, what, "admin")
    systemd.others[BY_NAME[name].unit] = "activating"


def erases(systemd: JobManager) -> None:
    """A drive is being erased."""
    begin("erase", f"drive {SERIAL}", systemd)
    write_model(job_paths.erase_order_file(), EraseOrder(id="1", serial=SERIAL, wwid="", attached="7", foreign=False))
    how_far(25)


def how_far(percent: int) -> None:
    """The erasure writes how far it is."""
    now = EraseProgress(
        serial=SERIAL, what="overwriting", done=percent, total=100, seconds_left=600, bytes_per_second=205_000_000
    )
    write_model(job_paths.erase_progress_file(), now)


def checks_later() -> None:
    """A round of checks waits for its window."""
    stop = ScrubStop.model_validate({"at": AT, "by": "window", "reason": "the window has ended"})
    write_model(paths.scrub_file(), ScrubRecord(round=Round(started=AT, by="policy"), stopped=stop))
