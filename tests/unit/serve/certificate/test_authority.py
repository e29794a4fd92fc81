# SPDX-License-Identifier: Apache-2.0
"""The own CA lives two years and may certify this server only; clients know the next one months before it is used."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_interface
from pathlib import Path

import pytest

from millrace.serve.certificate import authority, files, own, pem, renew, x509
from millrace.serve.certificate.certificate_status import authority_for_clients, rows, show
from millrace.serve.certificate.identity import days_left
from millrace.system.errors import Refused
from millrace.system.net import Interface
from tests.unit.serve.certificate.server import Server, openssl, takes


def ends_in(days: int, monkeypatch: pytest.MonkeyPatch, server: Server) -> str:
    """A server whose CA ends in so many days and was made long ago; return the CA."""
    with monkeypatch.context() as then:
        then.setattr(authority, "VALIDITY", timedelta(days=days))
        then.setattr(x509, "EARLIER", timedelta(days=730 - days))
        renew.renew(issuer="new", ports=server.ports)
    return files.authority()[0].read_text()


def issued_for(directory: Path, **extensions: str) -> str:
    """What a thief of the CA's key signs."""
    certificate, key = files.authority()
    names = ",".join(extensions.values())
    made = directory / "thief.key"
    made.write_text(openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"))
    request = openssl("req", "-new", "-key", str(made), "-subj", "/CN=x", "-addext", f"subjectAltName={names}")
    signer = ["-CA", str(certificate), "-CAkey", str(key), "-CAserial", str(directory / "serial"), "-CAcreateserial"]
    return openssl("x509", "-req", "-days", "9", "-copy_extensions", "copyall", *signer, stdin=request)


def test_authority_lives_two_years_and_no_certificate_outlives_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 725 < days_left(show().authority) < 730
    ends_in(170, monkeypatch, server)
    assert show().certificate.not_after == show().authority.not_after


@pytest.mark.parametrize(
    ("san", "taken"),
    [
        ("DNS:nas7", True),
        ("DNS:backup.nas7", True),
        ("IP:10.99.0.1", True),
        ("IP:fd00:9::1", True),
        ("DNS:bank.example.com", False),
        ("DNS:notnas7", False),
        ("IP:203.0.113.7", False),
        ("IP:2001:db8::1", False),
    ],
)
def test_authority_certifies_this_server_only(server: Server, tmp_path: Path, san: str, taken: bool) -> None:
    assert takes(authority_for_clients(), issued_for(tmp_path, san=san), tmp_path) is taken


def test_constraints_are_critical(server: Server) -> None:
    said = openssl("x509", "-noout", "-ext", "nameConstraints", stdin=authority_for_clients())
    assert "Name Constraints: critical" in said and "DNS:nas7" in said


def test_public_network_of_a_port_is_certified(bare: Server, tmp_path: Path) -> None:
    bare.addresses = ["203.0.113.4/28"]
    renew.ensure(bare.ports)
    assert takes(authority_for_clients(), bare.shown, tmp_path)
    assert takes(authority_for_clients(), issued_for(tmp_path, san="IP:203.0.113.9"), tmp_path)


def test_clients_are_given_the_next_one_before_it_is_used(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = ends_in(170, monkeypatch, server)
    renew.ensure(server.ports)
    both = authority_for_clients()
    assert both.startswith(first) and len(pem.certificates(both)) == 2
    assert takes(both, server.shown, tmp_path) and takes(first, server.shown, tmp_path)
    succession = show().succession
    assert succession is not None and succession.waiting == []
    assert "Next CA" in "\n".join(rows(show()))
    monkeypatch.setattr(authority, "TAKEOVER_DAYS", 171)
    assert renew.ensure(server.ports).reason == "the CA was renewed"
    assert show().succession is None
    assert takes(both, server.shown, tmp_path) and not takes(first, server.shown, tmp_path)
    assert takes(authority_for_clients(), files.loopback_pair()[0].read_text(), tmp_path)
    assert not renew.ensure(server.ports).changed


def test_announced_authority_stays_when_an_address_is_added(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ends_in(100, monkeypatch, server)
    renew.ensure(server.ports)
    announced = files.successor()[0].read_text()
    server.addresses.append("2001:db8::1/64")
    renew.ensure(server.ports)
    succession = show().succession
    # neither of them may certify it
    assert succession is not None and succession.waiting == []
    assert files.successor()[0].read_text() == announced


def test_authority_of_an_earlier_release_is_replaced_with_an_overlap(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as then:
        then.setattr(authority, "VALIDITY", timedelta(days=7300))
        then.setattr(x509, "_constraints", lambda names, networks: x509.x509.OCSPNoCheck())
        renew.renew(issuer="new", ports=server.ports)
    before = authority_for_clients()
    assert not renew.ensure(server.ports).changed
    succession = show().succession
    assert succession is not None
    assert timedelta(days=130) < datetime.fromisoformat(succession.takes_over) - datetime.now(UTC) < authority.OVERLAP
    assert takes(before, server.shown, tmp_path)


def test_name_that_the_authority_may_not_certify_waits_for_the_next_one(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(authority, "NEW", timedelta())
    before = authority_for_clients()
    report = renew.renew(["storage.example.com"], ports=server.ports)
    assert "may not certify storage.example.com" in report.warnings[0]
    assert "storage.example.com" not in report.certificate.names
    assert takes(before, server.shown, tmp_path)
    # and does not ask for another certificate every day
    assert not renew.ensure(server.ports).changed
    assert "storage.example.com" in renew.renew(issuer="successor", ports=server.ports).certificate.names
    assert takes(authority_for_clients(), server.shown, tmp_path)
    assert show().succession is None


def test_name_given_on_the_first_day_is_certified_at_once(server: Server) -> None:
    report = renew.renew(["storage.example.com"], ports=server.ports)
    assert "storage.example.com" in report.certificate.names and report.warnings == []


def test_successor_that_is_not_there_is_refused(server: Server) -> None:
    with pytest.raises(Refused, match="there is no next CA"):
        renew.renew(issuer="successor", ports=server.ports)


def test_a_new_authority_drops_the_next_one(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ends_in(170, monkeypatch, server)
    renew.ensure(server.ports)
    stolen = authority_for_clients()
    renew.renew(issuer="new", ports=server.ports)
    assert not set(pem.certificates(stolen)) & set(pem.certificates(authority_for_clients()))
    assert not any(path.exists() for path in (*files.successor(), *files.previous()))


def test_takeover_that_a_power_cut_interrupted_is_finished(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ends_in(170, monkeypatch, server)
    renew.ensure(server.ports)
    following = files.successor()[0].read_text()
    files.authority()[0].unlink()
    renew.ensure(server.ports)
    assert files.authority()[0].read_text() == following
    assert show().certificate.issuer == show().authority.subject


def test_clock_that_was_ahead_does_not_lose_the_authority_of_the_clients(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = ends_in(170, monkeypatch, server)
    renew.ensure(server.ports)
    with monkeypatch.context() as ahead:
        ahead.setattr(x509, "EARLIER", timedelta(days=-100))
        ahead.setattr(authority, "TAKEOVER_DAYS", 171)
        files.successor()[0].unlink()
        renew.ensure(server.ports)
        assert files.authority()[0].read_text() != first
    renew.ensure(server.ports)
    assert files.authority()[0].read_text() == first
    assert takes(first, server.shown, tmp_path)


def test_authority_returns_after_a_clock_that_was_ahead_of_its_end(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    renew.ensure(server.ports)
    first, subject = files.authority()[0].read_text(), show().authority.subject
    with monkeypatch.context() as ahead:
        ahead.setattr(x509, "EARLIER", timedelta(days=-300))
        ahead.setattr(authority, "days_left", lambda held: -1 if held.subject == subject else 700)
        renew.ensure(server.ports)
        assert files.authority()[0].read_text() != first
    renew.ensure(server.ports)
    assert files.authority()[0].read_text() == first
    assert takes(first, server.shown, tmp_path)


def test_certificate_of_a_name_that_is_too_long_has_a_short_one(server: Server) -> None:
    ports = [Interface("enp1s0", [ip_interface("10.0.0.2/24")], True, None)]
    server.name("n" * 63 + ".example.com")
    assert renew.ensure(lambda: ports).changed
    assert show().certificate.subject == f"CN={'n' * 63}" and own.SERVER_VALIDITY.days == 395
