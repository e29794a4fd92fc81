# SPDX-License-Identifier: Apache-2.0
"""A drive dies while the server serves and its overview is open."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.fixtures import *  # noqa: F403
from tests.browser.stories.dying_drive import *  # noqa: F403
from tests.browser.user import User
from tests.vm import seen
from tests.vm.box import SELDOM, Box
from tests.vm.direct_reads import CHUNKS, read_beside_missing
from tests.vm.life.words import EXPORT, VIEWER

ARRAY = "/dev/md/millrace-data"
MD = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))/md"


@pytest.fixture(scope="module", autouse=True)
def looks(in_use: Box) -> None:
    """The server looks at everything by itself, as after every boot."""
    in_use.look_every(SELDOM)


@pytest.fixture(scope="module")
def lost(box: Box) -> Iterator[str]:
    """The drive that the browser's story pulled, or one that is pulled now. It is back afterwards."""
    members = set(box.plan["arrays"][0]["members"])
    if not members - box.members_by_serial("data"):
        box.say("systemctl start millrace-health.service")
        with seen.watching(box) as lines:
            box.machine.pull(min(members))
            box.machine.wait_command('tail -n 2 /run/watched | grep -qE \'"health":"(WARN|FAIL)"\'', "the warning", 10)
        assert lines[0]["health"] == "OK"
    (lost,) = members - box.members_by_serial("data")
    yield str(lost)
    box.machine.put_in(lost)
    # what a story marked as faulty is good, and catches up
    box.say(f"mdadm {ARRAY} --remove faulty; millrace assemble; true", seconds=600)
    box.machine.wait_command(f"grep -qx 0 {MD}/degraded && grep -qx idle {MD}/sync_action", "members in sync", 900)
    box.say("systemctl start millrace-health.service", seconds=600)


def test_pulled_drive_is_named_to_users_with_console_access(box: Box, lost: str) -> None:
    arrays = {array["name"]: array for array in box.shown("pool show --json")["arrays"]}
    assert arrays["data"]["degraded"] == 1 == arrays["data"]["may_fail"]
    (gone,) = [member for member in arrays["data"]["members"] if member["state"] == "missing"]
    assert gone["serial"] == lost
    nodes = box.shown("topology --json")["nodes"]
    drives = {drive["serial"]: drive for node in nodes for drive in node["drives"]}
    assert (drives[lost]["present"], drives[lost]["member"]) == (False, "missing")
    status = box.shown("status --json", user=VIEWER)
    (named,) = [finding["sentence"] for finding in status["health"]["findings"] if "is degraded" in finding["sentence"]]
    assert f"({lost}) is missing; it survives 1 more failure" in named and "bay " in named
    said = box.millrace("status").out.splitlines()
    assert len(said) <= 24
    todo = f"Replace the drive: millrace drive replace {lost}"
    assert any(line.startswith("Next") and "is degraded" in line and line.endswith(todo) for line in said)


def test_array_that_changed_is_tuned_again(box: Box, lost: str) -> None:
    array = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))"
    cache = f"{array}/md/stripe_cache_size"
    planned = box.say(f"cat {cache}")
    over = "systemctl show -P ActiveState millrace-event@arrays.timer | grep -x inactive"
    box.machine.wait_command(
        f'{over} && test -z "$(systemctl list-jobs --no-legend)"', "what the lost drive began", 300
    )
    box.say(f"echo 256 > {cache}")
    assert box.say(f"cat {cache}") == "256" != planned
    # RAID6 bears the loss of a second one; the link of the first may still be there, to nowhere
    (*_, second) = box.say(f"cd {array}/slaves && for one in *; do test -e $one && echo $one; done; true").split()
    box.say(f"mdadm {ARRAY} --fail /dev/{second}")
    box.machine.wait_command(f"grep -x {planned} {cache}", "the planned stripe cache", 300)


def test_reads_of_the_drives_that_are_left_are_direct_and_right(box: Box, lost: str) -> None:
    array = box.say(f"readlink -f /sys/class/block/$(basename $(readlink -f {ARRAY}))")
    missing = int(box.say(f"cat {array}/md/degraded"))
    assert missing == 2
    found = read_beside_missing(box, f"{EXPORT}/direct", array)
    assert found.wrong == []
    # data of missing drives is in the stripe cache the second time; Debian's raid456 would have all of it there
    assert found.again > CHUNKS / 2


def test_alert_is_acknowledged_on_the_bell(admin: User, lost: str) -> None:
    admin.go("Overview")
    admin.ours.get_by_test_id("bell").press("Enter")
    alert = admin.ours.get_by_test_id("open-alerts").locator("[data-key='arrays/data']")
    expect(alert).to_contain_text(lost)
    alert.get_by_role("button", name="Acknowledge arrays/data").press("Enter")
    expect(alert).to_contain_text("acknowledged by admin")
    expect(alert.get_by_role("button")).to_have_count(0)
