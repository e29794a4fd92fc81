# SPDX-License-Identifier: Apache-2.0
"""What it costs to check a server that is at rest, scaled from the emulated processor to that of the host."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.vm.box import Box

pytestmark = pytest.mark.usefixtures("in_use")

HOUR = 3600
# The promise is 1 % of one processor; noise of an emulator is no reason to fail.
PROMISE, LIMIT = 0.01, 0.02
# Of the alert service, which never ends: long enough for a hundred of its rounds.
WATCHED_SECONDS = 120
# The same work on both sides, in seconds of processor time; each side in the best of several, as others use the host.
LOOP = """
import time
def work():
    begin, total, seen = time.process_time(), 0, {}
    for number in range(300_000):
        total += number & 7
        seen[number & 1023] = str(total)
    return time.process_time() - begin
print(min(work() for _ in range(5)))
"""


@pytest.fixture(scope="module")
def route(box: Box) -> Iterator[None]:
    """The alert service runs."""
    box.millrace("alert route add syslog rest")
    yield
    box.millrace("alert route remove rest")


def nanoseconds(box: Box, unit: str) -> int:
    return int(box.say(f"systemctl show -P CPUUsageNSec {unit}"))


def one_run(box: Box, unit: str, *with_it: str) -> float:
    """Processor seconds of a run, with those of the units that it starts: the median of three."""
    found = []
    for _ in range(3):
        box.say(f"systemctl start {unit}")
        found.append(sum(nanoseconds(box, one) for one in (unit, *with_it)) / 1e9)
    return statistics.median(found)


def test_checks_of_a_server_at_rest_cost_less_than_a_hundredth_of_a_processor(box: Box, route: None) -> None:
    here = float(subprocess.run([sys.executable, "-c", LOOP], check=True, capture_output=True, text=True).stdout)
    slower = float(box.say(f"python3 -c '{LOOP}'")) / here
    health = one_run(box, "millrace-health.service", "millrace-heartbeat.service")
    smart = one_run(box, "millrace-smart.service")
    before = nanoseconds(box, "millrace-alert.service")
    box.say(f"timeout {WATCHED_SECONDS} tail -f /dev/null; true", seconds=WATCHED_SECONDS + 60)
    alert = (nanoseconds(box, "millrace-alert.service") - before) / 1e9 / WATCHED_SECONDS
    # how often: the timers of the image, from the end of one run to the beginning of the next
    assert "OnUnitInactiveUSec=5min" in box.say("systemctl show -P TimersMonotonic millrace-smart.timer")
    hourly = {"health and heartbeat": health * HOUR / 30, "smart": smart * HOUR / 300, "alert": alert * HOUR}
    share = sum(hourly.values()) / HOUR / slower
    print(json.dumps({"emulated seconds of processor time an hour": hourly, "one health check": health}, indent=1))
    print(f"emulated {slower:.1f} times slower than this host; {sum(hourly.values()) / slower:.1f} s an hour here")
    print(f"{100 * share:.2f} % of one processor; promised {100 * PROMISE:g} %")
    assert share < LIMIT
