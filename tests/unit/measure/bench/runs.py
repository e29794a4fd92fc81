# SPDX-License-Identifier: Apache-2.0
"""Runs as they are kept: unfinished ones, and finished ones with results."""

from millrace.measure.bench.result.ceilings import with_ceilings
from millrace.measure.bench.result.environment import Environment
from millrace.measure.bench.result.figures import completed
from millrace.measure.bench.result.model import BenchRun, BenchState, Provenance, Rung
from tests.unit.measure.bench.rungs import done, repeat, waiting
from tests.unit.measure.bench.sites import request, site

FACTS = dict.fromkeys(("host", "product", "kernel", "cpu", "pool"), "<b>x</b>")


EMPTY = {"virtual": None, "plan_sha256": None, "drives": [], "ports": [], "packages": {"fio": "3.41"}, "settings": {}}


def run(*rungs: Rung, labels: tuple[str, ...] = ()) -> BenchRun:
    here = site()
    numbers = dict.fromkeys(("sockets", "cores", "memory"), 1)
    return BenchRun(
        id="20260101-000000",
        started="2026-01-01T00:00:00+00:00",
        state=BenchState.DONE,
        request=request(),
        labels=list(labels),  # type: ignore[arg-type]
        provenance=Provenance(version="1", workload_hash="abc", fio="fio-3.41", started_by="admin"),
        environment=Environment.model_validate({**FACTS, **numbers, **EMPTY}),
        rungs=with_ceilings(rungs, here.inventory, here.arrays, False),
    )


def rung(*bandwidths: float, name: str = "L1/xfs/seq/read") -> Rung:
    return completed(waiting(name), [repeat(bandwidth=one) for one in bandwidths], [], 3)


def unfinished(name: str, state: BenchState) -> BenchRun:
    rungs = [done("L1/xfs/seq/read"), waiting("L1/xfs/seq/write").model_copy(update={"state": BenchState.RUNNING})]
    return BenchRun(
        id=name,
        started="2026-01-01T00:00:00+00:00",
        state=state,
        request=request(),
        provenance=Provenance(version="1", workload_hash="0", fio="fio-3.41", started_by="admin"),
        environment=Environment.model_construct(),
        rungs=rungs,
    )


def whole(made: BenchRun) -> BenchRun:
    """With an environment that is complete."""
    values = dict.fromkeys(("host", "product", "kernel", "cpu", "pool"), "x") | dict.fromkeys(
        ("sockets", "cores", "memory"), 1
    )
    empty = {"virtual": None, "plan_sha256": None, "drives": [], "ports": [], "packages": {}, "settings": {}}
    return made.model_copy(update={"environment": Environment.model_validate({**values, **empty})})
