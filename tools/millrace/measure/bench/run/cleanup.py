# SPDX-License-Identifier: Apache-2.0
"""What a killed run or a power cut left behind: removed after every run, at boot, and before the next run."""

import os
from datetime import UTC, datetime

from millrace.measure.bench.result import live
from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.model import BenchState, Rung
from millrace.measure.bench.run import export, localio, space
from millrace.measure.bench.run.bench_job import JOB
from millrace.storage.record.pool_file import known_pool
from millrace.system import paths
from millrace.system.errors import MillraceError
from millrace.system.jobs.job import KILLED, at_end
from millrace.system.run import Runner


def sweep(run: Runner) -> list[str]:
    """Clean up at the end of the unit, whose job ends with it, or at a boot; return what was removed, in words.

    Refused: a run is active.
    """
    if at_end():
        JOB.clean_up()
    return clean_up(run)


def clean_up(run: Runner) -> list[str]:
    """Remove it; return what was removed, in words. Refused: a run is active."""
    with JOB.alone():
        return _clean_up(run)


def _clean_up(run: Runner) -> list[str]:
    leftovers = [f"the export {target}" for target in export.release(run)]
    if localio.restore():
        leftovers.append("the setting of LOCALIO")
    pool = known_pool()
    if pool is not None:
        mountpoint = pool.filesystem.mountpoint
        # an empty mount point is not the pool: the next clean-up finds what is on it
        if os.path.ismount(paths.ROOT / mountpoint.lstrip("/")) and space.remove(mountpoint, run):
            leftovers.append(f"files in {mountpoint}")
    last = live.latest()
    if last is not None and last.state is BenchState.RUNNING:
        live.write(last.model_copy(update={"state": BenchState.INTERRUPTED, "what": KILLED, "finished": None}))
    return leftovers + [f"run {name} is marked as interrupted" for name in mark_interrupted()]


def mark_interrupted() -> list[str]:
    """Mark runs without an end as interrupted, with the rungs that they had finished; return their names."""
    marked = []
    for name in results.ids():
        try:
            run = results.load(name)
        except MillraceError:
            continue
        if run.state is BenchState.RUNNING:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            rungs = [_interrupted(rung) for rung in run.rungs]
            results.save(
                run.model_copy(update={"state": BenchState.INTERRUPTED, "reason": KILLED, "ended": now, "rungs": rungs})
            )
            marked.append(name)
    return marked


def _interrupted(rung: Rung) -> Rung:
    return rung.model_copy(update={"state": BenchState.INTERRUPTED}) if rung.state is BenchState.RUNNING else rung
