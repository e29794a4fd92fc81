# SPDX-License-Identifier: Apache-2.0
"""Parity RAID keeps what it acknowledged, whatever a drive refuses."""

from typing import Any

import pytest

from tests.kernel.guest.array import STRIPE_SECTORS

Records = list[dict[str, Any]]


def of(found: Records, work: str) -> Records:
    chosen = [one for one in found if one["work"] == work]
    assert chosen
    return chosen


def named(found: Records, name: str) -> dict[str, Any]:
    (one,) = [one for one in found if one["case"] == name]
    return one


def test_acknowledged_writes_survive_a_refused_request(found: Records) -> None:
    cases = of(found, "refused")
    assert len(cases) == 23
    assert [one for one in cases if not one["acknowledged"]] == []
    assert [one for one in cases if one["lost"]] == []


def test_old_data_of_a_drive_are_listed_or_the_drive_is_ejected(found: Records) -> None:
    cases = of(found, "refused")
    # four rows had a refusal, of 4 KiB at least, or nothing would have been seen
    assert [one for one in cases if one["stale"] < 4] == []
    assert [one for one in cases if one["unlisted"]] == []


def test_drive_is_ejected_where_nothing_can_be_listed(found: Records) -> None:
    without = [one for one in of(found, "refused") if "without list" in one["case"]]
    assert len(without) == 8
    assert all(one["faulty"] for one in without)


def test_rebuild_goes_on_past_a_block_that_cannot_be_read(found: Records) -> None:
    one = named(found, "unreadable block in a rebuild")
    assert one["ended"] and one["listed"]


def test_replacement_that_cannot_be_read_fails_and_costs_no_data(found: Records) -> None:
    one = named(found, "unreadable replacement")
    assert (one["lost"], one["ejected"]) == (0, True)


def test_block_that_is_good_again_is_no_failure_of_its_neighbours(found: Records) -> None:
    """Two drives are not missing where each refuses another block at another time."""
    one = named(found, "recovered block")
    assert (one["listed"], one["good"]) == ([STRIPE_SECTORS], True)
    assert (one["acknowledged"], one["lost"]) == (True, 0)


@pytest.mark.parametrize(
    ("way", "last", "torn"),
    [("started by force", "repair", 0), ("started by force, read-only first", "idle", 2 * STRIPE_SECTORS)],
)
def test_start_by_force_keeps_the_parity_that_tells_torn_rows(found: Records, way: str, last: str, torn: int) -> None:
    """mdadm asks for a repair, which a read-only array does not do; the first way shows what is at stake."""
    one = named(found, way)
    assert (one["last"], one["mismatch"]) == (last, torn)


def test_reads_of_a_degraded_array_are_right_by_both_ways(found: Records) -> None:
    cases = [one for one in of(found, "reads") if "wrong" in one]
    assert len(cases) == 10
    assert [one for one in cases if one["wrong"]] == []


@pytest.mark.parametrize(("on", "requests"), [("Y", 1), ("N", 0)])
def test_direct_reads_are_switched_on_a_running_server(found: Records, on: str, requests: int) -> None:
    assert named(found, f"switch {on}")["again"] == requests
