# SPDX-License-Identifier: Apache-2.0
"""Minutes of lanes and stories, and what to cut."""

import json
from pathlib import Path

import pytest

from host import minutes
from host.minutes import Minutes


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(minutes, "time", found)
    return found


def spend(found: Minutes, clock: Clock, part: str, lane: int, count: float, **stories: float) -> None:
    with found.timed(part, lane) as spent:
        clock.now += 60 * count
        spent.stories.update({f"tests/vm/{name}.py": 60 * each for name, each in stories.items()})


def test_file_has_minutes_by_lane_and_part(tmp_path: Path, clock: Clock) -> None:
    tally = Minutes(tmp_path / "out/minutes.json", allowed=30)
    spend(tally, clock, "vm", 1, 20, b=5, a=15)
    spend(tally, clock, "unit", 0, 4.5)
    assert json.loads((tmp_path / "out/minutes.json").read_text()) == {
        "minutes": 24.5,
        "allowed": 30,
        "parts": [
            {"part": "unit", "lane": 0, "began": 20.0, "minutes": 4.5, "stories": {}},
            {
                "part": "vm",
                "lane": 1,
                "began": 0.0,
                "minutes": 20.0,
                "stories": {"tests/vm/a.py": 15, "tests/vm/b.py": 5},
            },
        ],
    }
    assert list(tally.lines()) == [
        "lane 1: 4.5 minutes (unit 4.5)",
        "lane 2: 20.0 minutes (vm 20.0)",
        "    15.0 minutes tests/vm/a.py",
        "     5.0 minutes tests/vm/b.py",
    ]


def test_five_dearest_stories_of_all_lanes_are_printed(clock: Clock) -> None:
    found = Minutes(allowed=90)
    spend(found, clock, "vm", 0, 20, a=1, b=9, c=3)
    spend(found, clock, "vm", 1, 20, d=8, e=2, f=4)
    assert [line.split()[-1] for line in found.lines() if "tests/" in line] == [f"tests/vm/{one}.py" for one in "bdfce"]


def test_run_that_takes_too_long_says_what_to_cut_of_the_lane_that_ended_last(clock: Clock) -> None:
    found = Minutes(allowed=60)
    spend(found, clock, "vm", 0, 10, x=50)
    spend(found, clock, "vm", 1, 60, a=7, b=6, c=2)
    assert list(found.lines())[-1] == (
        "the run took 70 minutes, and 60 are allowed: make these of lane 2 cheaper, or give them the mark soak: "
        "tests/vm/a.py (7.0), tests/vm/b.py (6.0)"
    )


def test_part_that_is_interrupted_has_its_minutes(tmp_path: Path, clock: Clock) -> None:
    found = Minutes(tmp_path / "minutes.json")
    with pytest.raises(KeyboardInterrupt), found.timed("perf", 2):
        clock.now += 90
        raise KeyboardInterrupt
    assert [(one.part, one.seconds) for one in found.spent] == [("perf", 90.0)]
    assert json.loads((tmp_path / "minutes.json").read_text())["minutes"] == 1.5
