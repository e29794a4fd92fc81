# SPDX-License-Identifier: Apache-2.0
"""Who may look sees what the kernel says, and changes nothing."""

import pytest

from host.layout import REPO
from tests.vm import seen
from tests.vm.box import ADMIN_PASSWORD, SERVER_ADDRESSES, Box
from tests.vm.life.words import VIEWER, VIEWER_PASSWORD
from vm.console import sign_in

pytestmark = pytest.mark.usefixtures("in_use")


def test_one_time_password_is_invalid_after_the_first_sign_in(box: Box, port: int, one_time: str) -> None:
    assert sign_in(port, "admin", one_time).status == 401
    assert sign_in(port, "admin", ADMIN_PASSWORD).status == 200
    box.say("systemctl start millrace-health.service")
    assert box.machine.run("test -e /run/issue.d/60-millrace-admin.issue", check=False).status == 1


def test_sudo_requires_the_password_of_the_administrator(box: Box) -> None:
    as_admin = "runuser -u admin -- sudo -k -S -p '' id -u"
    assert box.machine.run(as_admin, stdin=f"{ADMIN_PASSWORD}\n").out.strip() == "0"
    assert box.machine.run(as_admin, stdin="wrong\nwrong\nwrong\n", check=False).status == 1
    assert box.machine.run("runuser -u admin -- sudo -k -n id -u", check=False).status == 1


def test_pool_topology_and_status_match_the_kernel(box: Box) -> None:
    seen.pool_is_as_the_kernel_has_it(box)
    seen.topology_is_as_the_kernel_has_it(box)
    seen.status_is_as_the_box_is(box)


def test_plan_in_force_is_shown_and_explained(box: Box) -> None:
    assert box.shown("plan --json") == {"schema_version": 1, "sha256": box.pool["plan_sha256"], "proposal": box.plan}
    shown = box.millrace("plan").out
    assert shown.startswith("Plan in force: RAID6 of 10 drives") and "obstacle" not in shown
    assert box.shown("plan --explain layout --json")["decision"]["name"] == "layout"
    unknown = box.millrace("plan --explain nosuch", check=False)
    assert (unknown.status, unknown.out) == (2, "")
    assert "no decision 'nosuch'" in unknown.err


def test_new_password_of_the_administrator_is_valid_for_smb(box: Box) -> None:
    box.machine.run("umask 077; cat > /run/admin.smb", stdin=f"username=admin\npassword={ADMIN_PASSWORD}\n")
    assert "blocks available" in box.say("smbclient -A /run/admin.smb //127.0.0.1/data -c du")


def test_user_with_console_access_signs_in(box: Box, port: int) -> None:
    box.machine.run("millrace user create shares --password-stdin", stdin=f"{VIEWER_PASSWORD}\n")
    shut_out = sign_in(port, "shares", VIEWER_PASSWORD)
    assert shut_out.status != 200 and shut_out.cookie is None
    box.millrace("user remove shares")
    create = f"millrace access create {VIEWER} --role viewer --password-stdin"
    box.machine.run(create, stdin=f"{VIEWER_PASSWORD}\n")
    assert sign_in(port, VIEWER, VIEWER_PASSWORD).status == 200


def test_viewer_reads_every_document_and_changes_nothing(box: Box) -> None:
    box.say("systemctl start millrace-health.service")
    status = box.shown("status --json", user=VIEWER)
    assert not status["as_root"]
    assert status["health"]["level"] == box.read_json("cat /run/millrace/health.json")["level"]
    assert {finding["check"] for finding in status["health"]["findings"]} >= {"pool", "arrays", "nfs", "smb", "cockpit"}
    for verb in (
        "pool show",
        "topology",
        "plan",
        "share list",
        "share networks list",
        "user list",
        "session list",
        "config history",
    ):
        assert box.shown(f"{verb} --json", user=VIEWER)["schema_version"]
    for verb in ("share remove data", f"user remove {VIEWER}", "config rollback 1"):
        refused = box.millrace(verb, user=VIEWER, check=False)
        assert refused.status == 1 and "root" in refused.err
    first, second = seen.watched(box, 2, VIEWER)
    nfs, smb = second["protocols"]
    assert first["health"] == status["health"]["level"]
    assert nfs["read_bytes_per_second"] is not None and smb["read_bytes_per_second"] is None
    assert any("require" in note and "root" in note for note in second["notes"])


def test_viewer_reads_no_share_and_has_no_shell(box: Box) -> None:
    as_viewer = f"setpriv --reuid {VIEWER} --regid {VIEWER} --init-groups"
    assert box.machine.run(f"{as_viewer} ls /srv/pool/data", check=False).status != 0
    assert box.machine.run(f"{as_viewer} touch /var/tmp/mine", check=False).status != 0
    shell = box.say(f"getent passwd {VIEWER}").split(":")[-1]
    assert box.machine.run(f"{as_viewer} {shell} -c id", check=False).status == 1
    # everyone else passes as before
    assert box.machine.run("setpriv --reuid admin --regid admin --init-groups ls /srv/pool/data").status == 0


def test_changes_are_in_the_journal_by_number_and_user(box: Box) -> None:
    newest = box.shown("config history --json")["changes"][0]
    lines = box.say("journalctl -b -t millrace --facility=authpriv -o cat --no-pager").splitlines()
    assert lines[-1] == f"change {newest['number']} by {newest['who']}: {newest['what']}"
    # on disk, where they outlive a restart
    assert box.say("journalctl --header --no-pager").count("File path: /var/log/journal/")


def test_smb_accounts_do_not_expire(box: Box) -> None:
    accounts = box.say("pdbedit -s /dev/null -L -v").splitlines()
    times = [line.split(":", 1)[1].strip() for line in accounts if line.startswith("Kickoff time:")]
    assert times and set(times) == {"0"}


def test_samba_locks_an_account_after_ten_failures(box: Box) -> None:
    assert "value is: 10" in box.say("pdbedit -s /dev/null -P 'bad lockout attempt'")


def test_daemons_run_in_their_sandboxes(box: Box) -> None:
    # The kernel looks up exports where mountd stands: it has no mount namespace of its own.
    for unit, system in (("smbd", "strict"), ("nfs-mountd", "no"), ("nfsdcld", "strict"), ("nfs-idmapd", "strict")):
        shown = box.say(f"systemctl show -P NoNewPrivileges -P ProtectSystem -P ActiveState {unit}.service").split()
        assert sorted(shown) == sorted(["active", system, "yes"]), unit


def test_journal_is_forwarded_to_the_host_of_the_policy(box: Box) -> None:
    address, certificates = SERVER_ADDRESSES[0], "/var/lib/millrace/certificate"
    box.machine.run("cat > /run/receiver.py", stdin=(REPO / "tests/vm/receiver.py").read_text())
    receive = f"python3 /run/receiver.py {address} 19532 {certificates} /run/received"
    box.say(f"systemd-run --unit=receiver {receive}")
    box.machine.wait_command(f"ss -Htln 'src {address}:19532' | grep -q .", "the receiver of the journal", 120)
    policy = f'[journal]\nforward = "https://{address}:19532"\nca = "{certificates}/authority.pem"\n'
    box.machine.run("cat > /etc/millrace/policy.toml", stdin=policy)
    try:
        assert box.millrace("journal apply").out == f"The journal is forwarded to https://{address}:19532.\n"
        box.millrace("share set data --comment forwarded")
        # of the audit line: number, who and what; the journal begins long before it
        box.machine.wait_command(
            "grep -a -q '^MESSAGE=change [0-9]* by root: .*data' /run/received", "the change at the receiver", 300
        )
        assert "Upload" not in box.say("journalctl -u systemd-journal-upload.service -p err -o cat")
        [level] = [
            finding["level"] for finding in box.shown("health --json")["findings"] if finding["check"] == "journal"
        ]
        assert level == "OK"
    finally:
        box.say("rm /etc/millrace/policy.toml")
        stopped = box.millrace("journal apply").out
        box.say("systemctl stop receiver.service")
    assert stopped == "The journal is not forwarded.\n"
    assert box.machine.run("systemctl is-active systemd-journal-upload.service", check=False).status
