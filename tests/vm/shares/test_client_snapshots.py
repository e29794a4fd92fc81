# SPDX-License-Identifier: Apache-2.0
"""Users get files back from snapshots by themselves: over SMB as previous versions, over NFS by a mount for reading."""

from collections.abc import Iterator

import pytest

from tests.vm.box import Box
from tests.vm.shares.test_snapshots import pass_time
from tests.vm.shares.words import HOST, PASSWORD, mounted, nfs
from vm.machine import Machine

# by hand until a row of soak has seen it
pytestmark = [pytest.mark.usefixtures("models"), pytest.mark.soak]

TOP = "/srv/pool/.millrace-snapshots"
SHARE = "papers"


def time_of(snapshot: str) -> str:
    """Return the time of a snapshot as clients of SMB write it: 20261129T120000Z-manual, @GMT-2026.11.29-12.00.00."""
    day, clock = snapshot[:8], snapshot[9:15]
    return f"@GMT-{day[:4]}.{day[4:6]}.{day[6:]}-{clock[:2]}.{clock[2:4]}.{clock[4:]}"


def over_smb(client: Machine, user: str, words: str, share: str = SHARE) -> str:
    """Return what smbclient prints, errors too."""
    line = f"smbclient -A /run/{user} -t 300 //{HOST}/{share} -c '{words}' 2>&1"
    return client.run(line, seconds=600, check=False).out


@pytest.fixture(scope="module")
def snapshot(box: Box, client: Machine) -> Iterator[str]:
    """The name of a snapshot of a share of ann and bea, which ann changed afterwards."""
    for name in ("ann", "bea"):
        box.machine.run(["millrace", "user", "create", name, "--password-stdin"], stdin=f"{PASSWORD}\n", seconds=600)
        client.run(f"umask 077; printf 'username={name}\\npassword={PASSWORD}\\n' > /run/{name}")
    box.millrace(f"share create {SHARE} --writing own --smb-user ann --smb-user bea --nfs-snapshots", seconds=600)
    client.run("echo old > /run/old; echo new > /run/new")
    over_smb(client, "ann", "put /run/old note; put /run/old secret; mkdir deep; put /run/old deep/gone")
    box.say(f"chmod 644 /srv/pool/{SHARE}/note; chmod 600 /srv/pool/{SHARE}/secret")
    box.millrace(f"snapshot create {SHARE}", seconds=600)
    over_smb(client, "ann", "put /run/new note; del deep/gone")
    yield box.shown(f"snapshot list {SHARE} --json")["snapshots"][-1]["name"]
    box.millrace(f"share remove {SHARE} --delete-data {SHARE}", seconds=600)
    box.say(f"rm -rf {TOP}/{SHARE}")
    for name in ("ann", "bea"):
        box.millrace(f"user remove {name}", seconds=600)


def digest(box: Box) -> str:
    return box.say(f"cd {TOP}/{SHARE} && find . -printf '%p %m %U %s %C@\\n' | sort | sha256sum")


def test_user_finds_and_gets_an_earlier_version_over_smb(client: Machine, snapshot: str) -> None:
    time = time_of(snapshot)
    assert time in over_smb(client, "ann", "allinfo note")
    over_smb(client, "ann", f"get {time}/note /run/got; get {time}/deep/gone /run/gone")
    assert client.run("cat /run/got /run/gone").out == "old\nold\n"
    over_smb(client, "ann", "get note /run/got")
    assert client.run("cat /run/got").out == "new\n"


def test_no_user_changes_a_snapshot_over_smb(box: Box, client: Machine, snapshot: str) -> None:
    time, before = time_of(snapshot), digest(box)
    for words in (
        f"put /run/new {time}/note",
        f"put /run/new {time}/more",
        f"del {time}/note",
        f"mkdir {time}/more",
        f"rmdir {time}/deep",
        f"rename {time}/note {time}/other",
    ):
        assert "NT_STATUS" in over_smb(client, "ann", words), words
    assert digest(box) == before


def test_smbd_has_snapshots_read_only(box: Box, snapshot: str) -> None:
    process = box.say("systemctl show --property=MainPID --value smbd.service").strip()
    inside = f"nsenter --mount --target {process}"
    refused = box.machine.run(f"{inside} touch {TOP}/{SHARE}/{snapshot}/tree/more", check=False)
    assert refused.status != 0 and "Read-only file system" in refused.err


def test_user_who_may_not_read_a_file_does_not_read_it_in_a_snapshot(client: Machine, snapshot: str) -> None:
    time = time_of(snapshot)
    client.run("rm -f /run/got")
    assert "NT_STATUS_ACCESS_DENIED" in over_smb(client, "bea", f"get {time}/secret /run/got")
    assert client.run("test -s /run/got", check=False).status != 0
    over_smb(client, "bea", f"get {time}/note /run/got")
    assert client.run("cat /run/got").out == "old\n"


def test_user_gets_an_earlier_version_from_a_home(box: Box, client: Machine, snapshot: str) -> None:
    box.millrace("share create nests --type home --no-nfs --smb-user ann --smb-user bea", seconds=600)
    try:
        over_smb(client, "ann", "put /run/old note", "nests")
        box.millrace("snapshot create nests", seconds=600)
        over_smb(client, "ann", "put /run/new note", "nests")
        [row] = box.shown("snapshot list nests --json")["snapshots"]
        time = time_of(row["name"])
        assert time in over_smb(client, "ann", "allinfo note", "nests")
        client.run("rm -f /run/got")
        # of bea there is nothing, and ann's is not hers
        over_smb(client, "bea", f"get {time}/note /run/got", "nests")
        assert client.run("test -e /run/got", check=False).status != 0
        over_smb(client, "ann", f"get {time}/note /run/got", "nests")
        assert client.run("cat /run/got").out == "old\n"
        assert "MEDIA_WRITE_PROTECTED" in over_smb(client, "ann", f"del {time}/note", "nests")
    finally:
        box.millrace("share remove nests --delete-data nests", seconds=600)
        box.say(f"rm -rf {TOP}/nests")


def test_linux_mounts_a_share_as_it_was(client: Machine, snapshot: str) -> None:
    how = f"-t cifs -o ro,vers=3.1.1,seal,credentials=/run/ann,snapshot={time_of(snapshot)}"
    with mounted(client, f"//{HOST}/{SHARE}", how) as where:
        assert client.run(f"cat {where}/note {where}/deep/gone").out == "old\nold\n"


def test_nfs_client_reads_snapshots_and_changes_none(box: Box, client: Machine, snapshot: str) -> None:
    before = digest(box)
    with mounted(client, f"{HOST}:{TOP}/{SHARE}", "-t nfs4 -o vers=4.2") as where:
        tree = f"{where}/{snapshot}/tree"
        assert client.run(f"ls {where}").out.split() == [snapshot]
        assert client.run(f"cat {tree}/note {tree}/deep/gone").out == "old\nold\n"
        # root of the client is nobody
        assert client.run(f"cat {tree}/secret", check=False).status != 0
        assert client.run(f"cat {where}/{snapshot}/manifest.json", check=False).status != 0
        for attempt in (f"touch {tree}/more", f"rm {tree}/note", f"mkdir {where}/more", f"chmod 777 {tree}/note"):
            assert client.run(attempt, check=False).status != 0, attempt
    assert digest(box) == before
    refused = f"mount -t nfs4 -o vers=4.2,ro {HOST}:{TOP}/data /mnt/share"
    assert client.run(refused, seconds=300, check=False).status != 0


def test_snapshot_that_was_removed_is_no_earlier_version(box: Box, client: Machine, snapshot: str) -> None:
    box.millrace(f"snapshot create {SHARE}", seconds=600)
    [newest] = [
        row["name"] for row in box.shown(f"snapshot list {SHARE} --json")["snapshots"] if row["name"] != snapshot
    ]
    assert time_of(newest) in over_smb(client, "ann", "allinfo note")
    box.millrace(f"snapshot remove {SHARE}@{newest}", seconds=600)
    pass_time(box)
    shown = over_smb(client, "ann", "allinfo note")
    assert time_of(newest) not in shown and time_of(snapshot) in shown


def test_share_that_shows_no_snapshots_has_no_earlier_versions(box: Box, client: Machine, snapshot: str) -> None:
    box.millrace(f"share set {SHARE} --no-previous-versions --no-nfs-snapshots", seconds=600)
    try:
        assert "@GMT" not in over_smb(client, "ann", "allinfo note")
        assert box.say(f"stat -c %a {TOP}/{SHARE}").strip() == "700"
        refused = f"mount -t nfs4 -o vers=4.2,ro {HOST}:{TOP}/{SHARE} /mnt/share"
        assert client.run(refused, seconds=300, check=False).status != 0
    finally:
        box.millrace(f"share set {SHARE} --previous-versions --nfs-snapshots", seconds=600)
    with nfs(client, SHARE) as where:
        assert client.run(f"cat {where}/note").out == "new\n"
