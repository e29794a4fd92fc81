# SPDX-License-Identifier: Apache-2.0
"""A certificate is checked before it is installed; a rejected one leaves the current one in use."""

from base64 import b64decode, b64encode
from collections.abc import Callable

import pytest

from millrace.serve.certificate import files, renew
from millrace.serve.certificate.certificate_status import authority_for_clients, show
from millrace.serve.certificate.install import install, request
from millrace.system.errors import BadInput, MillraceError, Refused
from tests.unit.serve.certificate.server import Authority, Server, openssl, sign

NAMES = "subjectAltName=DNS:nas7.example.com,DNS:nas7,IP:10.0.0.2"
OTHER_KEY = "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n"
GOOD = f"{NAMES};extendedKeyUsage=serverAuth"


def test_chain_and_key_in_any_order(server: Server, site: Authority) -> None:
    leaf, key = site.server(GOOD)
    report = install(f"{site.root}{key}words around it\n{site.middle}{leaf}", server.ports)
    assert report.origin == "installed"
    assert server.shown == leaf + site.middle + site.root
    assert any("nas7.local" in one for one in report.warnings)
    assert server.restarted_cockpit()
    # the root came along: clients can be given it
    assert authority_for_clients() == site.root


def test_an_rsa_key_of_old_form_is_taken(server: Server, site: Authority) -> None:
    key = openssl("genrsa", "-traditional", "2048")
    made = openssl("req", "-x509", "-new", "-key", "/dev/stdin", "-subj", "/CN=nas7", "-addext", NAMES, stdin=key)
    install(made + key, server.ports)
    assert server.key.startswith("-----BEGIN PRIVATE KEY-----")


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        # version 3 becomes one that X.509 does not have; a name of DNS becomes one of EDI
        (b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x05"),
        (b"\x82\x04nas7", b"\xa5\x04\x81\x02as"),
    ],
)
def test_a_certificate_that_breaks_its_own_rules_is_refused_in_a_sentence(
    server: Server, site: Authority, good: bytes, bad: bytes
) -> None:
    leaf, key = site.server(NAMES)
    der = b64decode("".join(leaf.splitlines()[1:-1]))
    assert good in der
    text = b64encode(der.replace(good, bad)).decode()
    broken = f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"
    with pytest.raises(BadInput, match="provide complete PEM text"):
        install(broken + key, server.ports)


def test_the_old_name_of_a_certificate_is_taken(server: Server, site: Authority) -> None:
    leaf, key = site.server(GOOD)
    install(leaf.replace(" CERTIFICATE-", " X509 CERTIFICATE-") + key, server.ports)
    assert server.shown == leaf


def test_subject_and_purposes_are_those_of_openssl(server: Server, site: Authority) -> None:
    extensions = f"{NAMES};extendedKeyUsage=serverAuth,clientAuth,1.2.3.4"
    leaf, key = site.server(extensions, subject="/C=DE/O=Größe, Müller + Söhne/emailAddress=root@example.com/CN=nas7")
    found = install(leaf + key, server.ports).certificate
    said = openssl("x509", "-noout", "-subject", "-nameopt", "RFC2253,utf8,-esc_msb", stdin=leaf)
    assert f"subject={found.subject}\n" == said
    assert found.purposes == ["TLS Web Server Authentication", "TLS Web Client Authentication", "1.2.3.4"]
    fingerprint = openssl("x509", "-noout", "-fingerprint", "-sha256", stdin=leaf)
    assert fingerprint == f"sha256 Fingerprint={found.fingerprint}\n"


def test_without_the_root_clients_have_it_from_elsewhere(server: Server, site: Authority) -> None:
    leaf, key = site.server(GOOD)
    install(leaf + site.middle + key, server.ports)
    assert show().client_trust is None
    with pytest.raises(Refused, match="CN=Site issuing"):
        authority_for_clients()


def test_the_unit_never_replaces_it(server: Server, site: Authority) -> None:
    leaf, key = site.server(GOOD)
    install(leaf + key, server.ports)
    server.addresses.append("10.8.0.1/24")
    assert not renew.ensure(server.ports).changed
    with pytest.raises(Refused, match="--own"):
        renew.renew(ports=server.ports)
    assert renew.renew(back_to_own=True, ports=server.ports).origin == "own"


def test_a_request_is_answered_and_its_key_never_leaves(server: Server, site: Authority) -> None:
    asked = request(server.ports)
    assert {"nas7", "nas7.local"} <= set(asked.names) and "10.0.0.2" in asked.addresses
    key = files.request_key().read_text()
    answer = sign(site, asked.pem)
    install(answer + site.middle, server.ports)
    assert server.key == key
    assert not files.request_key().exists()
    assert "10.0.0.2" in show().certificate.addresses


BAD: dict[str, tuple[Callable[[Authority], str], str]] = {
    "nothing": (lambda site: "hello", "no certificate and no key"),
    "a key alone": (lambda site: site.middle_key, "no certificate"),
    "no key": (lambda site: site.server(GOOD)[0], "no private key"),
    "another key": (lambda site: site.server(GOOD)[0] + site.middle_key, "matches none"),
    "two keys": (lambda site: site.server(GOOD)[0] + site.middle_key + OTHER_KEY, "more than one"),
    "ended": (lambda site: "".join(site.server(GOOD, days=-1)), "ended on"),
    "no names": (lambda site: "".join(site.server("extendedKeyUsage=serverAuth")), "has no subjectAltName"),
    "not for servers": (lambda site: "".join(site.server(f"{NAMES};extendedKeyUsage=clientAuth")), "not for"),
    "a stranger": (lambda site: "".join(site.server(GOOD)) + site.root, "does not belong to the chain"),
    "a torn certificate": (
        lambda site: site.server(GOOD)[0].replace("M", "W", 1) + site.middle_key,
        "cannot be read",
    ),
    "a certificate that is no authority as issuer": (
        lambda site: site.below_a_server(GOOD),
        "does not belong to the chain",
    ),
    "openssl's own form": (
        lambda site: openssl("x509", "-trustout", stdin=site.server(GOOD)[0]) + site.middle_key,
        "provide a plain one",
    ),
    "a key of no use": (
        lambda site: site.server(GOOD)[0] + openssl("genpkey", "-algorithm", "X25519"),
        "cannot sign a certificate",
    ),
    "a torn key": (lambda site: site.server(GOOD)[0] + OTHER_KEY, "the private key cannot be read"),
    "a locked key": (
        lambda site: site.server(GOOD)[0] + openssl("pkey", "-aes256", "-passout", "pass:x", stdin=site.middle_key),
        "the key is encrypted",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_one_sentence_and_changes_nothing(server: Server, site: Authority, what: str) -> None:
    before = server.shown, server.key
    text, words = BAD[what]
    with pytest.raises(MillraceError, match=words) as error:
        install(text(site), server.ports)
    assert "\n" not in str(error.value)
    assert (server.shown, server.key) == before
    assert not server.restarted_cockpit()
