# SPDX-License-Identifier: Apache-2.0
"""A drive dies and is replaced with one command while files are written; the next boot finds a healthy pool."""

import json
from typing import Any

import pytest

from tests.vm.box import Box
from tests.vm.life.words import EXPORT

pytestmark = pytest.mark.usefixtures("in_use")

NEW = "MRN00000000001"
MD = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))/md"
BLOCK = 65536
# Every block can be told from every other, and from one that was not written.
BLOCKS = f"""
import hashlib
def block(number):
    seed = hashlib.sha256(b"replaced" + number.to_bytes(8, "big")).digest()
    return seed * ({BLOCK} // len(seed))
"""
WRITER = f"""
import os
{BLOCKS}
file = os.open("{EXPORT}/replaced", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
log = open("/run/replaced", "w")
number = 0
while not os.path.exists("/run/enough"):
    os.pwrite(file, block(number % 4096), number % 4096 * {BLOCK})
    os.fsync(file)
    print(number, file=log, flush=True)
    number += 1
"""
READER = f"""
import sys
{BLOCKS}
with open("{EXPORT}/replaced", "rb") as file:
    for number in range(min(int(sys.argv[1]), 4095) + 1):
        assert file.read({BLOCK}) == block(number), number
print("intact")
"""


def record(box: Box, name: str) -> dict[str, Any]:
    """An array as pool.json has it."""
    (found,) = [one for one in box.pool["arrays"] if one["array"]["name"] == name]
    return dict(found)


def serials(members: list[dict[str, str]]) -> list[str]:
    return [one["serial"] for one in members]


def lines(text: str) -> list[dict[str, Any]]:
    """JSON lines; what else was printed was for the terminal."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def old(box: Box) -> str:
    """A data drive that died, in whose bay is another one now; where there is one, that with the log's spare."""
    box.machine.wait_command(f"grep -qx 0 {MD}/degraded", "every member in sync", 900)
    members = serials(record(box, "data")["members"])
    spares = [one for one in serials(record(box, "log")["spares"]) if one in members]
    old = (spares or members)[0]
    box.machine.pull(old)
    box.machine.wait_command(f"grep -qx 1 {MD}/degraded", "the lost member", 120)
    (row,) = [one for one in box.shown("drive list --json")["drives"] if one["serial"] == old]
    assert (row["verdict"], row["name"]) == ("missing", None)
    box.machine.replace(old, NEW)
    return old


def test_dead_drive_is_replaced_while_files_are_written(box: Box, old: str) -> None:
    arrays = ["log", "data"] if old in serials(record(box, "log")["spares"]) else ["data"]
    generation = box.pool["generation"]
    box.machine.run("cat > /run/writer.py", stdin=WRITER)
    box.say("systemd-run --unit=replaced python3 /run/writer.py")
    box.machine.wait_command("test $(wc -l < /run/replaced) -ge 10", "ten blocks synced", 300)
    done = box.machine.run(["millrace", "drive", "replace", old, "--yes", "--json"], seconds=1200, check=False)
    print(done.out[:2000], done.out[-2000:], done.err, box.say("journalctl -b -u millrace-drive -o cat"))
    print(box.say("cat /proc/mdstat; ls -l /var/lib/millrace"))
    assert done.status == 0
    proposal, *progress, end = lines(done.out)
    plan = proposal["plan"]
    assert (plan["old"]["serial"], plan["new"]["serial"]) == (old, NEW)
    assert [one["array"] for one in plan["partitions"] if one["array"]] == arrays
    steps = [one["step"] for one in progress]
    assert "rebuild data" in steps and steps[-1] is None
    assert (end["error"], bool(end["ended"])) == (None, True)
    assert box.say(f"cat {MD}/degraded") == "0"
    box.say("touch /run/enough")
    box.machine.wait_command("! systemctl is-active replaced.service", "the end of the writer", 120)
    synced = box.say("tail -n 1 /run/replaced")
    box.say("sync; echo 3 > /proc/sys/vm/drop_caches")
    assert box.machine.run(["python3", "-c", READER, synced], seconds=600).out.strip() == "intact"
    members = record(box, "data")["members"]
    assert NEW in serials(members) and old not in serials(members)
    assert all(one["partuuid"] and one["label"] for one in members if one["serial"] == NEW)
    assert box.pool["generation"] > generation
    assert NEW in serials(box.pool["drives"]) and old not in serials(box.pool["drives"])
    assert box.say("ls /var/lib/millrace/drive-change.json 2>&1; true").endswith("No such file or directory")
    (row,) = [one for one in box.shown("drive list --json")["drives"] if one["serial"] == NEW]
    assert (row["verdict"], row["role"]) == ("in-sync", "data")


def test_copies_agree_after_the_rebuild(box: Box, old: str) -> None:
    box.machine.wait_command(f"grep -qx idle {MD}/sync_action", "an idle array", 300)
    box.say(f"echo check > {MD}/sync_action")
    box.machine.wait_command(f"grep -qx idle {MD}/sync_action", "the end of the check", 900)
    assert box.say(f"cat {MD}/mismatch_cnt") == "0"


def test_server_is_healthy_after_a_reboot_and_waits_for_no_drive(box: Box, old: str) -> None:
    box.machine.reboot()
    box.wait_serving()
    said = box.say("journalctl -b -u millrace-assemble -o cat")
    print(said)
    members = len(record(box, "data")["members"])
    assert f"RAID6 data: started, {members} members" in said
    assert "RAID1 log: started, 2 members" in said
    assert "without" not in said
    box.wait_booted()
    assert box.failed_units() == []
    assert box.say("systemctl show -P ConditionResult millrace-drive.service") == "no"
    arrays = [one for one in box.shown("health --json")["findings"] if one["check"] == "arrays"]
    assert {one["level"] for one in arrays} == {"OK"}, arrays
    assert NEW in box.members_by_serial("data") and old not in box.members_by_serial("data")
    seen_spares = serials(record(box, "log")["spares"])
    assert old not in seen_spares
    shown = {one["serial"]: one["state"] for one in box.shown("pool show --json")["arrays"][0]["members"]}
    assert set(shown.values()) == {"in-sync"}, shown
