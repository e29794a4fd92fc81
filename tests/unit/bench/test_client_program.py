# SPDX-License-Identifier: Apache-2.0
"""The program for clients is one file that is the same each time."""

from millrace.bench.plan.client_program import bundle
from tests.unit.bench.sites import request, site


def test_the_same_program_has_the_same_bytes() -> None:
    wanted = request(profiles=["seq"])
    assert bundle(wanted, site()) == bundle(wanted, site())
