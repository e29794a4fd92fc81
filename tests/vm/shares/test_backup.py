# SPDX-License-Identifier: Apache-2.0
"""Backups off site: sent to the client by SFTP and to its REST server, checked, restored, and refused."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.vm.box import CLIENT_ADDRESSES, Box
from vm.machine import Machine

# by hand until a row of soak has seen it
pytestmark = [pytest.mark.usefixtures("models"), pytest.mark.soak]

FAR = CLIENT_ADDRESSES[0]
SHARE = "ledgers"
TOP = "/srv/pool/.millrace-snapshots"
REST = f"rest:http://{FAR}:8123/rest"
SSHD = """
set -e
mkdir -p /run/sshd /run/far/.ssh
ssh-keygen -A
id far >/dev/null 2>&1 || useradd --home-dir /run/far --shell /bin/sh far
usermod -p '*' far
cat > /run/far/sshd_config <<'EOF'
Port 2222
PidFile /run/far/sshd.pid
AuthorizedKeysFile /run/far/.ssh/authorized_keys
PasswordAuthentication no
StrictModes no
Subsystem sftp internal-sftp
EOF
touch /run/far/.ssh/authorized_keys
mkdir -p /run/far/sftp /run/far/rest
chown -R far /run/far
/usr/sbin/sshd -f /run/far/sshd_config
"""
# Others that ask the repository run before and after the one that sends, which may end within seconds.
HELD = "until process=$(pgrep -f '^/usr/bin/restic .* backup '); do sleep 0.1; done; kill -STOP $process; echo $process"
CONNECTS = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 8123))' 2>/dev/null"
REST_SERVER = (
    "systemd-run --quiet --unit=far-rest --property=User=far restic-rest-server --no-auth --append-only "
    f"--path /run/far/rest --listen :8123; until {CONNECTS}; do sleep 1; done"
)


def ended(box: Box, words: str) -> dict[str, Any]:
    """Carry out a task of a backup; return how it ended."""
    return dict(json.loads(box.millrace(f"backup {words} --json", seconds=900).out.splitlines()[-1]))


def state(box: Box, name: str) -> dict[str, Any]:
    [row] = [row for row in box.shown("backup list --json")["backups"] if row["backup"]["name"] == name]
    return dict(row["state"])


def refused(box: Box, words: str) -> str:
    done = box.millrace(words, seconds=900, check=False)
    assert done.status == 1, done
    return done.err


@pytest.fixture(scope="module")
def far(box: Box, client: Machine) -> Iterator[Machine]:
    """The client as the far side, and a share with files."""
    client.run(SSHD, seconds=300)
    client.run(REST_SERVER, seconds=300)
    box.millrace(f"share create {SHARE} --type mixed --smb-user anna", seconds=600)
    box.say(f"mkdir -p /srv/pool/{SHARE}/deep; head -c 8M /dev/urandom > /srv/pool/{SHARE}/deep/big")
    box.say(f"cd /srv/pool/{SHARE} && for i in $(seq 40); do echo $i > deep/file$i; done; echo old > note")
    box.say(f"setfacl -m u:anna:r /srv/pool/{SHARE}/note; chown 12345 /srv/pool/{SHARE}/note; sync")
    yield client
    for row in box.shown("backup list --json")["backups"]:
        name = row["backup"]["name"]
        box.millrace(f"backup remove {name} --name-again {name}", check=False)
    box.millrace(f"share remove {SHARE} --delete-data {SHARE}", seconds=600)
    box.say(f"rm -rf {TOP}/{SHARE}")
    client.run("systemctl stop far-rest; kill $(cat /run/far/sshd.pid); rm -rf /run/far", check=False)


@pytest.fixture(scope="module")
def rest(box: Box, far: Machine) -> str:
    """A backup to the append-only REST server, sent once; its password."""
    added = box.shown(f"backup add near {SHARE} {REST} --append-only --json")
    ended(box, "run near")
    return str(added["password"])


@pytest.fixture(scope="module")
def sftp(box: Box, far: Machine) -> str:
    """A backup by SFTP, sent once."""
    fingerprint = far.run("ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub").out.split()[1]
    target = f"sftp://far@{FAR}:2222/run/far/sftp/data"
    added = box.shown(f"backup add far {SHARE} {target} --host-key {fingerprint} --json")
    assert "does not accept the SSH key" in refused(box, "backup run far")
    far.run("cat >> /run/far/.ssh/authorized_keys", stdin=f"{added['public_key']}\n")
    ended(box, "run far")
    return fingerprint


def test_second_run_reads_and_sends_what_changed(box: Box, rest: str) -> None:
    box.say(f"echo new > /srv/pool/{SHARE}/deep/file1; sync")
    ended(box, "run near")
    moved = state(box, "near")["moved"]
    # the file and the manifest
    assert moved["read"] == 2 and moved["sent"] < 1 << 20 and moved["files"] > 40


def test_change_whose_time_was_set_back_is_sent(box: Box, rest: str) -> None:
    box.say(f"cd /srv/pool/{SHARE} && touch -r note /run/before && echo NEW > note && touch -r /run/before note; sync")
    ended(box, "run near")
    assert state(box, "near")["moved"]["read"] == 2
    ended(box, "drill near")


def test_check_and_drill_of_a_good_repository_succeed(box: Box, rest: str, sftp: str) -> None:
    for name in ("near", "far"):
        assert "no errors" in ended(box, f"check {name}")["words"][0]
        assert "are equal" in ended(box, f"drill {name}")["words"][0]


def test_version_comes_back_with_owner_and_access_list(box: Box, rest: str) -> None:
    ended(box, "restore near")
    [name] = [
        row["name"] for row in box.shown(f"snapshot list {SHARE} --json")["snapshots"] if "restored" in row["name"]
    ]
    tree = f"{TOP}/{SHARE}/{name}/tree"
    sent = f"{TOP}/{SHARE}/{state(box, 'near')['snapshot']}/tree"
    assert box.say(f"diff -r {sent} {tree} && echo equal") == "equal"
    assert box.say(f"stat -c %u {tree}/note") == "12345"
    assert "user:anna:r--" in box.say(f"cd {tree} && getfacl note")
    lists = "find . ! -type l -print0 | sort -z | xargs -0 getfacl -n"
    assert box.say(f"cd {tree} && {lists}") == box.say(f"cd {sent} && {lists}")
    box.millrace(f"snapshot get {SHARE}@{name} {SHARE}-again", seconds=600)
    assert box.say(f"cat /srv/pool/{SHARE}-again/deep/file1")
    box.millrace(f"share remove {SHARE}-again --delete-data {SHARE}-again", seconds=600)


def test_lost_server_attaches_its_repository_with_the_password(box: Box, rest: str) -> None:
    box.millrace("backup remove near --name-again near")
    box.machine.run(
        ["millrace", "backup", "attach", "near", SHARE, REST, "--append-only", "--password-stdin"],
        stdin=f"{rest}\n",
        seconds=300,
    )
    listed = box.shown("backup versions near --json")["versions"]
    assert listed and {each["share"] for each in listed} == {SHARE}
    ended(box, "run near")


def test_restic_reaches_nothing_but_its_snapshot(box: Box, rest: str) -> None:
    box.say(f"head -c 200M /dev/urandom > /srv/pool/{SHARE}/large; sync")
    box.say("millrace backup show near >/dev/null; systemd-run --quiet --unit=slow millrace backup run near")
    process = box.say(HELD, seconds=300)
    try:
        sees_its_snapshot_alone(box, process)
    finally:
        box.say(f"kill -CONT {process}")
    box.machine.wait_command("! systemctl is-active --quiet millrace-reflink@backup.service", "its end", 900)
    box.say(f"rm /srv/pool/{SHARE}/large")


def sees_its_snapshot_alone(box: Box, process: str) -> None:
    inside = f"nsenter --mount --target {process}"
    shown = box.say(f"{inside} ls -A /var /home /srv /srv/backup; {inside} ls -A /etc")
    assert "tree" in shown and "shadow" not in shown and "lib" not in shown.split()
    status = box.say(f"cat /proc/{process}/status")
    # CAP_DAC_READ_SEARCH, bit 2, and no other
    assert "CapEff:\t0000000000000004" in status and "CapBnd:\t0000000000000004" in status
    secret = box.say("cat /var/lib/millrace/backup/secrets/near/password")
    assert secret not in box.say(f"tr '\\0' ' ' < /proc/{process}/cmdline; tr '\\0' ' ' < /proc/{process}/environ")
    assert secret not in box.say("systemctl show millrace-restic-job.service; journalctl -b --no-pager -o cat", 600)


def test_cancelled_run_leaves_no_lock_and_goes_on(box: Box, rest: str) -> None:
    box.say(f"head -c 300M /dev/urandom > /srv/pool/{SHARE}/large; sync")
    box.say("systemd-run --quiet --unit=slow2 millrace backup run near")
    box.say(HELD, seconds=300)
    box.millrace("job cancel backup", seconds=300)
    assert box.say("pgrep -x restic || echo none") == "none"
    assert box.shown("job show backup --json")["state"] == "cancelled"
    ended(box, "run near")
    box.say(f"rm /srv/pool/{SHARE}/large")


def test_far_side_that_is_gone_is_one_sentence(box: Box, far: Machine, rest: str) -> None:
    far.run("systemctl stop far-rest")
    assert "cannot be reached" in refused(box, "backup run near")
    far.run(REST_SERVER, seconds=300)
    ended(box, "run near")


def test_changed_host_key_is_refused(box: Box, far: Machine, sftp: str) -> None:
    far.run("cp /etc/ssh/ssh_host_ed25519_key /run/far/kept; rm /etc/ssh/ssh_host_ed25519_key*; ssh-keygen -A")
    far.run("kill $(cat /run/far/sshd.pid); sleep 1; /usr/sbin/sshd -f /run/far/sshd_config")
    assert "host key" in refused(box, "backup run far")
    far.run("cp /run/far/kept /etc/ssh/ssh_host_ed25519_key; rm /etc/ssh/ssh_host_ed25519_key.pub")
    far.run("kill $(cat /run/far/sshd.pid); sleep 1; /usr/sbin/sshd -f /run/far/sshd_config")
    ended(box, "run far")


def test_drill_and_check_are_red_where_a_block_of_the_repository_was_flipped(box: Box, far: Machine, sftp: str) -> None:
    # all packs: a sample may not need one of them
    far.run(
        "for pack in $(find /run/far/sftp/data/data -type f); do chmod u+w $pack; "
        "printf XXXX | dd of=$pack bs=1 seek=50 conv=notrunc status=none; done"
    )
    assert "is damaged" in refused(box, "backup check far")
    refused(box, "backup drill far")
    health = box.shown("health --json")
    levels = {finding["key"]: finding["level"] for finding in health["findings"]}
    assert levels["backups/check-failed/far"] == "FAIL"
