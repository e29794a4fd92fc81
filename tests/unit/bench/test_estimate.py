# SPDX-License-Identifier: Apache-2.0
"""What a run takes is known before it starts."""

from millrace.bench.plan.estimate import estimate
from millrace.bench.plan.sizes import sizes
from millrace.bench.plan.steps import planned_steps
from tests.unit.bench.sites import request, site


def test_an_estimate_adds_up() -> None:
    wanted = request(profiles=["seq"], layers=["L1"], seconds=10, repeats=4)
    here = site()
    measure = sizes(wanted, here.free, here.memory, here.cores)
    found = estimate(wanted, planned_steps(wanted, here), measure)
    assert len(found.rungs) == 3
    assert all(rung.seconds > 4 * 10 for rung in found.rungs)
    assert found.seconds >= sum(rung.seconds for rung in found.rungs)
    assert 0 < found.space <= measure.budget
    assert found.written == found.space * (1 + 4)
