# SPDX-License-Identifier: Apache-2.0
"""Twelve blank drives and nobody who approved: a plan is shown, nothing is written until a person names its hash."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm import seen
from tests.vm.box import ADMIN_PASSWORD, Box, credentials
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance, pull
from vm.console import sign_in
from vm.machine import free_port

SERVER = server_named("1u12")
VIEWER = "vera"
VIEWER_PASSWORD = "looks-7-but-touches-nothing"


@pytest.fixture(scope="module")
def console() -> int:
    """The port of the web console on this host."""
    return free_port()


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, console: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    given = credentials()
    # no password is handed in: the appliance makes its own
    del given["millrace.admin-password"]
    directory = tmp_path_factory.mktemp("approval")
    with appliance(SERVER, image, directory, accelerator, credentials=given, forwards={9090: console}) as machine:
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


def test_root_is_not_let_into_the_web_console(box: Box, console: int) -> None:
    # with a password that would do at a prompt
    box.machine.run("chpasswd", stdin="root:not-for-the-web-1\n")
    refused = sign_in(console, "root", "not-for-the-web-1")
    assert (refused.status, refused.cookie) == (403, None)
    box.say("passwd --lock root")


def test_the_first_sign_in_asks_for_a_password_of_one_s_own(box: Box, console: int) -> None:
    (one_time,) = set(re.findall(r"One-time password: (\S+)", box.machine.console))
    asked = sign_in(console, "admin", one_time)
    assert asked.status == 401 and asked.cookie is None
    assert [prompt.strip(": ") for prompt in asked.prompts] == ["Current password"]
    smb_before = box.say("pdbedit -s /dev/null -L -w admin")
    done = sign_in(console, "admin", one_time, [one_time, ADMIN_PASSWORD, ADMIN_PASSWORD])
    assert done.prompts[1].startswith("New password") and done.prompts[2].startswith("Retype")
    assert (done.status, bool(done.cookie), "csrf-token" in done.body) == (200, True, True)
    assert sign_in(console, "admin", one_time).status == 401
    assert sign_in(console, "admin", ADMIN_PASSWORD).status == 200
    # what SMB takes changed with it, see the end of these stories
    assert box.say("pdbedit -s /dev/null -L -w admin") != smb_before


def test_the_password_on_the_console_is_gone_once_it_is_used(box: Box) -> None:
    box.say("systemctl start millrace-health.service")
    assert box.machine.run("test -e /run/issue.d/60-millrace-admin.issue", check=False).status == 1


def test_root_s_rights_cost_the_administrator_s_own_password(box: Box) -> None:
    as_admin = "runuser -u admin -- sudo -k -S -p '' id -u"
    assert box.machine.run(as_admin, stdin=f"{ADMIN_PASSWORD}\n").out.strip() == "0"
    assert box.machine.run(as_admin, stdin="wrong\nwrong\nwrong\n", check=False).status == 1
    assert box.machine.run("runuser -u admin -- sudo -k -n id -u", check=False).status == 1


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


def test_the_web_console_is_told_what_the_kernel_says(box: Box) -> None:
    seen.pool_is_as_the_kernel_has_it(box)
    seen.topology_is_as_the_kernel_has_it(box)
    seen.status_is_as_the_box_is(box)


def test_the_administrator_s_new_password_is_that_of_smb(box: Box) -> None:
    box.machine.run("umask 077; cat > /run/admin.smb", stdin=f"username=admin\npassword={ADMIN_PASSWORD}\n")
    assert "blocks available" in box.say("smbclient -A /run/admin.smb //127.0.0.1/data -c du")


def test_a_user_may_be_let_in_to_look(box: Box, console: int) -> None:
    box.machine.run(f"millrace user create {VIEWER} --password-stdin", stdin=f"{VIEWER_PASSWORD}\n")
    shut_out = sign_in(console, VIEWER, VIEWER_PASSWORD)
    assert shut_out.status != 200 and shut_out.cookie is None
    box.say(f"millrace user set {VIEWER} --console")
    assert sign_in(console, VIEWER, VIEWER_PASSWORD).status == 200


def test_who_may_only_look_sees_everything_and_changes_nothing(box: Box) -> None:
    box.say("systemctl start millrace-health.service")
    as_viewer = f"setpriv --reuid {VIEWER} --regid {VIEWER} --init-groups millrace"
    status = box.read_json(f"{as_viewer} status --json")
    assert not status["as_root"]
    assert status["health"]["level"] == box.read_json("cat /run/millrace/health.json")["level"]
    assert {one["check"] for one in status["health"]["findings"]} >= {"pool", "arrays", "nfs", "smb", "cockpit"}
    for verb in ("pool show", "topology", "plan", "share list", "user list", "session list", "config history"):
        assert box.read_json(f"{as_viewer} {verb} --json")["schema_version"]
    for verb in ("share remove data", f"user remove {VIEWER}", "config rollback 1"):
        refused = box.machine.run(f"{as_viewer} {verb}", check=False)
        assert refused.status == 1 and "root" in refused.err
    first, second = seen.watched(box, 2, VIEWER)
    nfs, smb = second["protocols"]
    assert first["health"] == status["health"]["level"]
    assert nfs["read_bytes_per_second"] is not None and smb["read_bytes_per_second"] is None
    assert any("administrators only" in note for note in second["notes"])


def test_a_drive_that_is_pulled_is_seen_within_ten_seconds(box: Box) -> None:
    serial = box.plan["arrays"][0]["members"][4]
    with seen.watching(box) as lines:
        pull(box.machine, SERVER, serial)
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
    status = box.read_json(f"setpriv --reuid {VIEWER} --regid {VIEWER} --init-groups millrace status --json")
    assert any("misses 1 of 10 drives" in one["sentence"] for one in status["health"]["findings"])
