# SPDX-License-Identifier: Apache-2.0
"""The guard compares candidate, plan and default in turn, until the difference is beyond noise or excluded."""

from millrace.measure.tuner.model import Combination
from millrace.measure.tuner.search.goals import parse
from millrace.measure.tuner.search.guard import MOST, Guarded, guard, sides
from millrace.measure.tuner.search.meter import Meter
from tests.unit.measure.tuner.readings import Server

PLAN: Combination = {"threads": 8}
CANDIDATE: Combination = {"threads": 16}
DEFAULT: Combination = {"threads": 1}


def compared(server: Server) -> Guarded:
    meter = Meter(parse("seq-read"), server.measure, server.time_left, server)
    meter.begin(PLAN)
    return guard(sides(CANDIDATE, PLAN, DEFAULT), meter)


def shaky(gain: float) -> Server:
    """A server on which the candidate's gain is there in every other round only."""
    server = Server(lambda at: 1.0, 60)

    def speed(at: Combination) -> float:
        rounds = (len(server.readings) - 1) // 3
        return 1 + 2 * gain * (rounds % 2) if at == CANDIDATE else 1.0

    server.speed = speed
    return server


def test_sides_take_turns_and_every_other_round_is_backwards() -> None:
    server = Server(lambda at: 1.2 if at == CANDIDATE else 1.0)
    assert compared(server).kept
    assert [one.combination["threads"] for one in server.readings[1:]] == [16, 8, 1, 1, 8, 16, 16, 8, 1]


def test_set_that_is_compared_twice_is_measured_once() -> None:
    assert list(sides(PLAN, PLAN, DEFAULT)) == ["plan", "default"]
    assert list(sides(CANDIDATE, PLAN, CANDIDATE)) == ["candidate", "plan"]
    assert list(sides(PLAN, PLAN, PLAN)) == ["plan"]


def test_gain_within_noise_is_measured_in_more_rounds_and_not_kept_before() -> None:
    found = compared(shaky(0.05))
    assert found.rounds > 3
    assert found.gain is not None and found.noise is not None
    assert found.kept == (found.gain > found.noise)


def test_gain_that_noise_explains_is_not_kept() -> None:
    server = shaky(0.1)
    server.left = 10 * 60.0
    found = compared(server)
    assert found.rounds == 3
    assert found.gain is not None and found.noise is not None
    assert 0.05 < found.gain < found.noise
    assert not found.kept


def test_rounds_end_with_the_budget() -> None:
    server = shaky(0.05)
    server.left = 13 * 60.0
    assert compared(server).rounds <= 4
    assert server.left >= 0


def test_rounds_end_where_nothing_can_be_decided() -> None:
    assert compared(shaky(0.01)).rounds <= MOST


def test_default_that_fails_decides_nothing() -> None:
    server = Server(lambda at: {1: 0.0, 8: 1.0, 16: 1.2}[int(at["threads"])])
    found = compared(server)
    assert found.kept
    assert {one.side: one.score for one in found.standings}["default"] is None


def test_plan_that_fails_meanwhile_keeps_the_plan() -> None:
    server = Server(lambda at: 1.2)
    server.speed = lambda at: 0.0 if server.left < 45 * 60 and at == PLAN else 1.2
    found = compared(server)
    assert not found.kept
    assert found.failed == "the plan's settings failed once in the guard: fio ended"
