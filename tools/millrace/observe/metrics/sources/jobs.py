# SPDX-License-Identifier: Apache-2.0
"""Jobs: which kinds run, how far they are, and how the last one of each kind ended."""

from millrace.observe.jobs.job_list import JobStatus, listed
from millrace.observe.metrics.family import Family, Labels, gauge
from millrace.system import ages
from millrace.system.jobs.kinds import ALL
from millrace.system.jobs.record import JobState
from millrace.system.run import Runner, quickly

# One that an administrator cancelled is no failure, and no success.
SUCCESS: dict[JobState, bool] = {"done": True, "failed": False, "interrupted": False}


def families(run: Runner = quickly) -> list[Family]:
    """Return the jobs of a server by their kind. Failed: systemd does not report their units."""
    jobs = {job.name: job for job in listed(run).jobs}
    running = {kind.name: kind.name in jobs and jobs[kind.name].state == "running" for kind in ALL}
    # not "job", which is Prometheus' own label
    last: list[tuple[JobStatus, Labels]] = [(job, {"kind": name}) for name, job in jobs.items()]
    return [
        gauge(
            "job_running", "Whether a job of a kind runs.", *((runs, {"kind": kind}) for kind, runs in running.items())
        ),
        gauge("job_progress_ratio", "Progress of a job that runs or waits.", *((job.progress, of) for job, of in last)),
        gauge(
            "job_remaining_seconds",
            "Time that a running job still takes.",
            *((job.seconds_left, of) for job, of in last),
        ),
        gauge(
            "job_start_timestamp_seconds",
            "Time at which the last job of a kind began.",
            *((_seconds(job.began), of) for job, of in last),
        ),
        gauge(
            "job_end_timestamp_seconds",
            "Time at which the last job of a kind ended; none while it runs.",
            *((_seconds(job.ended), of) for job, of in last),
        ),
        gauge(
            "job_success",
            "Whether the last job of a kind ended well; none where it was cancelled.",
            *((SUCCESS.get(job.state), of) for job, of in last),
        ),
    ]


def _seconds(at: str | None) -> float | None:
    return None if at is None else ages.when(at).timestamp()
