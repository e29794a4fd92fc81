# SPDX-License-Identifier: Apache-2.0
"""Twelve blank drives and nobody who approved: a plan is shown, nothing is written until a person names its hash."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import ADMIN_PASSWORD, Box, credentials
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    given = credentials()
    # no password is handed in: the appliance makes its own
    del given["millrace.admin-password"]
    with appliance(
        server_named("1u12"), image, tmp_path_factory.mktemp("approval"), accelerator, credentials=given
    ) as machine:
        machine.start()
        box = Box(machine)
        box.wait_booted()
        yield box


@pytest.fixture(scope="module")
def digest(box: Box) -> str:
    return str(box.read_json("cat /run/millrace/plan.json")["sha256"])


def test_plan_is_on_the_console_and_in_the_journal(box: Box, digest: str) -> None:
    assert f"millrace approve {digest}" in box.machine.console
    assert digest in box.say("journalctl -b -u millrace-plan --no-pager")


def test_banner_says_what_is_missing(box: Box, digest: str) -> None:
    box.say("systemctl start millrace-health.service")
    banner = box.say("cat /run/issue.d/50-millrace.issue")
    assert "no pool" in banner.lower()
    assert digest[:12] in banner


def test_nothing_is_written(box: Box) -> None:
    assert box.say("for d in /dev/nvme*n1; do cmp -n 16777216 $d /dev/zero || echo $d; done") == ""


def test_box_answers_without_a_pool(box: Box) -> None:
    assert box.failed_units() == []
    assert box.say("systemctl is-active cockpit.socket") == "active"
    assert box.machine.run("systemctl is-active nfs-server smbd", check=False).out.split() == ["inactive", "inactive"]


def test_one_time_password_is_on_the_console_only_and_must_be_changed(box: Box) -> None:
    (password,) = set(re.findall(r"One-time password: (\S+)", box.machine.console))
    assert len(password) >= 16
    assert password != ADMIN_PASSWORD
    assert box.machine.run(f"journalctl -b --no-pager | grep -F -- {password}", check=False).out == ""
    # /etc/shadow: day 0 means that the next login must change it
    assert box.say("getent shadow admin | cut -d: -f3") == "0"
    assert box.say("stat -c %a /run/issue.d/60-millrace-admin.issue") == "600"


@pytest.mark.parametrize("wrong", ["0" * 64, "not-a-hash", ""])
def test_a_wrong_hash_is_refused(box: Box, wrong: str) -> None:
    refused = box.machine.run(["millrace", "approve", wrong], check=False)
    assert refused.status in {1, 2}
    assert len(refused.err.strip().splitlines()) == 1
    assert box.machine.run("test -e /var/lib/millrace/approval.json", check=False).status == 1


def test_a_stale_hash_is_refused(box: Box, digest: str) -> None:
    """A drive leaves after the plan was read: what was approved is not what would be built."""
    box.machine.qmp("device_del", id="nvme11")
    box.machine.wait_command("test $(ls -d /sys/block/nvme*n1 | wc -l) = 11", "drive gone", 60)
    refused = box.machine.run(["millrace", "approve", digest], check=False, seconds=600)
    assert refused.status == 1
    assert box.machine.run("test -e /var/lib/millrace/pool.json", check=False).status == 1
    assert box.say("for d in /dev/nvme*n1; do cmp -n 16777216 $d /dev/zero || echo $d; done") == ""
    box.machine.shutdown()
    box.machine.start()
    box.wait_booted()


def test_the_right_hash_builds_the_pool(box: Box, digest: str) -> None:
    # over the console, as the person in front of it would
    box.machine.run(["millrace", "approve", digest], seconds=1200)
    box.wait_serving()
    assert box.plan["title"]
    box.wait_booted()
    assert box.failed_units() == []
