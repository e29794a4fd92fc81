# SPDX-License-Identifier: Apache-2.0
"""Twelve blank drives without an approval: a plan is shown, nothing is written until its hash is approved."""

import time

import pytest

from tests.vm.box import ADMIN_PASSWORD, Box
from tests.vm.life.words import SERVER
from vm.accel import Accel
from vm.console import SignIn, go_on, sign_in

# Seconds: cockpit-ws without a session ends after 90 by default (Cockpit 372, src/ws/cockpitauth.c), and with it each
# sign-in that waits for an answer.
THOUGHT = 100.0


@pytest.fixture(scope="module")
def pondering(box: Box, port: int, one_time: str) -> tuple[float, SignIn]:
    """A person who has signed in with the one-time password and thinks of another one, since that time."""
    return time.monotonic(), sign_in(port, "admin", one_time)


def test_first_sign_in_asks_for_a_password_of_ones_own(pondering: tuple[float, SignIn]) -> None:
    _, asked = pondering
    assert (asked.status, len(asked.prompts), "New password" in asked.prompts[0]) == (401, 1, True)


def test_plan_is_on_the_console_and_in_the_journal(box: Box, digest: str) -> None:
    assert f"millrace approve {digest}" in box.machine.console
    assert digest in box.say("journalctl -b -u millrace-plan --no-pager")


def test_emulated_server_uses_the_tsc_as_its_clock(box: Box, accelerator: Accel) -> None:
    clocks = "/sys/devices/system/clocksource/clocksource0"
    assert "hpet" not in box.say(f"cat {clocks}/available_clocksource").split()
    assert accelerator.name == "kvm" or box.say(f"cat {clocks}/current_clocksource") == "tsc"


def test_banner_names_the_missing_pool_and_the_plan(box: Box, digest: str) -> None:
    box.say("systemctl start millrace-health.service")
    banner = box.say("cat /run/issue.d/50-millrace.issue")
    assert "no pool" in banner.lower()
    assert digest[:12] in banner


def test_no_drive_is_written_before_approval(box: Box) -> None:
    assert box.say("for d in /dev/nvme*n1; do cmp -n 16777216 $d /dev/zero || echo $d; done") == ""


def test_server_without_a_pool_runs_the_web_console_only(box: Box) -> None:
    assert box.failed_units() == []
    assert box.say("systemctl is-active cockpit.socket") == "active"
    assert box.machine.run("systemctl is-active nfs-server smbd", check=False).out.split() == ["inactive", "inactive"]


def test_one_time_password_is_on_the_console_only_and_must_be_changed(box: Box, one_time: str) -> None:
    assert len(one_time) >= 16
    assert one_time != ADMIN_PASSWORD
    assert box.machine.run(f"journalctl -b --no-pager | grep -F -- {one_time}", check=False).out == ""
    # /etc/shadow: day 0 means that the next login must change it
    assert box.say("getent shadow admin | cut -d: -f3") == "0"
    assert box.say("stat -c %a /run/issue.d/60-millrace-admin.issue") == "600"


def test_root_cannot_sign_in_to_the_web_console(box: Box, port: int) -> None:
    # with a password that would do at a prompt
    box.machine.run("chpasswd", stdin="root:not-for-the-web-1\n")
    refused = sign_in(port, "root", "not-for-the-web-1")
    assert (refused.status, refused.cookie) == (403, None)
    box.say("passwd --lock root")


@pytest.mark.parametrize("wrong", ["0" * 64, "not-a-hash", ""])
def test_wrong_hash_is_refused(box: Box, wrong: str) -> None:
    refused = box.millrace(["approve", wrong], check=False)
    assert refused.status in {1, 2}
    assert len(refused.err.strip().splitlines()) == 1
    assert box.machine.run("test -e /var/lib/millrace/approval.json", check=False).status == 1


def test_hash_of_an_outdated_plan_is_refused(box: Box, digest: str) -> None:
    """A drive leaves after the plan was read: what was approved is not what would be built."""
    serial = SERVER.drives[-1].serial
    box.machine.pull(serial)
    refused = box.millrace(["approve", digest], check=False, seconds=600)
    assert refused.status == 1
    assert box.machine.run("test -e /var/lib/millrace/pool.json", check=False).status == 1
    assert box.say("for d in /dev/nvme*n1; do cmp -n 16777216 $d /dev/zero || echo $d; done") == ""
    box.machine.put_in(serial)


def test_person_may_think_of_a_password_for_minutes(port: int, pondering: tuple[float, SignIn]) -> None:
    began, asked = pondering
    time.sleep(max(0.0, began + THOUGHT - time.monotonic()))
    # too short to be taken: the account keeps its one-time password
    refused = go_on(port, asked, ["short"])
    assert (refused.status, len(refused.prompts)) == (401, 1), refused.reason
