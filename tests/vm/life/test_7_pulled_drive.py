# SPDX-License-Identifier: Apache-2.0
"""A drive that is pulled while the server serves."""

from tests.vm import seen
from tests.vm.box import Box
from tests.vm.life.words import AS_VIEWER


def test_a_drive_that_is_pulled_is_seen_within_ten_seconds(box: Box) -> None:
    serial = box.plan["arrays"][0]["members"][4]
    with seen.watching(box) as lines:
        box.machine.pull(serial)
        box.machine.wait_command('tail -n 2 /run/watched | grep -qE \'"health":"(WARN|FAIL)"\'', "the warning", 10)
    assert lines[0]["health"] == "OK"
    arrays = {array["name"]: array for array in box.read_json("millrace pool show --json")["arrays"]}
    name = box.plan["arrays"][0]["name"]
    assert arrays[name]["degraded"] == 1 == arrays[name]["may_fail"]
    (gone,) = [member for member in arrays[name]["members"] if member["state"] == "missing"]
    assert gone["serial"] == serial
    nodes = box.read_json("millrace topology --json")["nodes"]
    drives = {one["serial"]: one for node in nodes for one in node["drives"]}
    assert (drives[serial]["present"], drives[serial]["member"]) == (False, "missing")
    status = box.read_json(f"{AS_VIEWER} status --json")
    assert any("misses 1 of 10 drives" in one["sentence"] for one in status["health"]["findings"])
