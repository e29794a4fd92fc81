# SPDX-License-Identifier: Apache-2.0
"""The CAs that a pairing has the source trust: as many as are needed, and no longer than they are."""

import pytest

from millrace.protect.replica import replica_pairing
from millrace.serve.certificate import files, pem, trust
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.config.protocols import Nfs, NfsClient
from millrace.system.errors import Refused
from tests.fakes.certificates import certify
from tests.fakes.certificates import pair as self_signed
from tests.unit.protect.replica.conftest import CA, FINGERPRINT, READER, Replicas, TrustedCas

NEXT = ":".join(["CD"] * 32)
OTHER = ":".join(["EF"] * 32)


def allowed(source: Replicas, address: str = READER, text: str = CA, fingerprint: str = FINGERPRINT) -> list[str]:
    """Allow a server, and return the warnings."""
    return replica_pairing.allow("data", address, text, fingerprint, source.appliance.server).warnings


def readers() -> list[tuple[str, str]]:
    share = store.load().share("data")
    assert share is not None
    return [(each.address, each.fingerprint) for each in share.readers]


def test_denied_server_is_no_longer_trusted(source: Replicas, trusted: TrustedCas) -> None:
    assert trusted.known[1:] == [FINGERPRINT]
    replica_pairing.deny("data", READER, source.appliance.server)
    assert trusted.known[1:] == [] and readers() == []


def test_address_in_another_spelling_is_denied(source: Replicas) -> None:
    allowed(source, "FD00:0::9")
    replica_pairing.deny("data", "fd00:0:0::0009", source.appliance.server)
    assert readers() == [(READER, FINGERPRINT)]


def test_ca_stays_as_long_as_another_server_has_it(source: Replicas, trusted: TrustedCas) -> None:
    allowed(source, "10.9.0.9")
    replica_pairing.deny("data", READER, source.appliance.server)
    assert trusted.known[1:] == [FINGERPRINT]
    replica_pairing.deny("data", "10.9.0.9", source.appliance.server)
    assert trusted.known[1:] == []


def test_ca_that_was_trusted_before_stays(source: Replicas, trusted: TrustedCas) -> None:
    trusted.known.append(NEXT)
    trusted.of["next"] = NEXT
    allowed(source, "10.9.0.9", "next", NEXT)
    replica_pairing.deny("data", "10.9.0.9", source.appliance.server)
    assert trusted.known[1:] == [FINGERPRINT, NEXT]


def test_new_ca_of_a_server_replaces_its_old_one(source: Replicas, trusted: TrustedCas) -> None:
    trusted.of["next"] = NEXT
    allowed(source, READER, "next", NEXT)
    assert trusted.known[1:] == [NEXT] and readers() == [(READER, NEXT)]


def test_ca_that_is_refused_lets_nobody_in(
    source: Replicas, trusted: TrustedCas, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: str) -> None:
        raise Refused("the CA ended")

    monkeypatch.setattr(trust, "add", refused)
    with pytest.raises(Refused, match="the CA ended"):
        allowed(source, READER, "next", NEXT)
    assert readers() == [(READER, FINGERPRINT)] and trusted.known[1:] == [FINGERPRINT]


def test_what_the_trust_opens_beside_the_snapshots_is_said(source: Replicas, trusted: TrustedCas) -> None:
    assert not any("CA" in line for line in allowed(source))
    trusted.known.append(OTHER)
    others = allowed(source)[-1]
    assert others.startswith(f"1 other CAs are trusted: a computer with the address {READER} and a certificate of one")
    data = store.load().shares[0]
    clients = Nfs(clients=[NfsClient(client="10.0.0.0/24", xprtsec=["mtls"])])
    config = Config(shares=[data.model_copy(update={"nfs": clients})], next_project=data.project + 1)
    [mutual] = replica_pairing._opened(config, data.readers[0], trusted.known[:1])
    assert mutual.startswith(f"clients of share data may show a certificate of the CA of {READER}, too")


def test_certificate_is_one_without_the_next_ca(source: Replicas) -> None:
    certify()
    for place, name in ((files.authority()[0], "own"), (files.successor()[0], "next")):
        place.write_text(self_signed(name)[0])
    assert pem.certificates(replica_pairing.certificate().authority) == [files.authority()[0].read_text()]
