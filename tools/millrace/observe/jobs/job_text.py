# SPDX-License-Identifier: Apache-2.0
"""Jobs as text for a terminal."""

from collections.abc import Iterable, Iterator

import click

from millrace.observe.jobs.job_list import JobList, JobStatus
from millrace.system import printing
from millrace.system.command import command
from millrace.system.text import duration, moment, pace, printable

HEAD = ("Job", "State", "Progress", "Left", "Ended", "What")


def table(found: JobList) -> Iterator[str]:
    """Return a line for each job under a line of headers."""
    if not found.jobs:
        yield "No job has run yet."
        return
    yield from printing.table(HEAD, map(_cells, found.jobs), right=("Progress",))


def _cells(one: JobStatus) -> tuple[str | None, ...]:
    reason = f": {one.reason}" if one.reason else ""
    return (
        one.name,
        one.state,
        None if one.progress is None else _percent(one.progress),
        None if one.seconds_left is None else duration(one.seconds_left),
        moment(one.ended) if one.ended else None,
        f"{one.what}{reason}",
    )


def fields(job: JobStatus) -> Iterator[str]:
    """Return a job, a line for each of its properties."""
    lives = job.state in ("running", "waiting")
    values = {
        "Job": f"{job.name} ({job.title})",
        "What": job.what,
        "State": job.state,
        "Reason": job.reason or "",
        "Progress": ""
        if job.progress is None
        else _percent(job.progress) + pace(job.bytes_per_second, job.seconds_left),
        "Ordered by": job.by or "",
        "Began": moment(job.began) if job.began else "",
        "Ended": moment(job.ended) if job.ended else "",
        "Unit": job.unit,
        "Restart": f"when the server restarts, it {job.after_boot}" if lives else "",
        "Cancel": command("millrace job cancel", job.name) if job.cancellable else (job.why or "") if lives else "",
    }
    return printing.fields((title, text) for title, text in values.items() if text)


def followed(jobs: Iterable[JobStatus]) -> JobStatus | None:
    """Print a line for each change of a job until it has ended; return how it ended."""
    last = None
    for last in jobs:
        click.echo(line(last))
    return last


def line(one: JobStatus) -> str:
    """Return how far a job is, or how it ended, in one line."""
    share = f" {_percent(one.progress)}" if one.state == "running" and one.progress is not None else ""
    left = pace(one.bytes_per_second, one.seconds_left) if one.state == "running" else ""
    reason = f": {one.reason}" if one.reason else ""
    return printable(f"{one.state}{share}, {one.what}{left}{reason}")


def _percent(progress: float) -> str:
    return f"{progress:.1%}".replace("%", " %")
