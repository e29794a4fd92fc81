# SPDX-License-Identifier: Apache-2.0
"""A server in an Active Directory domain: the client's machine is its controller, and a client of the domain."""

from collections.abc import Iterator

import pytest

from tests.vm.box import CLIENT_ADDRESSES, NETWORKS, Box
from tests.vm.shares.words import HOST, mounted
from tests.vm.shares.words import PASSWORD as LOCAL_PASSWORD
from vm.machine import Machine

# As tests/client/mkosi.postinst.chroot made it.
ZONE, REALM = "ad.test", "AD.TEST"
PASSWORD = "Join-me-now-9"
ANNA_PASSWORD = "Anna-of-the-domain-7"
CONTROLLER = CLIENT_ADDRESSES[0]
DC = "-s /var/lib/dc/etc/smb.conf"

JOIN = ["millrace", "domain", "join", ZONE, "Administrator", "--dns", CONTROLLER, "--password-stdin"]
LEAVE = ["millrace", "domain", "leave", "Administrator", "--password-stdin"]

# What a membership could leave behind.
STATE = (
    "cd /etc; sha256sum krb5.conf krb5.keytab nsswitch.conf samba/smb.conf idmapd.conf.d/* "
    "systemd/dns-delegate.d/* 2>/dev/null; systemctl is-active winbind gssproxy rpc-gssd smbd nfs-server; true"
)

KRB5_CONF = f"""\
[libdefaults]
default_realm = {REALM}
rdns = false
dns_canonicalize_hostname = false
[realms]
{REALM} = {{
kdc = {CONTROLLER}
}}
"""


pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def name(box: Box) -> str:
    """The server in the domain's DNS."""
    return f"{box.say('hostname')}.{ZONE}"


@pytest.fixture(scope="module")
def controller(client: Machine) -> Iterator[Machine]:
    """The domain controller, awake; Kerberos for clients on the same machine."""
    client.run(f"systemd-run --unit=dc samba {DC} --foreground --no-process-group")
    client.run("cat > /etc/krb5.conf", stdin=KRB5_CONF)
    client.run("umask 077; cat > /run/ad-anna", stdin=f"username=anna\ndomain=AD\npassword={ANNA_PASSWORD}\n")
    # LDAP comes last, and nothing else needs it
    client.wait_command("ss -Hltn sport = :389 | grep :389", "LDAP of the domain controller", 300)
    ready = f"echo {ANNA_PASSWORD} | kinit -c /run/ready anna && smbclient //{CONTROLLER}/sysvol -A /run/ad-anna -c ls"
    client.wait_command(ready, "the domain controller", 300)
    yield client
    client.run("systemctl stop dc; rm -f /etc/krb5.conf /etc/krb5.keytab", seconds=300)


@pytest.fixture(scope="module")
def before(box: Box, models: str) -> str:
    """The state of a server in no domain, which has a local user anna."""
    return box.say(STATE)


@pytest.fixture(scope="module")
def joined(box: Box, controller: Machine, before: str) -> str:
    """Join; return what was said."""
    return box.machine.run(JOIN, stdin=f"{PASSWORD}\n", seconds=600).out


@pytest.fixture(scope="module")
def anna(box: Box, joined: str) -> str:
    """Make the share vault for the group of the domain's anna; return her number."""
    clients = f"--nfs-client '{NETWORKS[0]} sec=krb5:krb5i:krb5p'"
    box.millrace(f"share create vault --type mixed --smb-group 'AD\\model makers' {clients}", seconds=600)
    return box.say("id -u 'AD\\anna'")


def test_wrong_password_changes_nothing(box: Box, controller: Machine, before: str) -> None:
    refused = box.machine.run(JOIN, stdin="wrong\n", check=False, seconds=600)
    assert refused.status == 1
    assert refused.err.strip() == f"millrace: {ZONE}: the password of Administrator is not right"
    assert box.say(STATE) == before


def test_server_joins_with_one_command_and_is_trusted(box: Box, joined: str, name: str) -> None:
    assert "AD trusts this server" in joined
    assert "SMB: data" in joined and "listed and accessible" in joined
    assert "succeeded" in box.say("wbinfo -P")
    shown = box.shown("domain show --json")
    assert (shown["controller"], shown["trusted"], shown["problems"]) == (f"dc1.{ZONE}", True, [])
    assert f"nfs/{name}@{REALM}" in [key["principal"] for key in shown["keys"]]
    # as the timer asks, who may write nothing of Samba's
    box.say("systemctl start millrace-health.service")
    findings = box.read_json("cat /run/millrace/health.json")["findings"]
    assert [(finding["level"], finding["todo"]) for finding in findings if finding["check"] == "domain"] == [
        ("OK", None)
    ]


def test_domain_users_sign_in_over_smb_with_the_same_uid_on_every_server(box: Box, client: Machine, anna: str) -> None:
    rid = int(box.say("wbinfo --name-to-sid 'AD\\anna'").split()[0].rsplit("-", 1)[1])
    assert int(anna) == 1_000_000 + rid
    with mounted(client, f"//{HOST}/vault", "-t cifs -o vers=3.1.1,seal,credentials=/run/ad-anna") as where:
        client.run(f"echo from smb > {where}/by-smb")
    assert box.say("stat -c %u /srv/pool/vault/by-smb") == anna
    # the local one is another, and still who she was
    assert box.say("id -u anna") != anna
    here = box.say("hostname").upper()
    client.run("umask 077; cat > /run/local-anna", stdin=f"username=anna\ndomain={here}\npassword={LOCAL_PASSWORD}\n")
    local = client.run(f"smbclient -A /run/local-anna //{HOST}/models -c ls")
    assert "blocks available" in local.out
    assert client.run(f"smbclient -A /run/local-anna //{HOST}/vault -c ls", check=False).status != 0


def test_kerberos_user_owns_files_over_nfs_and_others_are_refused(
    box: Box, client: Machine, anna: str, name: str
) -> None:
    # What membership gives a client: a name, the keys of a machine, the domain's people by their numbers.
    client.run("hostname dc1; cat >> /etc/hosts", stdin=f"{HOST} {name}\n")
    client.run("cat >> /etc/passwd", stdin=f"AD\\anna:x:{anna}:{anna}::/:/bin/sh\n")
    client.run("cat > /etc/idmapd.conf", stdin=f"[General]\nDomain = {ZONE}\n")
    client.run(f"samba-tool domain exportkeytab {DC} /etc/krb5.keytab '--principal=DC1$'", seconds=300)
    client.run("systemctl start rpc-gssd")
    plain = client.run(f"mount -t nfs4 -o sec=sys {name}:/srv/pool/vault /mnt", check=False, seconds=300)
    assert "Operation not permitted" in plain.err
    her = f"setpriv --reuid={anna} --regid={anna} --clear-groups"
    with mounted(client, f"{name}:/srv/pool/vault", "-t nfs4 -o vers=4.2,sec=krb5p") as where:
        without = client.run(f"{her} cat {where}/by-smb", check=False)
        assert "Permission denied" in without.err
        client.run(f"{her} kinit anna", stdin=f"{ANNA_PASSWORD}\n")
        assert client.run(f"{her} cat {where}/by-smb").out == "from smb\n"
        client.run(f"{her} sh -c 'echo from nfs > {where}/by-nfs'")
        assert client.run(f"stat -c %U {where}/by-nfs").out.strip() == "AD\\anna"
        client.run(f"{her} kdestroy")
    client.run("systemctl stop rpc-gssd")
    assert box.say("stat -c %u /srv/pool/vault/by-nfs") == anna


def test_leaving_the_domain_restores_the_previous_state(box: Box, controller: Machine, anna: str, before: str) -> None:
    needed = box.machine.run(LEAVE, stdin=f"{PASSWORD}\n", check=False)
    assert needed.status == 1 and "the share vault names AD\\model makers" in needed.err
    box.millrace("share remove vault --delete-data vault", seconds=600)
    said = box.machine.run(LEAVE, stdin=f"{PASSWORD}\n", seconds=600).out
    machine = box.say("hostname").upper()
    assert f"the account {machine} is deleted" in said
    assert box.say(STATE) == before
    assert machine not in controller.run(f"samba-tool computer list {DC}").out
    assert box.failed_units() == []
