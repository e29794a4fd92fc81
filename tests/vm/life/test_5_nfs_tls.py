# SPDX-License-Identifier: Apache-2.0
"""A share that takes no unencrypted connection, and the certificate that the web console and NFS show alike."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.vm.box import NETWORKS, SERVER_ADDRESSES, Box
from vm.agent import Result
from vm.machine import Machine

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("in_use")]

HOST = SERVER_ADDRESSES[0]
SHARE = "sealed"
PLAIN = f"timeout 60 mount -t nfs4 -o vers=4.2,soft,retry=0 {HOST}:/srv/pool/{SHARE} /mnt"
RECIPE = f"client recipe --workload mixed --protocol nfs-tcp --share {SHARE} --json"

# A site's authority, and what it signs: the certificate of a client, one of the server.
SITE = f"""
set -eu; mkdir -p /run/site; cd /run/site
new() {{ openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out $1.key; }}
sign() {{
    new $1
    openssl req -new -key $1.key -subj "/CN=$1" -addext "$2" -addext basicConstraints=critical,CA:FALSE |
        openssl x509 -req -CA site.pem -CAkey site.key -copy_extensions copyall -days 90 -out $1.pem
}}
new site
openssl req -x509 -key site.key -subj "/CN=Site" -days 365 -out site.pem
sign gpu1 subjectAltName=DNS:gpu1
sign nas subjectAltName=DNS:nas.example.com,IP:{HOST}
"""

# The authority revokes the certificate of the client and prints its list.
REVOKED = """
set -eu; cd /run/site; touch index
printf '[ca]\\ndefault_ca=site\\n[site]\\ndatabase=index\\ndefault_md=sha256\\ndefault_crl_days=9\\n' > ca.cnf
openssl ca -config ca.cnf -cert site.pem -keyfile site.key -revoke gpu1.pem
openssl ca -config ca.cnf -cert site.pem -keyfile site.key -gencrl
"""


@pytest.fixture(scope="module")
def sealed(box: Box, client: Machine) -> Iterator[str]:
    """A share that demands TLS; everything is as it was afterwards. Return what was said when it was made."""
    client.run(SITE, seconds=300)
    client.run("cp -a /etc/tlshd /run/tlshd-before")
    yield box.millrace(
        f"share create {SHARE} --type mixed --no-smb --nfs-client '{NETWORKS[0]} xprtsec=tls'", seconds=600
    ).out
    box.millrace(f"share remove {SHARE} --delete-data {SHARE}", seconds=600)
    assert box.machine.run("systemctl is-active tlshd.service", check=False).out.strip() == "inactive"
    box.millrace("certificate renew --own", seconds=300)
    client.run("systemctl stop tlshd.service; rm -rf /etc/tlshd; cp -a /run/tlshd-before /etc/tlshd")


def followed(client: Machine, recipe: dict[str, Any]) -> Result:
    """Do what a recipe says, word for word; whether its mount answers."""
    for file in recipe["files"]:
        client.run(
            f"mkdir -p $(dirname {file['path']}); cat > {file['path']}; chmod {file['mode']} {file['path']}",
            stdin=file["text"],
        )
    client.run(" && ".join(recipe["prepare"]), seconds=120)
    # emulated, tlshd may take longer to listen than a recipe waits
    client.run(
        "for i in 1 2 3 4 5; do journalctl -b -u tlshd | tail -n 1 | grep -q capabilities && break; sleep 1; done"
    )
    return client.run(" && ".join(recipe["commands"]), check=False, seconds=300)


def left(client: Machine, recipe: dict[str, Any]) -> None:
    client.run(f"umount -f -l {recipe['mountpoint']}", check=False, seconds=120)


def test_client_that_follows_the_recipe_mounts_over_tls(box: Box, client: Machine, sealed: str) -> None:
    assert "opened from this server over TLS" in sealed
    recipe = box.shown(RECIPE)
    said = followed(client, recipe)
    assert said.status == 0, said.err + client.run("journalctl -b -n 30 -u tlshd --no-pager").out
    client.run(f"dd if=/dev/urandom of={recipe['mountpoint']}/data bs=1M count=8 conv=fsync", seconds=300)
    here, there = (f"sha256sum < {directory}/data" for directory in (recipe["mountpoint"], f"/srv/pool/{SHARE}"))
    assert client.run(here).out == box.machine.run(there).out
    box.give_check(client)
    client.run("cat > /run/expect.json", stdin=json.dumps(recipe["expect"]))
    check = f"python3 /run/check.pyz {recipe['mountpoint']} --expect /run/expect.json --json"
    findings = json.loads(client.run(check, check=False, seconds=300).out)["findings"]
    assert {"encryption": "OK", "authority": "OK"}.items() <= {
        finding["check"]: finding["status"] for finding in findings
    }.items(), findings
    left(client, recipe)


def test_client_without_tls_is_refused(client: Machine, sealed: str) -> None:
    assert client.run(PLAIN, check=False, seconds=300).status != 0


def test_rdma_and_tls_exclude_each_other(box: Box, sealed: str) -> None:
    refused = box.millrace(RECIPE.replace("nfs-tcp", "nfs-rdma"), check=False)
    assert refused.status == 1
    assert len(refused.err.strip().splitlines()) == 1


def test_mtls_accepts_only_clients_of_a_trusted_authority(box: Box, client: Machine, sealed: str) -> None:
    said = box.millrace(f"share set {SHARE} --nfs-client '{NETWORKS[0]} xprtsec=mtls'", seconds=600)
    assert "opened from this server over TLS" in said.out
    recipe = box.shown(RECIPE)
    client.run("cp /run/site/gpu1.pem /etc/tlshd/client.pem; cp /run/site/gpu1.key /etc/tlshd/client.key")
    assert followed(client, recipe).status != 0
    box.machine.run(
        ["millrace", "certificate", "trust", "add", "-"], stdin=client.run("cat /run/site/site.pem").out, seconds=120
    )
    said_now = followed(client, recipe)
    assert said_now.status == 0, said_now.err + client.run("journalctl -b -n 30 -u tlshd --no-pager").out
    client.run(f"cat {recipe['mountpoint']}/data > /dev/null")
    left(client, recipe)
    revocations = client.run(REVOKED, seconds=120).out
    box.machine.run(["millrace", "certificate", "trust", "crl", "-"], stdin=revocations, seconds=120)
    assert "CN=Site" in box.millrace("certificate trust list").out
    assert followed(client, recipe).status != 0
    left(client, recipe)
    client.run("rm /etc/tlshd/client.*")
    assert followed(client, recipe).status != 0
    left(client, recipe)


def shown(client: Machine) -> str:
    """The names in the certificate that the web console shows."""
    command = f"openssl s_client -connect {HOST}:9090 < /dev/null | openssl x509 -noout -ext subjectAltName"
    return client.run(command, check=False, seconds=120).out


def test_uploaded_certificate_is_used_by_the_web_console_and_nfs(box: Box, client: Machine, sealed: str) -> None:
    before = shown(client)
    assert all(f"IP Address:{address}" in before for address in SERVER_ADDRESSES)
    assert box.say("ls /etc/cockpit/ws-certs.d").split() == ["50-millrace.cert", "50-millrace.key"]
    box.millrace(f"share set {SHARE} --nfs-client '{NETWORKS[0]} xprtsec=tls'", seconds=600)
    assert followed(client, box.shown(RECIPE)).status == 0
    left(client, box.shown(RECIPE))

    upload = client.run("cat /run/site/nas.pem /run/site/site.pem /run/site/nas.key").out
    box.machine.run(["millrace", "certificate", "install", "-"], stdin=upload, seconds=120)
    # the client trusts the server's own authority still, and takes the new certificate for a stranger's
    old = client.run(f"timeout 60 mount -t nfs4 -o xprtsec=tls,soft,retry=0 {HOST}:/srv/pool/{SHARE} /mnt", check=False)
    assert old.status != 0
    assert followed(client, box.shown(RECIPE)).status == 0
    left(client, box.shown(RECIPE))
    # what is served is still seen to be served, from the server itself, which has no such name
    said = box.millrace(f"share set {SHARE} --comment 'a certificate of the site'", seconds=600)
    assert "over TLS" in said.out
    client.wait_command(
        f"openssl s_client -connect {HOST}:9090 < /dev/null | openssl x509 -noout -ext subjectAltName | "
        "grep -q DNS:nas.example.com",
        "the uploaded certificate on port 9090",
        120,
    )
