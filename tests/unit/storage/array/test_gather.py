# SPDX-License-Identifier: Apache-2.0
"""Which members of an array held its data when it was last written."""

import pytest

from millrace.storage.array.gather import latest_members
from millrace.storage.array.superblock import Superblock


@pytest.mark.parametrize(("states", "held"), [("AAA", [0, 1, 2]), ("ARA", [0, 1, 2]), ("A.A", [0, 2])])
def test_a_member_that_is_being_replaced_still_holds_its_data(states: str, held: list[int]) -> None:
    blocks = [
        Superblock(name=f"nvme{slot}n1", slot=slot, events=7, clean=True, recovering=False, states=states)
        for slot in range(3)
    ]
    assert [one.slot for one in latest_members(blocks)] == held
