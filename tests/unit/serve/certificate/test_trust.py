# SPDX-License-Identifier: Apache-2.0
"""Authorities of client certificates for mtls shares; the file is never empty."""

import pytest

from millrace.serve.certificate import files, renew
from millrace.serve.certificate.trust import add, remove, trusted
from millrace.system.errors import BadInput, Refused
from tests.unit.serve.certificate.server import Authority, Server

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
    renew.renew(authority=True, ports=server.ports)
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
