# SPDX-License-Identifier: Apache-2.0
"""Recipes, the client kit and the client's check of a share that requires TLS."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.measure.client import kit, text
from millrace.measure.client.tls import Tls
from millrace.system.errors import Refused
from millrace_client import check
from tests.fakes.certificates import certificate, pair
from tests.unit.measure.client.servers import TRAIN, expectation, nfs_client, recipe

SHOWN = certificate(["nas7", "*.storage.example.com"], addresses=["10.0.0.2", "10.0.1.2"])
OWN = Tls(SHOWN, "-----BEGIN CERTIFICATE-----\n")
SECRET = replace(TRAIN, xprtsec="tls", tls=OWN)
MUTUAL = replace(SECRET, xprtsec="mtls")


def test_the_client_gets_the_authority_and_what_starts_tlshd() -> None:
    made = recipe(served=SECRET)
    files = {file.path: file.text for file in made.files}
    assert files["/etc/tlshd/millrace-ca.pem"] == OWN.trust
    assert "x509.truststore=/etc/tlshd/millrace-ca.pem" in files["/etc/tlshd/config"]
    assert "x509.private_key" not in files["/etc/tlshd/config"]
    assert ",xprtsec=tls," in made.fstab[0]
    lines = text.lines(made)
    assert lines.index("systemctl restart tlshd.service") < lines.index(made.fstab[0])
    assert any("ktls-utils" in note.text for note in made.notes)
    assert "root/etc/tlshd/millrace-ca.pem" in {file.path for file in kit.files(made)}


def test_mtls_names_where_the_clients_own_certificate_goes() -> None:
    made = recipe(served=MUTUAL)
    [configuration] = [one.text for one in made.files if one.path == "/etc/tlshd/config"]
    assert "x509.certificate=/etc/tlshd/client.pem" in configuration
    assert any("millrace certificate trust add" in one.text for one in made.notes)


def test_authority_that_clients_have_is_not_in_the_kit() -> None:
    made = recipe(served=replace(SECRET, tls=Tls(SHOWN, None)))
    assert not any(one.path.endswith("ca.pem") or "truststore" in one.text for one in made.files)
    assert any("CN=authority" in one.text for one in made.notes)


def test_a_share_without_demands_gets_nothing_of_it() -> None:
    made = recipe()
    assert made.prepare == [] and not any("tlshd" in one.path for one in made.files)


@pytest.mark.parametrize("host", ["nas7", "a.storage.example.com", None])
def test_a_name_of_the_certificate_is_fine(host: str | None) -> None:
    assert recipe(served=SECRET, host=host).host == (host or "10.0.0.2")


@pytest.mark.parametrize("host", ["nas8", "storage.example.com", "a.b.storage.example.com"])
def test_a_name_that_the_client_would_refuse_is_refused_here(host: str) -> None:
    with pytest.raises(Refused, match=f"does not name {host}: use --host"):
        recipe(served=SECRET, host=host)


def test_every_lane_of_a_trunk_needs_its_address_in_the_certificate() -> None:
    assert recipe(protocol="nfs-tcp-trunked", served=SECRET).prepare
    one = Tls(SHOWN.model_copy(update={"addresses": ["10.0.0.2"]}), None)
    with pytest.raises(Refused, match=r"does not name 10\.0\.1\.2"):
        recipe(protocol="nfs-tcp-trunked", served=replace(SECRET, tls=one))


def test_without_a_certificate_there_is_no_recipe() -> None:
    with pytest.raises(Refused, match="millrace-certificate"):
        recipe(served=replace(SECRET, tls=None))


@pytest.mark.parametrize(
    ("wanted", "options", "status", "words"),
    [
        ("tls", {"xprtsec": "tls"}, check.OK, "TLS, the server shows"),
        ("tls", {"xprtsec": "mtls"}, check.OK, "server and client show"),
        ("tls", {}, check.FAIL, "xprtsec is none, should be tls"),
        ("mtls", {"xprtsec": "tls"}, check.FAIL, "xprtsec is tls, should be mtls"),
        (None, {}, check.OK, "none"),
        (None, {"sec": "krb5p"}, check.OK, "Kerberos"),
        (None, {"xprtsec": "tls"}, check.OK, "TLS"),
    ],
)
def test_the_check_says_how_the_mount_is_encrypted(
    wanted: str | None, options: dict[str, str], status: str, words: str
) -> None:
    expect = expectation(served=replace(SECRET, xprtsec=wanted) if wanted else TRAIN)
    found = check.check_transport_security(expect, options)
    assert found.status == status and words in found.text
    assert bool(found.fix) == (status == check.FAIL)


def test_the_script_runs_it(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    findings = check.examine("/mnt/train", expectation(served=SECRET), client)
    assert [one.status for one in findings if one.check == "encryption"] == [check.FAIL]


BOTH = replace(SECRET, tls=Tls(SHOWN, pair("old")[0] + pair("next")[0], "2028-03-01T00:00:00+00:00"))
STORE = "etc/tlshd/millrace-ca.pem"


def test_recipe_has_both_authorities_before_the_next_one_takes_over() -> None:
    made = recipe(served=BOTH)
    assert [known.needed_from for known in made.expect.authorities] == [None, "2028-03-01T00:00:00+00:00"]
    assert any("on 2028-03-01" in note.text and "check.pyz" in note.text for note in made.notes)
    assert not any("two CAs" in note.text for note in recipe(served=SECRET).notes)
    printed = openssl_fingerprint(pair("old")[0])
    assert made.expect.authorities[0].fingerprint == printed


@pytest.mark.parametrize(
    ("texts", "status", "words"),
    [
        (["old", "next"], check.OK, "has both CAs"),
        (["old"], check.WARN, "has the old CA only: mounts fail from 2028-03-01 on"),
        (["next"], check.FAIL, "lacks the CA of the server"),
        (["other"], check.FAIL, "lacks the CA of the server"),
        ([], check.FAIL, "lacks the CA of the server"),
    ],
)
def test_check_reports_a_client_that_lacks_an_authority(
    tmp_path: Path, texts: list[str], status: str, words: str
) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    (tmp_path / STORE).parent.mkdir(parents=True)
    (tmp_path / STORE).write_text("".join(pair(name)[0] for name in texts))
    findings = check.examine("/mnt/train", expectation(served=BOTH), client)
    [trusted] = [finding for finding in findings if finding.check == "authority"]
    assert trusted.status == status and words in trusted.text
    assert bool(trusted.fix) == (status != check.OK)


def test_check_of_a_client_of_a_public_authority_looks_at_no_file(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    findings = check.examine("/mnt/train", expectation(served=replace(SECRET, tls=Tls(SHOWN, None))), client)
    assert "authority" not in {finding.check for finding in findings}


def openssl_fingerprint(certificate: str) -> str:
    words = ["openssl", "x509", "-noout", "-fingerprint", "-sha256"]
    said = subprocess.run(words, input=certificate, capture_output=True, text=True, check=True).stdout
    return said.strip().partition("=")[2]
