# SPDX-License-Identifier: Apache-2.0
"""Shares, users and clients on a small server with two ports: made by one command, served on both protocols, limited,
refused where they must be, and still there after damage and reboot."""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.vm.box import CLIENT_ADDRESSES, NETWORKS, SERVER_ADDRESSES, Box, credentials
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.link import Cables
from vm.machine import Machine
from vm.server import Nic

HOST = SERVER_ADDRESSES[0]
PASSWORD = "anna-has-a-long-one-7"
MOUNTPOINT = "/mnt/share"


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    plain = server_named("5equal")
    server = dataclasses.replace(plain, nics=[Nic(node=0), Nic(node=0)])
    given = credentials(millrace__provision=b"auto")
    directory = tmp_path_factory.mktemp("shares")
    with appliance(server, image, directory, accelerator, credentials=given, links=cables.server_ends) as machine:
        machine.start()
        box = Box(machine)
        box.machine.wait_agent()
        box.wait_serving()
        yield box


@pytest.fixture(scope="module")
def client(
    box: Box, client_images: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    directory = tmp_path_factory.mktemp("client")
    with client_machine(client_images, directory, cables.client_ends, accelerator) as machine:
        machine.start()
        give_addresses(machine, [f"{address}/24" for address in CLIENT_ADDRESSES])
        machine.run("umask 077; cat > /run/anna", stdin=f"username=anna\npassword={PASSWORD}\n")
        yield machine


@contextmanager
def mounted(client: Machine, source: str, options: str) -> Iterator[str]:
    client.run(f"mkdir -p {MOUNTPOINT}; mount {options} {source} {MOUNTPOINT}", seconds=300)
    try:
        yield MOUNTPOINT
    finally:
        client.run(f"umount {MOUNTPOINT}", seconds=300)


def nfs(client: Machine, share: str) -> AbstractContextManager[str]:
    return mounted(client, f"{HOST}:/srv/pool/{share}", "-t nfs4 -o vers=4.2")


def smb(client: Machine, share: str) -> AbstractContextManager[str]:
    return mounted(client, f"//{HOST}/{share}", "-t cifs -o vers=3.1.1,seal,credentials=/run/anna")


def test_a_user_is_one_command_and_the_password_no_argument(box: Box) -> None:
    box.machine.run(["millrace", "user", "create", "anna", "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)
    (anna,) = box.read_json("millrace user list --json")["users"]
    assert box.say("id -u anna") == str(anna["uid"])
    assert "anna" in box.say("pdbedit -L")


def test_a_share_is_one_command_and_seen_to_be_served(box: Box) -> None:
    said = box.say("millrace share create models --profile mixed --size 96M --smb-user anna", seconds=600)
    assert "NFS" in said
    assert "SMB" in said
    assert "/srv/pool/models" in box.say("exportfs -s")
    # nothing of the look stays
    assert "127.0.0.1" not in box.say("exportfs -s")
    assert "millrace-check" not in box.say("pdbedit -L")
    assert box.say("ls -d /run/millrace/look-* 2>/dev/null; true") == ""


def test_one_owner_on_both_protocols(box: Box, client: Machine) -> None:
    with smb(client, "models") as where:
        client.run(f"echo from smb > {where}/by-smb")
    uid = box.say("id -u anna")
    assert box.say("stat -c %u /srv/pool/models/by-smb") == uid
    with nfs(client, "models") as where:
        assert client.run(f"cat {where}/by-smb").out == "from smb\n"
        assert client.run(f"stat -c %u {where}/by-smb").out.strip() == uid
        client.run(f"setpriv --reuid={uid} --regid={uid} --clear-groups sh -c 'echo from nfs > {where}/by-nfs'")
    with smb(client, "models") as where:
        assert client.run(f"cat {where}/by-nfs").out == "from nfs\n"


def test_a_full_share_says_so_on_both_protocols_and_no_other_suffers(box: Box, client: Machine) -> None:
    uid = box.say("id -u anna")
    anna = f"setpriv --reuid={uid} --regid={uid} --clear-groups"
    for open_share, become in ((nfs, anna), (smb, "")):
        with open_share(client, "models") as where:
            write = f"{become} dd if=/dev/zero of={where}/big bs=1M count=128 conv=fsync"
            full = client.run(write, check=False, seconds=300)
            assert full.status != 0
            assert any(words in full.err for words in ("No space left", "quota exceeded")), full.err
    used = next(one for one in box.read_json("millrace share list --json")["shares"] if one["name"] == "models")["used"]
    assert 64 << 20 < used <= 96 << 20
    with nfs(client, "data") as where:
        client.run(f"dd if=/dev/zero of={where}/fine bs=1M count=16 conv=fsync")
    box.say("rm /srv/pool/models/big")


BAD = [
    ["share", "create", "a/b", "--profile", "mixed"],
    ["share", "create", "..", "--profile", "mixed"],
    ["share", "create", "two words", "--profile", "mixed"],
    ["share", "create", "größe", "--profile", "mixed"],
    ["share", "create", "x" * 256, "--profile", "mixed"],
    ["share", "create", "homes", "--profile", "mixed"],
    ["share", "create", "global", "--profile", "mixed"],
    ["share", "create", "models", "--profile", "mixed"],
    ["share", "create", "s", "--profile", "mixed", "--nfs-client", "10.0.0.0/33"],
    ["share", "create", "s", "--profile", "mixed", "--nfs-client", "*"],
    ["share", "create", "s", "--profile", "mixed", "--nfs-client", "10.0.0.0/24(rw,no_root_squash)"],
    ["share", "create", "s", "--profile", "mixed", "--nfs-client", "rw,no_root_squash"],
    ["share", "create", "s", "--profile", "mixed", "--smb-user", "nobody-knows"],
    ["share", "set", "no-such-share", "--size", "1G"],
    ["share", "remove", "models", "--delete-data", "data"],
    ["config", "rollback", "999"],
    ["client", "recipe", "--profile", "training", "--protocol", "smb-rdma", "--share", "models"],
]


def test_bad_input_is_one_sentence_and_changes_nothing(box: Box) -> None:
    state = "sha256sum /var/lib/millrace/config.json /etc/exports.d/* /etc/samba/smb.conf; ls /srv/pool"
    before = box.say(state)
    for words in BAD:
        said = box.machine.run(["millrace", *words], check=False, seconds=300)
        assert said.status in {1, 2}, words
        assert len(said.err.strip().splitlines()) == 1, (words, said.err)
    assert box.say(state) == before


def test_guests_old_dialects_and_other_networks_are_refused(box: Box, client: Machine) -> None:
    for options in ("-N", "-A /run/anna -m SMB2_10", "-A /run/anna -m SMB3_02"):
        refused = client.run(f"smbclient {options} //{HOST}/models -c ls", check=False, seconds=300)
        assert refused.status != 0, options
    box.say("millrace share set models --nfs-client 10.99.0.0/24 --smb-network 10.99.0.0/24", seconds=600)
    assert client.run(f"mount -t nfs4 {HOST}:/srv/pool/models /mnt", check=False, seconds=300).status != 0
    assert client.run(f"smbclient -A /run/anna //{HOST}/models -c ls", check=False, seconds=300).status != 0
    box.say("millrace share set models --nfs-client default --smb-network default", seconds=600)
    assert client.run(f"smbclient -A /run/anna //{HOST}/models -c ls", seconds=300).status == 0


@pytest.mark.parametrize(
    ("profile", "protocol"),
    [
        ("training", "nfs-tcp"),
        ("dataloader", "nfs-tcp-trunked"),
        ("checkpoint", "nfs-rdma"),
        ("mixed", "smb-multichannel"),
    ],
)
def test_a_recipe_applied_as_it_stands_passes_its_own_check(
    box: Box, client: Machine, profile: str, protocol: str
) -> None:
    if protocol == "nfs-rdma":
        for machine, address in ((box.machine, HOST), (client, CLIENT_ADDRESSES[0])):
            port = machine.run(f"ip -o address show to {address} | awk '{{print $2}}'").out.strip()
            machine.run(f"modprobe rdma_rxe && rdma link add rxe0 type rxe netdev {port}")
        box.machine.wait_command("grep -q 'rdma 20049' /proc/fs/nfsd/portlist", "RDMA listener", 120)
    recipe = box.read_json(
        f"millrace client recipe --profile {profile} --protocol {protocol} --share models --user anna --json"
    )
    client.run("modprobe -r nfsv4 nfs", check=False)
    for file in recipe["files"]:
        text = file["text"].replace("password=\n", f"password={PASSWORD}\n")
        client.run(
            f"mkdir -p $(dirname {file['path']}); cat > {file['path']}; chmod {file['mode']} {file['path']}", stdin=text
        )
    client.run("cat > /etc/fstab", stdin="\n".join([*recipe["fstab"], ""]))
    client.run(" && ".join(recipe["fstab_commands"]), seconds=300)
    client.run("cat > /run/check.py", stdin=box.machine.run("millrace client check-script").out)
    client.run("cat > /run/expect.json", stdin=json.dumps(recipe["expect"]))
    command = f"python3 /run/check.py {recipe['mountpoint']} --expect /run/expect.json"
    check = client.run(command, check=False, seconds=300)
    journal = client.run("journalctl -b -n 40 --no-pager").out
    client.run(
        "systemctl stop '*.automount'; umount -a -t nfs4,cifs; : > /etc/fstab; systemctl daemon-reload", seconds=300
    )
    assert check.status == 0, check.out + check.err + journal


def test_removing_a_share_keeps_its_data_unless_its_name_is_typed(box: Box) -> None:
    box.say("millrace share create scratch --profile training --smb-user anna", seconds=600)
    box.say("touch /srv/pool/scratch/kept; millrace share remove scratch", seconds=600)
    assert "/srv/pool/scratch" not in box.say("exportfs -s")
    assert box.say("ls /srv/pool/scratch") == "kept"
    box.say("millrace share create scratch --profile training --smb-user anna", seconds=600)
    box.say("millrace share remove scratch --delete-data scratch", seconds=600)
    assert box.say("ls /srv/pool | grep -c scratch; true") == "0"


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
    assert f"{NETWORKS[0]}" in box.say("exportfs -s")
