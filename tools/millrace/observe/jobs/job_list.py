# SPDX-License-Identifier: Apache-2.0
"""`millrace job list`: every kind of long work, what it does now, and how the last one ended."""

from typing import Literal

from millrace.observe.jobs.registry import job
from millrace.storage.array.live_model import Action
from millrace.system.documents import Contract
from millrace.system.errors import Failed, MillraceError
from millrace.system.jobs import record
from millrace.system.jobs.job import Glance, Job
from millrace.system.jobs.kinds import ALL, AfterBoot, JobKind, JobName
from millrace.system.jobs.record import JobRecord, JobState
from millrace.system.run import Runner
from millrace.system.units import UnitState, states


class CurrentJob(Contract):
    """A job that runs or waits: a kind of long work, or what md does with an array.

    `what` is its object, `progress` is from 0 to 1, `seconds_left` the time that it still takes, `bytes_per_second` the
    rate on each drive, `by` the user who ordered it; null is not known. `after_boot` is what becomes of it when the
    server restarts. `cancellable` says whether it can be cancelled now, `why` why it never can.
    """

    name: JobName | Action
    title: str
    what: str
    state: JobState
    progress: float | None
    seconds_left: float | None
    bytes_per_second: int | None
    by: str | None
    after_boot: AfterBoot
    cancellable: bool
    why: str | None


class JobStatus(CurrentJob):
    """The last job of a kind, or the one that runs; `reason` is why it did not end well. Times are ISO 8601 in UTC."""

    schema_version: Literal[1] = 1
    name: JobName
    unit: str
    began: str | None
    ended: str | None
    reason: str | None


class JobList(Contract):
    """The last job of each kind of which there was one; those that run or wait come first."""

    schema_version: Literal[1] = 1
    jobs: list[JobStatus]


def listed(run: Runner) -> JobList:
    """Return the last job of each kind; needs no privileges. Failed: systemd does not report their units."""
    units = states([kind.unit for kind in ALL], run)
    found = [one for kind in ALL if (one := _listed(kind, kind.works(units[kind.unit]), run)) is not None]
    return JobList(jobs=sorted(found, key=lambda one: one.state not in ("running", "waiting")))


def current(run: Runner) -> list[JobStatus]:
    """Return the jobs that run or wait: systemd is asked once, and not at all where no file speaks of a job."""
    kinds = [kind for kind in ALL if _may_run(kind)]
    try:
        units = states([kind.unit for kind in kinds], run)
    except Failed:
        units = {}
    idle = UnitState("inactive", queued=False)
    looks = (_status(job(one.name), record.load(one.name), one.works(units.get(one.unit, idle))) for one in kinds)
    return [one for one in looks if one is not None and one.state in ("running", "waiting")]


def status(found: Job, run: Runner) -> JobStatus | None:
    """Return the last job of a kind, or the one that runs; None where there was none."""
    last = found.last(run)
    # it may have ended between two looks: the first one counts
    return _status(found, last, found.runs(run) or (last is not None and last.state == "running"))


def _listed(kind: JobKind, works: bool, run: Runner) -> JobStatus | None:
    last = record.load(kind.name)
    if last is None and not works and not _may_run(kind):
        return None
    found = job(kind.name)
    # one whose unit does not work and whose record is open has ended meanwhile, waits, or was killed
    is_unclear = not works and last is not None and last.state == "running"
    return status(found, run) if is_unclear else _status(found, last, works)


def _status(known_job: Job, last: JobRecord | None, works: bool) -> JobStatus | None:
    runs = works and known_job.kind.has_work()
    is_open = _is_open(known_job)
    if not runs and not is_open and (last is None or last.state == "running"):
        # Job.last reports an interrupted job
        return None
    glance = _glance(known_job) if runs or is_open else None
    state: JobState = "running" if runs else last.state if last is not None and last.state != "running" else "waiting"
    ended = last if last is not None and state not in ("running", "waiting") else None
    seen = glance or Glance(last.what if last is not None else known_job.kind.title)
    return JobStatus(
        name=known_job.kind.name,
        title=known_job.kind.title,
        unit=known_job.unit,
        what=seen.what,
        state=state,
        progress=seen.progress,
        seconds_left=seen.seconds_left,
        bytes_per_second=seen.bytes_per_second,
        by=last.by if last else None,
        began=last.began if last else None,
        ended=ended.ended if ended else None,
        reason=ended.reason if ended else None,
        after_boot=known_job.kind.after_boot,
        cancellable=runs and not isinstance(known_job.stop, str),
        why=known_job.stop if isinstance(known_job.stop, str) else None,
    )


def _may_run(kind: JobKind) -> bool:
    try:
        return kind.may_run()
    except OSError:
        # its files are in a directory that only root reads: systemd is asked
        return True


def _is_open(found: Job) -> bool:
    try:
        return found.is_open()
    except OSError:
        return False


def _glance(found: Job) -> Glance | None:
    try:
        return found.glance()
    except (MillraceError, OSError):
        # one file that cannot be read hides no job
        return None
