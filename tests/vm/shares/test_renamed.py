# SPDX-License-Identifier: Apache-2.0
"""A server that gets another name stays who it is: users open their files, and what follows from a name is shown."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import HOST
from vm.machine import Machine

# by hand: five restarts of smbd and their clients take nine minutes of a run
pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("models")]

SID = "net getlocalsid 2>/dev/null | grep -o 'S-1-.*'"
OTHER = "S-1-5-21-1111111111-2222222222-3333333333"
# Identities, of which none follows from the host name.
IDENTITY = {
    "SID": SID,
    "name in Samba": "testparm -s --parameter-name='netbios name' 2>/dev/null",
    "NFS scope": "grep scope /etc/nfs.conf.d/millrace.conf",
    "NFS handles": "sha256sum < /var/lib/millrace/nfs-handles.key",
    "exports": "exportfs -s | grep -o 'fsid=[^,]*' | sort -u",
    "NVMe host": "cat /etc/nvme/hostnqn",
    "SSH": "cat /etc/ssh/ssh_host_ed25519_key.pub | cut -d' ' -f2; true",
    "machine": "cat /etc/machine-id",
}


def as_anna(client: Machine, commands: str) -> str:
    argv = f"cd /run && smbclient -m SMB3_11 -t 300 -A /run/anna //{HOST}/own -c '{commands}' 2>&1"
    return client.run(argv, check=False, seconds=600).out


@pytest.fixture(scope="module")
def own(box: Box, client: Machine) -> Iterator[None]:
    box.millrace("share create own --type home --no-nfs --smb-user anna", seconds=600)
    client.run("echo mine > /run/mine.txt")
    try:
        said = as_anna(client, "put mine.txt mine.txt; mkdir dir; put mine.txt dir/in.txt")
        assert "NT_STATUS" not in said, said
        yield
    finally:
        box.millrace("share remove own --delete-data own", seconds=600)


@contextmanager
def named(box: Box, name: str) -> Iterator[None]:
    before = box.say("hostnamectl --static")
    box.say(f"hostnamectl hostname {name}")
    try:
        yield
    finally:
        box.say(f"hostnamectl hostname {before}")


def findings(box: Box) -> list[tuple[str, str]]:
    every = box.shown("health --json")["findings"]
    return [(finding["level"], finding["todo"]) for finding in every if finding["key"] == "smb/sid"]


def restart_smbd(box: Box) -> None:
    box.say("systemctl restart smbd.service", seconds=600)


def test_users_open_their_files_after_the_server_was_renamed(box: Box, client: Machine, own: None) -> None:
    before = {what: box.say(command) for what, command in IDENTITY.items()}
    with named(box, "nas-renamed"):
        restart_smbd(box)
        said = as_anna(client, "get mine.txt got; ls; ls dir/*; put mine.txt new.txt; put mine.txt dir/new.txt")
        assert "NT_STATUS" not in said and "in.txt" in said, said
        assert client.run("cat /run/got").out == "mine\n"
        assert {what: box.say(command) for what, command in IDENTITY.items()} == before
    restart_smbd(box)
    said = as_anna(client, "get new.txt -; get dir/new.txt -")
    assert said.count("mine\n") == 2 and "NT_STATUS" not in said, said


def test_sid_that_is_not_that_of_the_files_is_reported_and_repaired(box: Box, client: Machine, own: None) -> None:
    before = box.say(SID)
    box.say(f"net setlocalsid {OTHER} && net cache flush")
    restart_smbd(box)
    said = as_anna(client, "get mine.txt -; put mine.txt other.txt")
    assert "NT_STATUS_ACCESS_DENIED opening remote file" in said, said
    assert findings(box) == [("FAIL", "millrace share repair-sid")]
    files = box.shown("share verify own --json")["shares"][0]["files"]
    assert any(OTHER in line for line in files), files
    report = box.shown("share repair-sid --json")
    assert report["sid"] == before and report["set_back"] and report["replaced"] == {OTHER: 1}
    box.machine.wait_command("systemctl is-active smbd.service", "smbd to be up again", 300)
    said = as_anna(client, "get mine.txt -; get other.txt -; ls dir/*")
    assert said.count("mine\n") == 2 and "NT_STATUS" not in said, said
    assert findings(box) == []
