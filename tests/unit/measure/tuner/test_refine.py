# SPDX-License-Identifier: Apache-2.0
"""A step to another level counts after it was measured twice."""

from millrace.measure.tuner.model import Combination, Effect
from millrace.measure.tuner.search.goals import parse
from millrace.measure.tuner.search.meter import Meter
from millrace.measure.tuner.search.refine import refine
from tests.unit.measure.tuner.readings import Server, knob

LEVELS = knob("threads", [1, 2, 4, 8, 16], 1, 1)
PLAN: Combination = {"threads": 2}
TABLE = [Effect(knob="threads", planned=1, other=4, effect=-0.1, noise=0.0, matters=True)]


def refined(server: Server, reserve: int = 9) -> Combination:
    meter = Meter(parse("seq-read"), server.measure, server.time_left, server)
    meter.begin(PLAN)
    return refine(PLAN, [LEVELS], TABLE, meter, lambda _: reserve)


def test_steps_go_on_while_they_help() -> None:
    assert refined(Server(lambda at: 1 + 0.1 * LEVELS.levels.index(at["threads"]))) == {"threads": 16}


def test_one_lucky_reading_is_no_step() -> None:
    server = Server(lambda at: 1.0)

    def speed(at: Combination) -> float:
        return 1.0 if at == PLAN or any(one.combination == at for one in server.readings) else 1.2

    server.speed = speed
    assert refined(server) == PLAN


def test_readings_of_the_rest_are_kept() -> None:
    server = Server(lambda at: 1 + 0.1 * LEVELS.levels.index(at["threads"]), 16)
    refined(server, reserve=9)
    assert server.left >= 9 * 60
