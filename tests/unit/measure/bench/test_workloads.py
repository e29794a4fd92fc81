# SPDX-License-Identifier: Apache-2.0
"""A workload is the same on every server."""

from millrace.measure.bench.plan.sizes import sizes
from millrace.measure.bench.plan.steps import pending, planned_steps
from tests.unit.measure.bench.sites import GIB, request, site


def test_the_hash_is_of_the_work_and_not_of_the_site() -> None:
    small, large = sizes(request(), 100 * GIB, GIB, 2), sizes(request(mode="full"), 1 << 40, 64 * GIB, 64)
    one = {pending(step, small).id: pending(step, small).workload.sha256 for step in planned_steps(request(), site())}
    other = {pending(step, large).id: pending(step, large).workload.sha256 for step in planned_steps(request(), site())}
    assert one == other
    # the same work at another rung is the same work; other work is not
    assert one["L1/xfs/seq/read"] == one["L2/smb/seq/read"]
    assert len(set(one.values())) == len({rung.split("/", 2)[2] for rung in one})
