# SPDX-License-Identifier: Apache-2.0
"""What a failed story says of a server that no longer answers, and that those after it do not wait for it."""

from pathlib import Path

import pytest

from host.junit import without_timer
from vm.machine import NO_TIMER

pytest_plugins = ["pytester"]

STORIES = """
import pytest
from millrace.system.errors import Failed

class Machine:
    pid, running, asked = 7, True, 0

    def run(self, command, seconds):
        self.asked += 1
        if not ANSWERS:
            raise Failed("box: no answer. NO_TIMER box")

class Box:
    machine = Machine()

@pytest.fixture(scope="module")
def box():
    return Box()

def test_browser_waits(box):
    assert "shown" == ""

def test_next(box):
    pass

@pytest.fixture
def started_again(box):
    assert box.machine.asked == 1
    box.machine.pid = 8

def test_after_a_new_start(box, started_again):
    pass

def test_without_a_server():
    pass
"""


def outcomes(pytester: pytest.Pytester, answers: bool) -> tuple[dict[str, int], Path]:
    """Run stories on a server that answers or does not; return how many passed and failed, and the report."""
    pytester.makepyfile(STORIES.replace("ANSWERS", str(answers)).replace("NO_TIMER", NO_TIMER))
    report = pytester.path / "report.xml"
    plugins = ("-p", "tests.vm.answers", "-p", "no:cacheprovider", f"--junit-xml={report}")
    return pytester.runpytest_inprocess(*plugins).parseoutcomes(), report


def test_stories_after_a_silent_server_fail_at_once_and_are_run_again(pytester: pytest.Pytester) -> None:
    counts, report = outcomes(pytester, answers=False)
    assert counts == {"passed": 2, "failed": 2}
    names = {node.partition("::")[2] for node in without_timer(report)}
    assert names == {"test_browser_waits", "test_next"}


def test_story_that_fails_beside_a_server_that_answers_is_alone(pytester: pytest.Pytester) -> None:
    counts, report = outcomes(pytester, answers=True)
    assert counts == {"passed": 3, "failed": 1}
    assert without_timer(report) == frozenset()
