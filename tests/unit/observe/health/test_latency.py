# SPDX-License-Identifier: Apache-2.0
"""Drives that answer far later than their neighbours, or not at all; others are never named."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from millrace.observe.health import latency
from millrace.observe.health.checks import latency as check
from millrace.observe.health.latency import LEAST_SECONDS, TIMES, CounterReading, Latencies
from millrace.observe.health.model import Level
from millrace.system import paths
from millrace.system.errors import BadInput
from tests.unit.observe.health.servers import host, place, sentences, serial, well

Load = Mapping[int, tuple[int, float]]


class Drives:
    """Ten drives whose counters rise: `run` gives each so many reads and writes of so many milliseconds."""

    def __init__(self, compared: Sequence[int] = range(10)) -> None:
        self.compared = set(compared)
        self.legs: dict[int, str] = {}
        self.counters = {number: [0, 0.0, 0, 0.0] for number in range(10)}
        self.uptime = 1000.0
        self.found: Latencies | None = None

    def run(self, reads: Load | None = None, writes: Load | None = None, seconds: float = 30.0) -> None:
        for place_, load in ((0, reads or {}), (2, writes or {})):
            for number, (count, ms) in load.items():
                self.counters[number][place_] += count
                self.counters[number][place_ + 1] += count * ms
        self.uptime += seconds
        self.found = latency.compared(self.found, self.readings(), self.uptime)

    def array(self, number: int) -> str:
        return self.legs.get(number, "data") if number in self.compared else ""

    def readings(self) -> list[CounterReading]:
        return [
            CounterReading(
                *(f"D{number}", f"nvme{number}n1", self.array(number)),
                *(reads, int(read_ms), writes, int(write_ms), reads + writes, 0),
            )
            for number, (reads, read_ms, writes, write_ms) in self.counters.items()
        ]

    @property
    def slow(self) -> list[str]:
        return [one.serial for one in (self.found.drives if self.found else []) if one.slow]


def alike(count: int, ms: float, **others: tuple[int, float]) -> Load:
    """All drives do the same, but `d3=(count, ms)`."""
    return {number: others.get(f"d{number}", (count, ms)) for number in range(10)}


def test_drive_that_stays_slow_is_named_with_its_latency_and_that_of_its_neighbours() -> None:
    drives = Drives()
    drives.run()
    for _ in range(TIMES - 1):
        drives.run(alike(1000, 0.5, d3=(800, 40)))
    assert drives.slow == []
    drives.run(alike(1000, 0.5, d3=(800, 40)))
    assert drives.slow == ["D3"] and drives.found
    one = drives.found.drives[3]
    assert (one.direction, one.latency_ms, one.neighbours_ms) == ("reads", 40, 0.5)


def test_drive_that_is_quick_again_is_not_reported_for_ever_and_does_not_flap() -> None:
    drives = Drives()
    drives.run()
    for _ in range(2 * TIMES):
        drives.run(writes=alike(1000, 2, d3=(800, 40)))
    for _ in range(TIMES - 1):
        drives.run(writes=alike(1000, 2, d3=(1000, 2)))
        assert drives.slow == ["D3"]
    # between the two limits nothing changes
    for _ in range(10):
        drives.run(writes=alike(1000, 2, d3=(1000, 6)))
    assert drives.slow == ["D3"]
    drives.run(writes=alike(1000, 2, d3=(1000, 2)))
    assert drives.slow == []


def test_idle_server_keeps_what_is_known() -> None:
    drives = Drives()
    drives.run()
    for _ in range(TIMES):
        drives.run(alike(1000, 0.5, d3=(800, 40)))
    for _ in range(50):
        drives.run(alike(20, 0.5))
    assert drives.slow == ["D3"]


@pytest.mark.parametrize("ms", [4.9, 5.0])
def test_no_drive_is_slow_that_answers_within_five_milliseconds(ms: float) -> None:
    drives = Drives()
    for _ in range(3 * TIMES):
        drives.run(alike(10_000, 0.1, d3=(10_000, ms)))
    assert drives.slow == []


def test_drive_that_is_filled_or_replaced_is_not_compared() -> None:
    drives = Drives(compared=[number for number in range(10) if number != 3])
    for _ in range(3 * TIMES):
        drives.run(alike(5000, 1, d3=(0, 0)), alike(100, 1, d3=(20_000, 90)))
    assert drives.slow == []


def test_drives_of_a_leg_that_is_rebuilt_are_not_compared_with_those_of_another() -> None:
    drives = Drives()
    drives.legs = {number: f"leg{number // 5}" for number in range(10)}
    load = {number: (5000, 20.0 if number < 5 else 0.5) for number in range(10)}
    for _ in range(3 * TIMES):
        drives.run(load)
    assert drives.slow == []
    for _ in range(TIMES):
        drives.run({**load, 7: (5000, 20.0)})
    assert drives.slow == ["D7"]


def test_few_drives_have_no_median() -> None:
    drives = Drives(compared=[0, 1, 2])
    for _ in range(3 * TIMES):
        drives.run(alike(1000, 0.5, d0=(1000, 80)))
    assert drives.slow == []


def test_times_that_are_too_short_or_too_long_are_no_reading() -> None:
    drives = Drives()
    drives.run()
    for _ in range(3 * TIMES):
        drives.run(alike(1000, 0.5, d3=(1000, 40)), seconds=400)
    assert drives.slow == [] and drives.found
    assert latency.compared(drives.found, drives.readings(), drives.uptime + LEAST_SECONDS - 1) is drives.found


def test_drive_that_came_back_counts_from_zero() -> None:
    drives = Drives()
    for _ in range(3 * TIMES):
        drives.run(alike(1000, 0.5))
        drives.counters[3] = [500, 25_000.0, 500, 25_000.0]
    assert drives.slow == []


def idle(_: random.Random) -> tuple[Load, Load]:
    return {}, {}


def checked(chance: random.Random) -> tuple[Load, Load]:
    """An array is checked: large reads of all members under a deep queue."""
    middle = chance.uniform(2, 20)
    return {number: (6000, middle * chance.uniform(0.7, 1.4)) for number in range(10)}, {}


def mixed(chance: random.Random) -> tuple[Load, Load]:
    """Clients read and write; now and then a drive collects garbage or its neighbours get more."""
    reads = {n: (chance.randrange(0, 5000), 0.3 * chance.lognormvariate(0, 0.4)) for n in range(10)}
    writes = {n: (chance.randrange(0, 5000), 3.0 * chance.lognormvariate(0, 0.4)) for n in range(10)}
    busy = chance.randrange(10)
    writes[busy] = (writes[busy][0], writes[busy][1] * 3)
    return reads, writes


def bursts(chance: random.Random) -> tuple[Load, Load]:
    """One drive is ten times slower for a moment, each time another."""
    busy = chance.randrange(10)
    return {n: (2000, 0.4 if n != busy else 60) for n in range(10)}, {}


def few(chance: random.Random) -> tuple[Load, Load]:
    """Hardly any requests, some of which take long."""
    return {n: (chance.randrange(0, 100), chance.uniform(0.1, 200)) for n in range(10)}, {}


@pytest.mark.parametrize("load", [idle, checked, mixed, bursts, few])
@pytest.mark.parametrize("seed", range(4))
def test_drives_that_are_alike_are_never_named(load: object, seed: int) -> None:
    assert callable(load)
    chance, drives = random.Random(seed), Drives()
    for _ in range(1000):
        drives.run(*load(chance), seconds=chance.uniform(25, 60))
        assert drives.slow == []


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    for number in range(12):
        count(tmp_path, number)
    return tmp_path


def count(root: Path, number: int, reads: int = 0, ms: int = 0, in_flight: int = 0) -> None:
    line = f"    {reads} 0 0 {ms} 0 0 0 0 {in_flight} 0 0 0 0 0 0 0 0\n"
    (root / "sys/devices" / f"nvme{number}n1" / "stat").write_text(line)


def test_slow_member_is_a_warning_with_bay_and_serial(serving: Path) -> None:
    place(serving, 3, "7")
    assert check.check(host()) == []
    for step in range(TIMES + 1):
        for number in range(12):
            # the two drives of the log have no neighbours
            count(serving, number, 1000 * step, (48_000 if number in (0, 3) else 310) * step)
        latency.write(host(), 100.0 + 30 * step)
    [finding] = check.check(host())
    assert finding.sentence == (
        "Bay 7 (D1): its reads take 48 ms, those of its neighbours 0.31 ms (median); "
        "each row of its array waits for it."
    )
    assert (finding.level, finding.key) == (Level.WARN, "latency/slow/D1")
    assert finding.todo == "Replace the drive: millrace drive replace D1"


@pytest.mark.parametrize("state", ["spare", "in_sync,want_replacement", "faulty"])
def test_member_that_is_rebuilt_or_replaced_is_not_compared(serving: Path, state: str) -> None:
    (serving / "sys/devices/virtual/md127/md/dev-nvme3n1p1/state").write_text(f"{state}\n")
    pool = host().pool
    assert pool
    found = {one.serial: one.array for one in latency.readings(host(), pool)}
    assert found == {serial(number): "" if number in (0, 1, 3) else "data" for number in range(12)}


def test_drive_that_finishes_nothing_is_a_failure_until_it_does(serving: Path) -> None:
    latency.write(host(), 100.0)
    count(serving, 3, 5, in_flight=2)
    latency.write(host(), 130.0)
    assert check.check(host()) == []
    latency.write(host(), 160.0)
    [finding] = check.check(host())
    assert (finding.level, finding.key) == (Level.FAIL, "latency/silent/D1")
    assert "Drive D1: it has answered hardly any request for 30 s; its array waits for it." in sentences([finding])
    assert "millrace drive locate D1" in (finding.todo or "")
    count(serving, 3, 6, in_flight=2)
    latency.write(host(), 190.0)
    assert check.check(host()) == []


def test_drive_whose_requests_are_taken_back_by_resets_is_silent_too(serving: Path) -> None:
    latency.write(host(), 100.0)
    count(serving, 3, 2, 41_000)
    latency.write(host(), 130.0)
    assert [one.subject for one in check.check(host())] == ["D1"]
    # a few that take 100 ms each are not
    count(serving, 3, 12, 42_000)
    latency.write(host(), 160.0)
    assert check.check(host()) == []


def test_pulled_drive_is_for_the_arrays(serving: Path) -> None:
    for at in (100.0, 130.0):
        count(serving, 3, 5, in_flight=2)
        latency.write(host(), at)
    assert len(check.check(host())) == 1
    (serving / "sys/block/nvme3n1").unlink()
    assert check.check(host()) == []


def test_server_without_a_pool_or_with_a_damaged_record_of_it_is_left_alone(serving: Path) -> None:
    paths.pool_file().write_text("{")
    with pytest.raises(BadInput):
        host().pool  # noqa: B018
    latency.write(host())
    paths.pool_file().unlink()
    latency.write(host())
    assert not paths.latency_file().exists()


def test_document_that_is_damaged_begins_again(serving: Path) -> None:
    paths.latency_file().parent.mkdir(parents=True, exist_ok=True)
    paths.latency_file().write_text("{")
    assert check.check(host()) == []
    latency.write(host(), 100.0)
    assert len(paths.latency_file().read_text()) > 100
