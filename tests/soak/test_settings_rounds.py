# SPDX-License-Identifier: Apache-2.0
"""The settings of arrays that serve are changed in turn, 1,000 times: no write of one hangs, and no block is wrong.

`millrace tune` and the tuner write them on a live array. A run of the instrument hung once while worker threads, stripe
cache and dirty limits were changed. `ROUNDS` in the environment is another number of rounds.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import FIVE, MD, serving
from vm.accel import Accel

pytestmark = pytest.mark.soak

ROUNDS = int(os.environ.get("ROUNDS", "1000"))
# The kernel calls a task hung after as many seconds.
HUNG = 120
SMALL = "--rw=randrw --bs=4k --direct=1 --iodepth=16 --size=64M"
STREAM = "--rw=write --bs=1M --direct=1 --iodepth=4 --size=96M"
BUFFERED = "--rw=randwrite --bs=16k --fsync=64 --iodepth=1 --size=64M"
LOADS = {"small": SMALL, "stream": STREAM, "buffered": BUFFERED}
CHANGES = f"""
import json, pathlib, subprocess, time
device = pathlib.Path("/dev/md/millrace-data").resolve().name
queue = pathlib.Path("/sys/class/block", device)
md = queue / "md"
virtual = pathlib.Path("/proc/sys/vm")
knobs = [
    (md / "group_thread_cnt", ["0", "2", "1", "4"]),
    (md / "stripe_cache_size", ["256", "4096", "17", "2048"]),
    (virtual / "dirty_background_bytes", ["1048576", "67108864"]),
    (virtual / "dirty_bytes", ["4194304", "268435456"]),
    (md / "preread_bypass_threshold", ["0", "1"]),
    (md / "sync_speed_min", ["1000", "100000"]),
    (queue / "queue/read_ahead_kb", ["0", "8192"]),
]
now, longest = pathlib.Path("/run/rounds.now"), {{}}
for number in range({ROUNDS}):
    for at, (path, values) in enumerate(knobs):
        now.write_text(f"round {{number}}: {{path.name}}")
        before = time.monotonic()
        path.write_text(values[(number + at) % len(values)])
        longest[path.name] = max(longest.get(path.name, 0), time.monotonic() - before)
    now.with_suffix(".done").write_text(str(number + 1))
pathlib.Path("/run/rounds.json").write_text(json.dumps(longest))
"""


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(FIVE, image, accelerator, tmp_path_factory.mktemp("rounds")) as box:
        yield box


def test_settings_of_a_live_array_are_changed_again_and_again(box: Box) -> None:
    box.machine.wait_command(f"grep -qx idle {MD}/sync_action", "the end of the first synchronisation", 900)
    for name, words in LOADS.items():
        fio = f"fio --name={name} --directory=/srv/pool/data --ioengine=libaio --time_based --runtime=10h {words}"
        # fio that is stopped fails, and is no failed unit for that
        box.say(f"systemd-run --collect --unit=load-{name} {fio}")
    box.machine.run("cat > /run/rounds.py", stdin=CHANGES)
    box.say("systemd-run --unit=rounds python3 /run/rounds.py")
    done = -1
    while box.machine.run("test -e /run/rounds.json", check=False).status != 0:
        rounds = int(box.say("cat /run/rounds.done 2>/dev/null || echo 0"))
        stack = "cat /run/rounds.now /proc/$(systemctl show -P MainPID rounds)/stack; systemctl status rounds; true"
        assert rounds > done, box.say(stack)
        done = rounds
        more = f"[ $(cat /run/rounds.done || echo 0) -gt {done + 20} ] || [ -e /run/rounds.json ]"
        box.machine.run(f"timeout {2 * HUNG} sh -c 'until {more}; do sleep 2; done'", check=False, seconds=4 * HUNG)
    print(f"{ROUNDS} rounds; the longest write of each setting:", box.say("cat /run/rounds.json"))
    # the loads ran to the end, and nothing waited for as long as the kernel calls hung
    for name in LOADS:
        assert box.say(f"systemctl is-active load-{name}; true") == "active"
    assert box.say("dmesg | grep -iE 'blocked for more than|hung|soft lockup|Call Trace'; true") == ""
    assert max(json.loads(box.say("cat /run/rounds.json")).values()) < HUNG
    box.say(f"systemctl stop {' '.join(f'load-{name}' for name in LOADS)}", seconds=600)


def test_settings_are_the_plans_again_and_every_block_is_right(box: Box) -> None:
    box.millrace("tune", seconds=600)
    assert box.shown("tune --diff --json")["drift"] == []
    box.say(f"sync; echo check > {MD}/sync_action")
    box.machine.wait_command(f"grep -qx idle {MD}/sync_action", "the end of the check", 900)
    assert box.say(f"cat {MD}/mismatch_cnt") == "0"
    assert box.failed_units() == []
