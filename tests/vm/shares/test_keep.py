# SPDX-License-Identifier: Apache-2.0
"""The state of the server on its pool: after each change, for root alone, and locks of clients with it."""

import json
import re

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import HOST, nfs
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models")

WHERE = "/srv/pool/.millrace"
KEEP = f"{WHERE}/keep"
# An image is read a second of two in emulation, and the change is waited for until it is complete.
SECONDS = 120


def newest(box: Box) -> int:
    return max(one["generation"] for one in box.shown("keep list --json")["generations"])


def kept(box: Box, words: str, path: str) -> str:
    """A shell line whether the newest generation has these words in a file."""
    return f"tar -xzOf $(ls {KEEP}/state-*.tar.gz | tail -n 1) files/{path} | grep -qF '{words}'"


def test_change_is_kept_within_seconds_and_the_command_did_not_wait(box: Box) -> None:
    box.machine.wait_command(kept(box, '"models"', "var/lib/millrace/config.json"), "the share to be kept", SECONDS)
    box.machine.wait_command(kept(box, "anna:", "accounts/shadow"), "the user to be kept", SECONDS)
    before = newest(box)
    box.millrace("share set models --comment 'kept at once'", seconds=600)
    box.machine.wait_command(kept(box, "kept at once", "var/lib/millrace/config.json"), "the change", SECONDS)
    status = box.shown("keep status --json")
    assert status["generation"] > before
    assert (status["problem"], status["unread"], status["damaged"]) == (None, [], [])


def test_kept_state_has_the_identities_of_the_server(box: Box) -> None:
    names = box.say(f"tar -tzf $(ls {KEEP}/state-*.tar.gz | tail -n 1)").splitlines()
    wanted = ("pool.json", "plan.json", "config.json", "nfs-handles.key", "certificate/authority.key")
    assert {f"files/var/lib/millrace/{name}" for name in wanted} <= set(names)
    assert {f"files/etc/{name}" for name in ("machine-id", "hostname", "nvme/hostnqn")} <= set(names)
    databases = ("passdb", "secrets")
    assert {f"files/var/lib/samba/private/{name}.tdb.dump" for name in databases} <= set(names)
    sid = box.say("net getlocalsid 2>/dev/null | grep -o 'S-1-.*'")
    assert sid.startswith("S-1-5-21-")
    dumped = f"tar -xzOf $(ls {KEEP}/state-*.tar.gz | tail -n 1) files/var/lib/samba/private/secrets.tdb.dump"
    restored = box.say(f"{dumped} > /run/dump && tdbrestore /run/copy.tdb < /run/dump && tdbdump /run/copy.tdb | wc -l")
    assert restored == box.say("tdbdump /var/lib/samba/private/secrets.tdb | wc -l")
    box.say("rm /run/dump /run/copy.tdb")


def test_kept_state_is_for_root_alone(box: Box, client: Machine) -> None:
    modes = box.say(f"stat -c '%a %U' {WHERE} {KEEP} {WHERE}/nfsdcld").splitlines()
    assert modes == ["700 root"] * 3
    assert set(box.say(f"stat -c '%a %U' {KEEP}/*").splitlines()) == {"600 root"}
    for user in ("anna", "admin"):
        assert box.machine.run(f"setpriv --reuid={user} --clear-groups ls {KEEP}", check=False).status != 0
    # Previous Versions of a share name the directory of its snapshots, which smbd alone reads for its user.
    assert not re.search(r"\.millrace(?!-snapshots/)", box.say("exportfs -s; testparm -s 2>/dev/null"))
    refused = box.millrace("share create .millrace", check=False)
    assert refused.status != 0
    mounted = client.run(
        f"mount -t nfs4 -o vers=4.2 {HOST}:/ /mnt && ls -a /mnt/srv/pool /mnt/srv/pool/.millrace; umount /mnt",
        check=False,
        seconds=300,
    )
    assert "models" in mounted.out and ".millrace\n" not in mounted.out
    listed = client.run(f"smbclient -A /run/anna //{HOST}/.millrace -c ls", check=False, seconds=300)
    assert listed.status != 0


def test_smb_connection_starts_no_copy(box: Box, client: Machine) -> None:
    """smbd closes its databases with each connection; a copy for each of them cost a third of a processor."""
    units = "millrace-keep.service millrace-again@millrace-keep.service"
    runs = f"systemctl show -P InvocationID {units}"
    box.machine.wait_command(f"systemctl is-active {units} | grep -c inactive | grep -qx 2", "the last copy", SECONDS)
    before = box.say(runs)
    client.run(f"smbclient -A /run/anna //{HOST}/models -c ls", seconds=300)
    box.machine.wait_command("! smbstatus -p | grep -q anna", "the end of the connection", SECONDS)
    # systemd sees the change of a file that it watches at once
    assert box.say(f"sleep 5; {runs}") == before


def test_restarted_server_gives_a_client_its_locks_back_from_records_on_the_pool(box: Box, client: Machine) -> None:
    before = newest(box)
    uid = box.say("id -u anna")
    with nfs(client, "models") as where:
        holder = f"exec 9<> {where}/locked; flock -x 9; echo held > /tmp/held; exec sleep 3600"
        anna = f"setpriv --reuid={uid} --regid={uid} --clear-groups"
        locked = "grep -hs 'type: lock' /proc/fs/nfsd/clients/*/states"
        client.run(f"rm -f /tmp/held; setsid -f {anna} sh -c '{holder}' > /dev/null 2>&1 < /dev/null")
        try:
            client.wait_command("test -s /tmp/held", "the lock", 120)
            # With a delegation the client would keep the lock to itself: another reader takes the delegation back.
            box.say("cat /srv/pool/models/locked", seconds=300)
            box.machine.wait_command(locked, "the lock on the server", 60)
            # As after a boot, which test_adopt.py has: nothing is known but what the records have.
            box.say("systemctl stop nfs-server nfsdcld && systemctl start nfs-server", seconds=300)
            # The client reclaims in the grace period, before which nothing else may lock, and is given a delegation.
            reclaimed = "grep -hsE 'type: (lock|deleg)' /proc/fs/nfsd/clients/*/states"
            box.machine.wait_command(reclaimed, "the reclaimed lock", 300)
            box.say("cat /srv/pool/models/locked", seconds=300)
            box.machine.wait_command(locked, "the lock on the server", 60)
            lost = client.run("dmesg | grep -iE 'lock reclaim failed|lost lock'; true").out
            assert lost == ""
        finally:
            client.run("pkill -x sleep; while pgrep -x sleep > /dev/null; do :; done; rm -f /tmp/held")
    assert box.say("test -e /var/lib/nfs/nfsdcld/main.sqlite || echo on the pool") == "on the pool"
    assert int(box.say(f"stat -c %s {WHERE}/nfsdcld/main.sqlite")) > 0
    assert newest(box) >= before
    text = json.dumps([finding for finding in box.shown("health --json")["findings"] if finding["check"] == "keep"])
    assert "is kept on the pool: generation" in text, text
    assert box.failed_units() == []
