# SPDX-License-Identifier: Apache-2.0
"""What prevents a run, before its start and between its readings. Reads only."""

from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.result.model import Label, RunRequest
from millrace.measure.bench.run import guard
from millrace.measure.bench.run.session import watch_of
from millrace.measure.tuner.run.tuner_job import JOB
from millrace.system.run import Runner

SENTENCES: dict[Label, str] = {
    "degraded": "an array is degraded: replace the drive first (`millrace health`)",
    "rebuilding": "an array is resyncing or being checked: wait for its end (`millrace health`)",
    "with-clients": "clients are connected and would be slowed down: disconnect them first (`millrace session list`)",
}


def obstacles(request: RunRequest, site: Site, run: Runner, *, own: bool = False, connected: bool = False) -> list[str]:
    """Return what prevents a run now, a sentence each; `own`: the caller is the run, and asks for no other job.

    `connected`: it has its connections to clients. `request` allows all that a benchmark may measure beside: here none
    of it is.
    """
    verdict = guard.check(request, site, run, None if own else JOB.obstacle(run), connected=connected)
    sentences = list(verdict.obstacles)
    sentences += [words for label, words in SENTENCES.items() if label in verdict.labels]
    if not own:
        hot = watch_of(site).complaint()
        sentences += [f"{hot}: let it cool down first"] if hot else []
    return sentences
