# SPDX-License-Identifier: Apache-2.0
"""A moved setting that does nothing goes back to the plan's level."""

from millrace.measure.tuner.model import Combination, Level
from millrace.measure.tuner.search.confirm import Confirmed, confirm, readings
from millrace.measure.tuner.search.goals import parse
from millrace.measure.tuner.search.meter import Meter
from tests.unit.measure.tuner.readings import Server, knob

LEVELS: list[Level] = [0, 1]
KNOBS = [knob(name, LEVELS, 0, 1) for name in ("helps", "harms", "useless", "unmoved")]
PLAN: Combination = {one.name: 0 for one in KNOBS}
CANDIDATE: Combination = {**PLAN, "helps": 1, "harms": 1, "useless": 1}


def confirmed(server: Server) -> Confirmed:
    meter = Meter(parse("seq-read"), server.measure, server.time_left, server)
    meter.begin(PLAN)
    return confirm(CANDIDATE, PLAN, KNOBS, meter, keep=9)


def speed(at: Combination) -> float:
    return (1.1 if at["helps"] else 1.0) * (0.95 if at["harms"] else 1.0)


def test_only_what_helps_stays_moved() -> None:
    found = confirmed(Server(speed))
    assert found.candidate == {**PLAN, "helps": 1}
    assert found.gains["helps"] > 0.09 and found.gains["harms"] < -0.04
    assert "unmoved" not in found.gains


def test_it_is_measured_twice_only_if_the_guard_stays_affordable() -> None:
    for budget, taken in ((1 + 8 + 8 + 9, 16), (1 + 8 + 8 + 8, 8)):
        server = Server(speed, budget)
        confirmed(server)
        assert len(server.readings) - 1 == taken


def test_nothing_that_could_not_be_measured_is_moved() -> None:
    server = Server(speed)
    server.speed = lambda at: speed(at) if not server.readings else 0.0
    assert confirmed(server).candidate == PLAN


def test_one_setting_alone_is_confirmed_by_the_guard() -> None:
    assert [readings(count) for count in (0, 1, 2, 7, 8)] == [0, 0, 8, 8, 16]
