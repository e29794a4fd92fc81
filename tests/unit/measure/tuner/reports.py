# SPDX-License-Identifier: Apache-2.0
"""A finished run of the tuner with two goals and a setting that does nothing."""

from millrace.measure.bench.result.environment import Environment
from millrace.measure.tuner.model import Combination, MeasuredCombination, TunerRun, TunerState, Versions
from millrace.measure.tuner.search.goals import parse
from millrace.measure.tuner.search.tune import tune
from tests.unit.measure.tuner.readings import Server, knob

KNOBS = [
    knob("nfsd.threads", [1, 8, 16, 32, 64], 1, 8, cost="link"),
    knob("ahead", [0, 128, 4096], 0, 128),
    knob("<i>useless</i>", ["a", "=1+1", "c"], "a", "=1+1", ordered=False),
]
PORT = {"name": "eth0", "driver": "x", "speed": 100_000, "carrier": True, "rdma": None, "link": None}


def environment(virtual: str | None = None) -> Environment:
    words = dict.fromkeys(("host", "product", "kernel", "cpu", "pool"), "<b>x</b>")
    numbers = {"sockets": 1, "cores": 16, "memory": 1 << 34}
    rest = {"plan_sha256": None, "drives": [], "ports": [PORT], "packages": {"fio": "3.41"}, "settings": {}}
    return Environment.model_validate({**words, **numbers, **rest, "virtual": virtual})


class TwoGoals(Server):
    """Streams like many threads and read-ahead; a synced write likes threads only."""

    def measure(self, combination: Combination) -> MeasuredCombination:
        measured = super().measure(combination)
        threads = KNOBS[0].levels.index(combination["nfsd.threads"])
        return measured.model_copy(update={"figures": {**measured.figures, "fsync": 1000.0 + 200 * threads}})


def finished(virtual: str | None = None) -> TunerRun:
    server = TwoGoals(lambda at: 1 + 0.2 * KNOBS[1].levels.index(at["ahead"]))
    goals = parse("seq-read=3,fsync=1")
    outcome = tune(KNOBS, goals, server.measure, server.time_left, server)
    return TunerRun(
        id="20260101-000000",
        started="2026-01-01T00:00:00Z",
        ended="2026-01-01T01:00:00Z",
        state=TunerState.DONE,
        host="nas",
        versions=Versions(millrace="1", kernel="7.2", fio="fio-3.41"),
        environment=environment(virtual),
        budget=3600,
        knobs=KNOBS,
        goals=goals,
        readings=server.readings,
        effects=server.table,
        outcome=outcome,
    )
