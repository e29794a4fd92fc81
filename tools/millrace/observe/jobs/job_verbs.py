# SPDX-License-Identifier: Apache-2.0
"""`millrace job …`."""

from typing import TYPE_CHECKING, cast, get_args

import click

from millrace.system.jobs.kinds import JobName
from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.observe.jobs.job_list import JobStatus
    from millrace.system.run import Runner

_name = click.argument("name", metavar="NAME", type=click.Choice(get_args(JobName)))


@click.group("job", cls=VerbGroup)
def job() -> None:
    """List, follow and cancel long work: builds, drive changes, erasures, tests, benchmarks, updates."""


@job.command("list")
@prints("millrace.observe.jobs.job_list:JobList")
def list_(show: Output) -> None:
    """List the jobs that run or wait, and how the last one of each kind ended."""
    from millrace.observe.jobs.job_list import listed
    from millrace.observe.jobs.job_text import table
    from millrace.system.run import quickly

    show(listed(quickly), table)


@job.command("show")
@_name
@prints("millrace.observe.jobs.job_list:JobStatus")
def show_(name: str, show: Output) -> None:
    """Show one job: how far it is, who ordered it, and what a restart of the server does to it."""
    from millrace.observe.jobs.job_text import fields
    from millrace.system.run import quickly

    show(_status(name, quickly), fields)


@job.command()
@_name
@prints("millrace.observe.jobs.job_list:JobStatus", lines=True, words="Print progress as JSON lines.")
def follow(name: str, show: Output) -> None:
    """Follow a job until it has ended; Ctrl-C leaves it running."""
    from millrace.observe.jobs.job_list import status
    from millrace.observe.jobs.job_text import followed
    from millrace.observe.jobs.registry import job as of
    from millrace.system.errors import Failed, Refused
    from millrace.system.run import attempt

    chosen_job = of(cast("JobName", name))
    if not chosen_job.runs(attempt):
        raise Refused(f"no {chosen_job.kind.title} is under way: millrace job list")
    last = show.each(chosen_job.follow(lambda: status(chosen_job, attempt), attempt), followed)
    if last is not None and last.state in ("failed", "interrupted"):
        raise Failed(f"the {chosen_job.kind.title} ended as {last.state}: {last.reason}")


@job.command()
@_name
@prints("millrace.observe.jobs.job_list:JobStatus")
def cancel(name: str, show: Output) -> None:
    """Cancel a job; its unit puts back what it changed."""
    from millrace.observe.jobs.job_text import fields
    from millrace.observe.jobs.registry import job as of
    from millrace.system.run import attempt
    from millrace.system.users import as_root, only_root

    only_root()
    with as_root():
        of(cast("JobName", name)).cancel(attempt)
        show(_status(name, attempt), fields)


def _status(name: str, run: "Runner") -> "JobStatus":
    from millrace.observe.jobs.job_list import status
    from millrace.observe.jobs.registry import job as of
    from millrace.system.errors import Refused

    found = of(cast("JobName", name))
    last = status(found, run)
    if last is None:
        raise Refused(f"there was no {found.kind.title} yet: millrace job list")
    return last
