# SPDX-License-Identifier: Apache-2.0
"""Authorities of client certificates for mtls shares; the file is never empty."""

import pytest

from millrace.serve.certificate import files, renew, x509
from millrace.serve.certificate.trust import add, remove, revoke, trusted
from millrace.system.errors import BadInput, Refused
from tests.unit.serve.certificate.server import Authority, Server, openssl

pytestmark = pytest.mark.usefixtures("server")


def test_an_authority_is_added_once_and_removed_by_its_fingerprint(site: Authority) -> None:
    assert [one.subject for one in add(site.root).trusted][1:] == ["CN=Site root"]
    add(site.root + site.middle)
    added = trusted().trusted
    assert [one.subject for one in added][1:] == ["CN=Site root", "CN=Site issuing"]
    remove(added[1].fingerprint[:14].lower())
    assert [one.subject for one in trusted().trusted][1:] == ["CN=Site issuing"]
    assert site.middle in files.trusted().read_text()


def test_others_outlive_a_new_authority_of_the_server(server: Server, site: Authority) -> None:
    add(site.root)
    renew.renew(issuer="new", ports=server.ports)
    assert [one.subject for one in trusted().trusted][1:] == ["CN=Site root"]


def test_the_own_authority_stays(site: Authority) -> None:
    with pytest.raises(Refused, match="cannot be removed"):
        remove(trusted().trusted[0].fingerprint)


def test_bad_input_changes_nothing(site: Authority) -> None:
    before = files.trusted().read_text()
    leaf, key = site.server("subjectAltName=DNS:c")
    with pytest.raises(BadInput, match="not a CA certificate"):
        add(leaf)
    with pytest.raises(BadInput, match="private key"):
        add(site.root + key)
    with pytest.raises(BadInput, match="no certificate"):
        add("")
    for fingerprint in ("", "ab", "not-a-print-at-all"):
        with pytest.raises(BadInput, match="fingerprint"):
            remove(fingerprint)
    assert files.trusted().read_text() == before


def test_a_revocation_list_of_a_trusted_authority_is_used_until_the_next(server: Server, site: Authority) -> None:
    add(site.middle)
    assert trusted().revocations == []
    stolen, _ = site.server("extendedKeyUsage=clientAuth", name="gpu1")
    [before] = revoke(site.revocations()).revocations
    assert (before.issuer, before.revoked) == ("CN=Site issuing", 0)
    [after] = revoke(site.revocations(stolen)).revocations
    assert after.revoked == 1
    # a renewal of the server's own CA keeps it; tlshd refuses a file without a list
    renew.renew(issuer="new", ports=server.ports)
    assert trusted().revocations == [after]
    remove(trusted().trusted[1].fingerprint)
    assert trusted().revocations == []
    said = openssl("crl", "-noout", "-issuer", "-CAfile", str(files.authority()[0]), stdin=files.revoked().read_text())
    assert "Millrace authority nas7" in said


def test_a_revocation_list_that_proves_nothing_is_refused(site: Authority) -> None:
    before = files.revoked().read_text()
    with pytest.raises(BadInput, match="no trusted CA signed the revocation list of CN=Site issuing"):
        revoke(site.revocations())
    add(site.middle)
    ended, lasting = site.revocations(days=-1), site.revocations()
    with pytest.raises(Refused, match="ended on"):
        revoke(ended)
    for text, words in (("", "no revocation list"), (lasting.replace("M", "W", 1), "cannot be read")):
        with pytest.raises(BadInput, match=words):
            revoke(text)
    assert files.revoked().read_text() == before


def test_an_older_revocation_list_is_refused(site: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    add(site.middle)
    lasting = site.revocations()
    revoke(lasting)
    described = x509.describe_revocations
    newer = {lasting: "2027-01-01T00:00:00+00:00"}
    monkeypatch.setattr(
        x509,
        "describe_revocations",
        lambda text: described(text).model_copy(update={"updated": newer.get(text, "2026-01-01T00:00:00+00:00")}),
    )
    with pytest.raises(Refused, match="is older than the one in use"):
        revoke(site.revocations(days=31))
