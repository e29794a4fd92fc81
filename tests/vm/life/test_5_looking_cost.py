# SPDX-License-Identifier: Apache-2.0
"""What the server spends on looking at itself: less than a hundredth of a processor, at rest and on real hardware.

An emulated processor is many times slower, so each figure is scaled: a program of the same kind (a start of Python,
imports, models) is measured beside it, whose time on real hardware is known.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.vm.box import Box

# by hand: an emulated processor that others use, too, measures the others
pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("in_use")]

# Of one processor, with metrics served and a route for alerts.
BUDGET = 0.01
HOUR = 3600.0
# User and system time on one core of an AMD EPYC at 2.6 GHz, Python 3.11: 0.19 to 0.22 s.
REFERENCE_SECONDS = 0.2
REFERENCE = """import os, subprocess, sys
work = '''import asyncio, email.message, http.client, json, pydantic, tarfile
from pydantic import create_model
for number in range(20): create_model(f"M{number}", a=(int, 1), b=(str, ""), c=(list[int], []))'''
def took():
    before = os.times()
    subprocess.run([sys.executable, "-I", "-c", work], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
print(min(took() for _ in range(3)))
"""


@dataclass(frozen=True)
class Look:
    """A unit that a timer starts, how often, what it starts in turn, and the processes that work for it and stay."""

    unit: str
    times_an_hour: float
    also: str | None = None
    stay: tuple[str, ...] = ()


# The periods are those of the timers.
LOOKS = (
    # what is alerted reads the findings of each check
    Look("millrace-health", 120, also="millrace-heartbeat", stay=("millrace-checker", "millrace-alert")),
    Look("millrace-metrics-collect", 120, stay=("millrace-metrics-collector",)),
    Look("millrace-smart", 12),
    Look("millrace-scrub", 4),
    Look("millrace-trim", 4),
    Look("millrace-keep", 1),
)
RUNS = 3
# They wait for something and are never started again; what they do meanwhile is looked at for so many seconds.
STAYING = ("millrace-alert", "millrace-checker", "millrace-metrics", "millrace-metrics-collector")
AT_REST = 60
HOLD = "/run/systemd/system/cost.timer"


def used(box: Box, unit: str) -> float:
    """Seconds of a processor: of the last run of a unit that ends, of all its life for one that stays."""
    return int(box.say(f"systemctl show -P CPUUsageNSec {unit}.service")) / 1e9


def settle(box: Box, units: tuple[str, ...]) -> float:
    """Wait until units that stay have done what their last work left to do; return seconds of a processor of all."""
    before, now = -1.0, sum(used(box, unit) for unit in units)
    while now - before > 0.02:
        box.say("sleep 5")
        before, now = now, sum(used(box, unit) for unit in units)
    return now


def cost(box: Box, look: Look) -> float:
    """Seconds of a processor for one run, of several: the first ones start what stays and teach it what to import."""

    def run() -> float:
        box.say(f"systemctl start {look.unit}.service", seconds=600)
        if look.also is None:
            return used(box, look.unit)
        # joins the run that was started, or is one more of the same
        box.say(f"systemctl start {look.also}.service", seconds=600)
        return used(box, look.unit) + used(box, look.also)

    for _ in range(2):
        run()
    before = settle(box, look.stay)
    total = sum(run() for _ in range(RUNS))
    return (total + settle(box, look.stay) - before) / RUNS


def uptime(box: Box) -> float:
    return float(box.say("cut -d' ' -f1 /proc/uptime"))


def slowness(box: Box) -> float:
    """How many times slower than real hardware a program of this kind is now."""
    return float(box.machine.run("python3 -I -", stdin=REFERENCE, seconds=300).out) / REFERENCE_SECONDS


@pytest.fixture(scope="module")
def looked_at(box: Box) -> Iterator[None]:
    """A server whose metrics are served and that has a route; nothing looks but this story."""
    timers = "millrace-health.timer millrace-smart.timer"
    box.millrace("metrics on --from 192.0.2.0/24", seconds=600)
    box.millrace("alert route add syslog cost", seconds=600)
    box.say(f"systemctl stop {timers} millrace-metrics-collect.timer")
    # systemd forgets what a unit used when it ends, where no timer refers to it
    box.say(f"printf '[Timer]\\nOnActiveSec=1d\\nUnit=%s.service\\n' millrace-heartbeat > {HOLD}")
    box.say(f"systemctl start {HOLD.rpartition('/')[2]}")
    yield
    box.say(f"systemctl stop {HOLD.rpartition('/')[2]}; rm {HOLD}")
    box.millrace("alert route remove cost", seconds=600)
    box.millrace("metrics off", seconds=600)
    box.say(f"systemctl start {timers}")


def test_looking_costs_less_than_a_hundredth_of_a_processor(box: Box, looked_at: None) -> None:
    before = slowness(box)
    shares = {look.unit: cost(box, look) * look.times_an_hour / HOUR for look in LOOKS}
    began, staying = uptime(box), {one: used(box, one) for one in STAYING}
    box.say(f"sleep {AT_REST}", seconds=300)
    elapsed = uptime(box) - began
    shares |= {one: (used(box, one) - then) / elapsed for one, then in staying.items()}
    # of another load of the host in between, the mean
    slower = (before + slowness(box)) / 2
    scaled = {name: share / max(slower, 1.0) for name, share in shares.items()}
    print(f"this server is {slower:.1f} times slower than real hardware; of one processor at rest, scaled by that:")
    for name, share in sorted(scaled.items(), key=lambda one: -one[1]):
        print(f"{name:<26} {100 * share:.3f} %  (measured {100 * shares[name]:.2f} %)")
    print(f"together {100 * sum(scaled.values()):.3f} % of {100 * BUDGET:g} %")
    # a unit that did not run would cost nothing
    assert all(shares[look.unit] > 0 for look in LOOKS)
    assert sum(scaled.values()) < BUDGET
