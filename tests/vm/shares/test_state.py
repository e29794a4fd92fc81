# SPDX-License-Identifier: Apache-2.0
"""The wanted state: taken back, edited by hand, damaged. Last, because it boots the server again."""

import json

import pytest

from tests.vm.box import NETWORKS, Box

pytestmark = pytest.mark.usefixtures("models")


def test_a_change_can_be_taken_back(box: Box) -> None:
    history = box.read_json("millrace config history --json")
    number = max(change["number"] for change in history["changes"])
    box.say("millrace share set models --comment 'for a \"while\", then not'", seconds=600)
    box.say(f"millrace config rollback {number}", seconds=600)
    assert "while" not in box.say("millrace share list --json")


def test_an_edited_file_is_reported_and_a_foreign_one_stops_nothing(box: Box) -> None:
    box.say("echo '# mine' >> /etc/exports.d/millrace.exports; echo 'not an export(' > /etc/exports.d/other.exports")
    box.say("systemctl reload millrace-share.service; systemctl restart nfs-server.service", seconds=300)
    assert box.say("systemctl is-active nfs-server.service") == "active"
    assert "/srv/pool/models" in box.say("exportfs -s")
    found = json.dumps(box.read_json("millrace health --json"))
    assert "millrace.exports" in found
    assert "other.exports" in found
    box.say("rm /etc/exports.d/other.exports; millrace share render --force", seconds=300)
    assert "# mine" not in box.say("cat /etc/exports.d/millrace.exports")


def test_damaged_state_boots_to_the_last_good_one_and_says_so(box: Box) -> None:
    box.say("truncate -s 100 /var/lib/millrace/config.json; sync")
    box.machine.reboot()
    box.wait_serving()
    box.wait_booted()
    assert box.failed_units() == []
    assert "/srv/pool/models" in box.say("exportfs -s")
    assert "config.json" in json.dumps(box.read_json("millrace health --json"))
    assert NETWORKS[0] in box.say("exportfs -s")
