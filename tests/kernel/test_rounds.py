# SPDX-License-Identifier: Apache-2.0
"""Random rounds on parity RAID: overlapping writes, refused requests, checks, pulled drives.

By hand: `ROUNDS=10000 SEED=1 tools/test soak`, or this file with pytest.
"""

import os

import pytest

from host.perf.emulator import Image
from tests.kernel.guests import records

pytestmark = pytest.mark.soak

ROUNDS, SEED = int(os.environ.get("ROUNDS", "300")), int(os.environ.get("SEED", "1"))
# Several processors of the host take part; the order of requests is not the same in two runs.
OPTIONS = ("-smp", "2")
SECONDS = 24 * 3600


def test_every_block_holds_what_was_acknowledged(image: Image) -> None:
    job = {"work": ["rounds"], "rounds": {"seed": SEED, "number": ROUNDS}}
    found = records(image, job, SECONDS, OPTIONS)
    for one in found:
        print(one)
    assert sum(one["rounds"] for one in found) == ROUNDS // 3 * 3
    # nothing is proved where no drive refused anything
    assert all(one["refusals"] and one["listed"] for one in found)
