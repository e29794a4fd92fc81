# SPDX-License-Identifier: Apache-2.0
"""A change that is killed at any moment leaves the old or the new state, and what it left is swept by the next."""

import json

import pytest

from tests.vm.box import Box

pytestmark = pytest.mark.usefixtures("models")

PARTS = 4
# Kills `millrace share set` once in each of COUNT parts of the time that it takes, which may fall while it is measured;
# prints the part, how each one ended and what config.json says then.
KILLS = """
import json, random, signal, subprocess, sys, time
count = int(sys.argv[1])
def change(comment):
    return subprocess.Popen(["millrace", "share", "set", "models", "--comment", comment],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
start = time.monotonic()
assert change("before").wait() == 0
takes = time.monotonic() - start
said = []
for part in range(count):
    for _ in range(3):
        start = time.monotonic()
        process = change(f"kill {part}")
        try:
            process.wait(takes * (part + random.random()) / count)
            # it was faster than the ones before: their time is not that of this server now
            takes = time.monotonic() - start
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        said.append((part, process.wait(), json.load(open("/var/lib/millrace/config.json"))))
        if said[-1][1] == -signal.SIGKILL:
            break
print(json.dumps(said))
"""


def test_kill_9_during_a_change(box: Box) -> None:
    killed = json.loads(box.machine.run(["python3", "-c", KILLS, str(PARTS)], seconds=900).out)
    assert sum(status == -9 for _, status, _ in killed) >= 3
    expected = ["before", *(f"kill {part}" for part in range(PARTS))]
    serials = []
    for part, _, config in killed:
        (share,) = [share for share in config["shares"] if share["name"] == "models"]
        # that of this change, or of one before
        assert share["comment"] in expected[: part + 2]
        serials.append(config["serial"])
    assert serials == sorted(serials)
    box.millrace("share set models --comment after", seconds=600)
    assert "127.0.0.1" not in box.say("exportfs -s; cat /etc/exports.d/*")
    assert "millrace-check" not in box.say("pdbedit -L")
    assert box.say("ls -d /run/millrace/verify-* 2>/dev/null; true") == ""
    assert "/run/millrace" not in box.say("cat /proc/mounts")
    assert (
        box.say("find /var/lib/millrace /etc/exports.d /etc/samba -maxdepth 2 -name '.*.json.*' -o -name '.*.conf.*'")
        == ""
    )
    assert "/srv/pool/models" in box.say("exportfs -s")
    assert box.say("testparm -s --section-name=models --parameter-name=comment 2>/dev/null") == "after"
