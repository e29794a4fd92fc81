# SPDX-License-Identifier: Apache-2.0
"""The benchmark as a job: its order, its unit, how far it is, and who else may not measure meanwhile."""

from collections.abc import Callable, Iterator, Sequence
from time import sleep

from pydantic import Field

from millrace.measure.bench.result import live
from millrace.measure.bench.result.model import BenchState, Label, RunRequest
from millrace.measure.bench.result.outputs import BenchProgress
from millrace.system import paths
from millrace.system.documents import Contract
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import Document, Glance, Job, by_stopping
from millrace.system.jobs.kinds import JobName
from millrace.system.run import Runner, must


class BenchOrder(Contract):
    """What the unit reads."""

    run: str
    by: str
    request: RunRequest
    labels: list[Label] = Field(default_factory=list)


ORDER = Document(job_paths.bench_order_file, BenchOrder)


def _glance() -> Glance | None:
    last = live.latest()
    if last is None or last.state is not BenchState.RUNNING:
        return None
    return Glance(last.what, last.progress, last.seconds_left, int(last.bandwidth) if last.bandwidth else None)


JOB = Job(
    kind=kinds.BENCHMARK,
    busy="a benchmark is already running: `millrace bench follow` watches it, `stop` ends it",
    stop=by_stopping(kinds.BENCHMARK),
    glance=_glance,
    files=(ORDER,),
)


def allowed(request: RunRequest) -> tuple[JobName, ...]:
    """Return the jobs beside which a run may start: with --degraded, its results have a label."""
    return ("drive-change", "scrub") if request.degraded else ()


def allow_writing(devices: Sequence[str], run: Runner) -> None:
    """Let the next run open block devices for writing, which the unit denies otherwise."""
    if (paths.ROOT / f"run/systemd/system.control/{JOB.unit}.d").exists():
        must(run, ["systemctl", "revert", JOB.unit])
    if devices:
        rules = [f"DeviceAllow={device} rwm" for device in dict.fromkeys(devices)]
        must(run, ["systemctl", "set-property", "--runtime", JOB.unit, *rules])


def follow(run: Runner, pause: Callable[[float], None] = sleep) -> Iterator[BenchProgress]:
    """Yield lines of progress as they are written, until the run has cleaned up; a killed run gets a last line."""
    last: BenchProgress | None = None
    for lines in JOB.follow(live.Lines().new, run, pause):
        if last is not None and lines[0].run != last.run:
            # another run has begun meanwhile
            break
        for last in lines:
            yield last
    if last is not None and last.state is BenchState.RUNNING:
        yield last.model_copy(update={"state": BenchState.INTERRUPTED, "what": "the run ended without a message"})
