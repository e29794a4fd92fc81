# SPDX-License-Identifier: Apache-2.0
"""What the server spends on looking at itself: less than a hundredth of a processor, at rest and on real hardware.

An emulated processor is many times slower, and not equally in programs and in the kernel. So a program that does what a
check does is measured in the server and on the host of the tests, and both kinds of time are scaled by its own.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.vm.box import NEVER, Box

# by hand: an emulated processor that others use, too, measures the others
pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("in_use")]

# Of one processor, with metrics scraped every 30 s and a route for alerts.
BUDGET = 0.01
PERIOD = 30
HOUR = 3600.0
# Prints seconds of user and of system time. A check imports nothing, but is Python; it reads 1,200 files of sysfs, runs
# 8 tools, and is a fork of a large process, of which it copies 5,000 pages. This does five times as much.
REFERENCE = """import os, resource, subprocess, sys
work = '''import asyncio, email.message, http.client, json, pydantic, tarfile
from pydantic import create_model
for number in range(20): create_model(f"M{number}", a=(int, 1), b=(str, ""), c=(list[int], []))'''
held = [[str(number)] for number in range(250_000)]
def reference():
    subprocess.run([sys.executable, "-I", "-c", work], check=True)
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            for one in held[::40]: one.append("x")
            os._exit(0)
        os.waitpid(pid, 0)
    for _ in range(40):
        subprocess.run(["/bin/true"])
    for _ in range(2000):
        for path in ("/sys/class/net/lo/mtu", "/proc/self/mountinfo", "/proc/stat"):
            with open(path) as file: file.read()
def spent():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime for one in both), sum(one.ru_stime for one in both)
found = []
for _ in range(3):
    before = spent()
    reference()
    found.append([after - then for after, then in zip(spent(), before)])
print(*min(found, key=sum))
"""


class Time(NamedTuple):
    """Seconds of a processor, or parts of one."""

    user: float
    system: float

    def minus(self, other: "Time") -> "Time":
        return Time(self.user - other.user, self.system - other.system)

    def times(self, user: float, system: float) -> "Time":
        return Time(self.user * user, self.system * system)


# What looks by itself all the time, or is started each time by what does.
STAYING = ("checker", "heartbeat", "metrics-collector", "metrics", "node-exporter", "alert")
# Scrapes as Prometheus does, at each period.
SCRAPER = """import ssl, sys, time, urllib.request
until = time.monotonic() + float(sys.argv[1])
seen = 0
while time.monotonic() < until:
    begun = time.monotonic()
    with urllib.request.urlopen("https://127.0.0.1:19100/metrics", context=ssl._create_unverified_context()) as reply:
        seen += b"\\nnode_md_disks{" in reply.read()
    time.sleep(max(0.0, begun + float(sys.argv[2]) - time.monotonic()))
print(seen)
"""
# What a timer starts, by how often in an hour.
STARTED = {"smart": 6, "scrub": 4, "trim": 4, "keep": 1}
UNITS = (*STAYING, *STARTED)
SYSTEMD = "systemd"
RUNS = 3
# The first runs start what stays and teach it what to import.
WARM_UP, AT_REST = 120, 300


def slice_of(name: str) -> str:
    """The slice of a unit while it is measured: it has its own account, which does not end with a process."""
    return f"cost_{name.replace('-', '_')}.slice"


def used(box: Box) -> dict[str, Time]:
    """Seconds of a processor that each unit, and systemd, has used until now."""
    where = " ".join(f"/sys/fs/cgroup/{one}/cpu.stat" for one in ("init.scope", *map(slice_of, UNITS)))
    found = re.findall(r"fs/cgroup/(\S+?)/cpu.stat:(user|system)_usec (\d+)", box.say(f"grep -H _usec {where}"))
    seconds = {(place, kind): int(count) / 1e6 for place, kind, count in found}
    places = {SYSTEMD: "init.scope", **{name: slice_of(name) for name in UNITS}}
    return {name: Time(seconds[one, "user"], seconds[one, "system"]) for name, one in places.items()}


def cost(box: Box, name: str) -> Time:
    """Parts of a processor that a unit uses that a timer starts."""
    start = f"systemctl start millrace-{name}.service"
    box.say(start, seconds=600)
    before = used(box)[name]
    for _ in range(RUNS):
        box.say(start, seconds=600)
    often = STARTED[name] / HOUR / RUNS
    return used(box)[name].minus(before).times(often, often)


def uptime(box: Box) -> float:
    return float(box.say("cut -d' ' -f1 /proc/uptime"))


def slowness(box: Box) -> Time:
    """How many times slower than on the host of the tests a program of this kind is in the server now."""
    here = subprocess.run([sys.executable, "-I", "-c", REFERENCE], capture_output=True, text=True, check=True).stdout
    there = box.machine.run("python3 -I -", stdin=REFERENCE, seconds=600).out
    user, system = (float(one) / float(other) for one, other in zip(there.split(), here.split(), strict=True))
    return Time(user, system)


@pytest.fixture(scope="module")
def looked_at(box: Box) -> Iterator[None]:
    """A server whose metrics are scraped and that has a route; each unit that looks has a slice of its own."""
    box.millrace("metrics on --from 127.0.0.1", seconds=600)
    box.millrace("alert route add syslog cost", seconds=600)
    box.say("systemctl stop millrace-upkeep@smart.timer")
    for name in UNITS:
        directory = f"/run/systemd/system/millrace-{name}.service.d"
        box.say(f"mkdir -p {directory}; printf '[Service]\\nSlice=%s\\n' {slice_of(name)} > {directory}/cost.conf")
    box.say(f"systemctl daemon-reload; systemctl start {' '.join(map(slice_of, UNITS))}")
    box.say(f"systemctl restart {' '.join(f'millrace-{name}' for name in STAYING)}")
    box.look_every(PERIOD)
    yield
    box.say("rm /run/systemd/system/millrace-*.service.d/cost.conf")
    box.look_every(NEVER)
    box.millrace("alert route remove cost", seconds=600)
    box.millrace("metrics off", seconds=600)
    box.say("systemctl restart millrace-alert.service; systemctl start millrace-upkeep@smart.timer")


def scraped(box: Box, seconds: int) -> int:
    """Let so much time pass while metrics are scraped; return how many replies had those of node_exporter."""
    return int(box.machine.run(f"python3 -I - {seconds} {PERIOD}", stdin=SCRAPER, seconds=3 * seconds).out)


def test_looking_costs_less_than_a_hundredth_of_a_processor(box: Box, looked_at: None) -> None:
    shares = {name: cost(box, name) for name in STARTED}
    slower = slowness(box)
    scraped(box, WARM_UP)
    began, before = uptime(box), used(box)
    replies = scraped(box, AT_REST)
    elapsed, after = uptime(box) - began, used(box)
    again = slowness(box)
    shares |= {name: after[name].minus(before[name]).times(1 / elapsed, 1 / elapsed) for name in (*STAYING, SYSTEMD)}
    # of another load of the host in between, the mean
    user, system = (slower.user + again.user) / 2, (slower.system + again.system) / 2
    scaled = {name: sum(share.times(1 / user, 1 / system)) for name, share in shares.items()}
    print(f"this server is {user:.1f} times slower in programs, {system:.1f} times in the kernel; of one processor:")
    for name, share in sorted(scaled.items(), key=lambda pair: -pair[1]):
        measured = f"measured {100 * shares[name].user:.2f} % + {100 * shares[name].system:.2f} %"
        print(f"{name:<18} {100 * share:.3f} %  ({measured})")
    print(f"together {100 * sum(scaled.values()):.3f} % of {100 * BUDGET:g} %")
    # a unit that did not run would cost nothing
    assert all(sum(share) > 0 for share in shares.values())
    assert replies >= AT_REST // PERIOD - 2
    # and so would a check that did not run
    age = float(box.say("echo $(( $(date +%s) - $(stat -c %Y /run/millrace/health.json) ))"))
    assert age < 2 * PERIOD
    assert sum(scaled.values()) < BUDGET
