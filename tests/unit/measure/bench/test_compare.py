# SPDX-License-Identifier: Apache-2.0
"""Two runs side by side: only what means something is called a change."""

import pytest

from millrace.measure.bench.report.compare import compare
from millrace.system.errors import Refused
from tests.unit.measure.bench.runs import run, rung


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
