# SPDX-License-Identifier: Apache-2.0
"""Two runs side by side: only what means something is called a change."""

import pytest

from millrace.bench.report.compare import compare
from millrace.bench.result.ceilings import with_ceilings
from millrace.bench.result.environment import Environment
from millrace.bench.result.figures import completed
from millrace.bench.result.model import Provenance, Run, Rung, State
from millrace.errors import Refused
from tests.unit.bench.rungs import repeat, waiting
from tests.unit.bench.sites import request, site

FACTS = dict.fromkeys(("host", "product", "kernel", "cpu", "pool"), "<b>x</b>")


EMPTY = {"virtual": None, "plan_sha256": None, "drives": [], "ports": [], "packages": {"fio": "3.41"}, "settings": {}}


def run(*rungs: Rung, labels: tuple[str, ...] = ()) -> Run:
    here = site()
    numbers = dict.fromkeys(("sockets", "cores", "memory"), 1)
    return Run(
        id="20260101-000000",
        started="2026-01-01T00:00:00+00:00",
        state=State.DONE,
        request=request(),
        labels=list(labels),  # type: ignore[arg-type]
        provenance=Provenance(version="1", workload_hash="abc", fio="fio-3.41", started_by="admin"),
        environment=Environment.model_validate({**FACTS, **numbers, **EMPTY}),
        rungs=with_ceilings(rungs, here.inventory, here.plan, False),
    )


def rung(*bandwidths: float, name: str = "L1/xfs/seq/read") -> Rung:
    return completed(waiting(name), [repeat(bandwidth=one) for one in bandwidths], [], 3)


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        ((100.0, 101.0, 99.0), "same"),
        ((102.0, 102.5, 101.5), "same"),  # below 3 %
        ((120.0, 121.0, 119.0), "faster"),
        ((80.0, 81.0, 79.0), "slower"),
        ((150.0, 100.0, 60.0), "same"),  # noise
    ],
)
def test_a_change_is_called_one_only_if_it_means_something(second: tuple[float, ...], verdict: str) -> None:
    found = compare(run(rung(100, 101, 99)), run(rung(*second)))
    change = next(one for one in found.changes if one.quantity == "bandwidth")
    assert change.verdict == verdict
    assert change.low <= change.ratio <= change.high


def test_the_same_figures_give_the_same_answer() -> None:
    first, second = run(rung(100, 90, 120)), run(rung(130, 110, 140))
    assert compare(first, second) == compare(first, second)


def test_other_work_is_not_compared() -> None:
    small = rung(100, 100, name="L1/xfs/seq/read")
    other = small.model_copy(update={"workload": small.workload.model_copy(update={"sha256": "other"})})
    with pytest.raises(Refused, match="did not do the same work"):
        compare(run(small), run(other))
    found = compare(run(small, rung(5, 5, name="L1/xfs/rand/read")), run(small))
    assert found.incomparable == ["L1/xfs/rand/read"]


def test_a_degraded_run_beside_a_healthy_one_says_so() -> None:
    found = compare(run(rung(1, 1)), run(rung(1, 1), labels=("degraded",)))
    assert found.labels == ["only one of them is degraded"]
