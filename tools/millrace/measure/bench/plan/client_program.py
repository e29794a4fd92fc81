# SPDX-License-Identifier: Apache-2.0
"""The program for clients: one file with everything that runs there, and the plan of a run that it starts itself."""

import json
from pathlib import Path
from typing import Any

from millrace.measure.bench.plan.job import OWN, FioJob, Target, job_file, own_program
from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.plan.sizes import Sizes, sizes
from millrace.measure.bench.plan.steps import QUICK, RungStep, layouts
from millrace.measure.bench.plan.workloads import UNREAD, Work, digest, works
from millrace.measure.bench.result.choices import BenchLayer, BenchProfile
from millrace.measure.bench.result.model import RunRequest
from millrace_client.by_hand import PLACE
from millrace_client.pack import pack

PARTS = ("__init__.py", "bench.py", "listen.py", "sealed.py", "by_hand.py", "au.py", "kvcache.py")
"""Files of `millrace_client` that are in it."""
BEFORE = {"create": "empty", "stat": "small", "delete": "small", "save": "gone"}


def bundle(request: RunRequest, site: Site) -> bytes:
    """Return the file: `python3 millrace-bench.pyz`."""
    return pack("bench", PARTS, {"plan.json": json.dumps(plan(request, site))})


def plan(request: RunRequest, site: Site) -> dict[str, Any]:
    """Return the plan of a run that an administrator starts on a client."""
    chosen = works(request.profiles or (list(QUICK) if request.mode == "quick" else list(BenchProfile)))
    steps = [RungStep(BenchLayer.L3, "hand", work) for work in chosen if BenchLayer.L3 in work.layers]
    measure = sizes(request, site.free, site.memory, site.cores, layouts(steps))
    rungs = [_rung(step.work, measure) for step in steps]
    held: dict[str, int] = {}
    for rung in rungs:
        held[rung["layout"]] = max(rung["jobs"] * rung["per_job"] * rung["size"], held.get(rung["layout"], 0))
    space = sum(held.values())
    content = {"repeats": measure.repeats, "space": space, "model": request.model, "rungs": rungs}
    return {**content, "sha256": digest(content)}


def _rung(work: Work, measure: Sizes) -> dict[str, Any]:
    files, jobs = measure.files(work), measure.jobs_of(work)
    seconds = measure.seconds if work.timed else None
    target = Target(directory=Path(PLACE))
    job = FioJob(work, target, jobs, files, seconds)
    warm = FioJob(work, target, jobs, files, measure.warm if work.timed else None)
    own = own_program(job, target.directory / work.layout) if work.engine == OWN and target.directory else None
    most = max(jobs, measure.jobs) if work.layout == "common" else jobs
    laid_out = work.layout not in UNREAD and work.operation != "save"
    return {
        "id": work.name,
        "profile": work.profile,
        "operation": work.operation,
        "layout": work.layout,
        "jobs": jobs,
        "per_job": files.per_job,
        "size": files.mean,
        "scaled": files.scaled,
        "lay_out": job_file(FioJob(work, target, most, files, None, create_only=True)) if laid_out else None,
        "warm": None if own else job_file(warm),
        "job": None if own else job_file(job),
        "own": own,
        "before": BEFORE.get(work.operation, "forget"),
    }
