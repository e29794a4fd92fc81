# SPDX-License-Identifier: Apache-2.0
"""Who is kept out: root of a client, guests, old dialects, unsigned requests, other networks."""

from pathlib import Path

import pytest

from tests.vm.box import CLIENT_ADDRESSES, Box
from tests.vm.shares.words import HOST, PASSWORD, listed_over_smb, nfs
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models")

# Nobody is there: the client is outside it.
ELSEWHERE = "10.99.0.0/24"
DENIED, NO_LOGIN = "c0000022", "c000006d"


def opens(client: Machine, options: str = "-A /run/anna") -> bool:
    return client.run(f"smbclient {options} //{HOST}/models -c ls", check=False, seconds=300).status == 0


def mounts(client: Machine) -> bool:
    mount = f"timeout 100 mount -t nfs4 -o vers=4.2,retry=0 {HOST}:/srv/pool/models /mnt && umount /mnt"
    return client.run(mount, check=False, seconds=300).status == 0


def test_root_of_a_client_is_mapped_to_nobody(box: Box, client: Machine) -> None:
    uid = box.say("id -u anna")
    box.say("install -o anna -m 600 /dev/null /srv/pool/models/of-anna")
    with nfs(client, "models") as where:
        assert client.run(f"cat {where}/of-anna", check=False).status != 0
        assert client.run(f"chown root {where}/of-anna", check=False).status != 0
        client.run(f"touch {where}/of-root")
        client.run(f"setpriv --reuid={uid} --regid={uid} --clear-groups cat {where}/of-anna")
    nobody = box.say("id -u nobody")
    assert box.say("stat -c %u /srv/pool/models/of-root") == nobody != "0"
    box.say("rm /srv/pool/models/of-root /srv/pool/models/of-anna")


@pytest.mark.parametrize("options", ["-N", "-A /run/anna -m SMB2_10", "-A /run/anna -m SMB3_02"])
def test_guests_and_old_dialects_are_refused(client: Machine, options: str) -> None:
    assert opens(client)
    assert not opens(client, options)


def test_samba_ignores_shares_of_its_registry(box: Box, client: Machine) -> None:
    assert box.say("testparm -s --parameter-name='registry shares' 2>/dev/null") == "No"
    box.say("net conf addshare evil /etc writeable=n guest_ok=n")
    try:
        box.say("smbcontrol smbd reload-config")
        listed = listed_over_smb(client)
        assert "models" in listed and "evil" not in listed
    finally:
        box.say("net conf delshare evil")


def test_requests_without_a_signature_are_refused(client: Machine) -> None:
    client.run("cat > /run/unsigned.py", stdin=(Path(__file__).parent / "unsigned.py").read_text())
    ask = ["python3", "/run/unsigned.py", HOST, "models", "anna"]
    assert client.run(ask, stdin=PASSWORD + "\n").out.split() == ["00000000", DENIED]
    assert client.run(ask, stdin="wrong\n").out.split() == [NO_LOGIN]


def test_other_networks_are_refused_on_both_protocols(box: Box, client: Machine) -> None:
    assert mounts(client) and opens(client)
    box.millrace(f"share set models --nfs-client {ELSEWHERE} --smb-network {ELSEWHERE}", seconds=600)
    assert not mounts(client) and not opens(client)
    box.millrace(f"share set models --nfs-client {CLIENT_ADDRESSES[0]} --smb-network default", seconds=600)
    assert mounts(client) and opens(client)
    box.millrace("share set models --nfs-client default", seconds=600)


def test_mount_that_the_server_has_of_itself_stands_in_no_shares_way(box: Box) -> None:
    # the kernel's client would come from the address of that mount, which the new shares do not allow
    box.say(f"mkdir -p /run/own && mount -t nfs4 {HOST}:/srv/pool/models /run/own")
    try:
        for number, option in enumerate(("", " xprtsec=tls", " xprtsec=mtls")):
            create = ["share", "create", f"own{number}", "--type", "mixed", "--no-smb"]
            made = box.millrace([*create, "--nfs-client", f"{ELSEWHERE}{option}"], seconds=600)
            assert f"exported to {ELSEWHERE}; opened from this server" in made.out
        # nothing of the verification stays at the server: its clients are those that mount
        assert "verification" not in box.say("cat /proc/fs/nfsd/clients/*/info")
    finally:
        box.say("umount /run/own")
        for number in range(3):
            box.millrace(f"share remove own{number} --delete-data own{number}", seconds=600, check=False)
