# SPDX-License-Identifier: Apache-2.0
"""The search on a server without noise: what is better is found, what does nothing is left alone."""

import pytest

from millrace.measure.tuner.model import Combination, TunerOutcome
from millrace.measure.tuner.search.goals import parse
from millrace.measure.tuner.search.tune import tune
from millrace.system.errors import Failed
from tests.unit.measure.tuner.readings import Server, knob

THREADS = knob("threads", [1, 8, 16, 32, 64], 1, 8)
AHEAD = knob("ahead", [0, 128, 4096, 16384], 0, 128)
CACHE = knob("cache", [256, 1024, 4096], 256, 256)
USELESS = knob("useless", ["a", "b", "c"], "a", "b", ordered=False)
KNOBS = [THREADS, AHEAD, CACHE, USELESS]


def speed(at: Combination) -> float:
    threads, ahead, cache = (one.levels.index(at[one.name]) for one in (THREADS, AHEAD, CACHE))
    return (1 - 0.1 * abs(threads - 3)) * (1 - 0.1 * (3 - ahead)) * (1 - 0.1 * (2 - cache))


def run(server: Server) -> TunerOutcome:
    return tune(KNOBS, parse("seq-read"), server.measure, server.time_left, server)


def test_planted_bad_settings_are_undone_and_a_useless_one_is_left_alone() -> None:
    server = Server(speed)
    outcome = run(server)
    assert outcome.verdict == "candidate"
    assert outcome.winner == {"threads": 32, "ahead": 16384, "cache": 4096, "useless": "a"}
    assert outcome.gain is not None and outcome.noise is not None
    assert outcome.gain > outcome.noise
    assert outcome.gain == pytest.approx(1 / (0.7 * 0.7 * 0.8) - 1, rel=0.02)
    assert {effect.knob: effect.matters for effect in server.table}["threads"]
    useless = next(effect for effect in server.table if effect.knob == "useless")
    assert not useless.matters and not useless.moved
    assert [standing.side for standing in outcome.standings] == ["candidate", "plan", "default"]


def test_plan_that_is_best_stays() -> None:
    found = run(Server(lambda at: 1.0 if at == {one.name: one.planned for one in KNOBS} else 0.9))
    assert found.verdict == "plan"
    assert found.winner == found.plan
    assert found.reason.startswith("No combination was better than the plan's settings")


def test_gain_of_less_than_three_percent_is_not_worth_a_change() -> None:
    found = run(Server(lambda at: 1.025 if at["cache"] != 256 else 1.0))
    assert found.verdict == "plan"
    assert "2.5 % faster, and less than 3 % is not worth a change" in found.reason


def test_everything_fits_into_the_budget() -> None:
    for readings in (26, 30, 40, 60):
        server = Server(speed, readings)
        run(server)
        assert server.left >= 0


def test_shortest_budget_moves_only_what_the_screen_proves() -> None:
    server = Server(speed, 26)
    found = run(server)
    assert found.verdict == "candidate"
    assert found.winner["threads"] == 8 and found.winner["useless"] == "a"


def test_time_that_ends_early_leaves_the_plan() -> None:
    server = Server(speed, 18)
    found = run(server)
    assert found.verdict == "plan"
    assert "the budget ended" in found.reason or "No combination" in found.reason


def test_same_readings_give_the_same_search() -> None:
    one, two = Server(speed), Server(speed)
    assert run(one) == run(two)
    assert one.readings == two.readings


def test_combination_that_cannot_be_measured_is_never_kept() -> None:
    found = run(Server(lambda at: 0.0 if at["threads"] == 64 else speed(at)))
    assert found.winner["threads"] == 32


def test_candidate_that_fails_in_the_guard_is_dropped() -> None:
    server = Server(speed)
    server.speed = lambda at: 0.0 if server.left < 11 * 60 and at["ahead"] != 0 else speed(at)
    found = run(server)
    assert found.verdict == "plan"
    assert found.reason == "The plan's settings stay: the candidate's settings failed once in the guard: fio ended."


def test_plan_that_cannot_be_measured_is_an_error() -> None:
    server = Server(lambda at: 0.0)
    with pytest.raises(Failed, match=r"The plan's settings could not be measured: fio ended\.$"):
        run(server)
    assert len(server.readings) == 3


def test_screen_of_which_half_fails_is_an_error() -> None:
    with pytest.raises(Failed, match=r"8 of 16 combinations could not be measured: fio ended\.$"):
        run(Server(lambda at: 0.0 if at["threads"] != 1 else 1.0))


def test_what_the_measurement_raises_goes_through() -> None:
    server = Server(speed)

    def stopped(at: Combination) -> float:
        if len(server.readings) == 5:
            raise KeyboardInterrupt
        return speed(at)

    server.speed = stopped
    with pytest.raises(KeyboardInterrupt):
        run(server)
    assert len(server.readings) == 5
