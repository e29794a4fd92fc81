# SPDX-License-Identifier: Apache-2.0
"""The server makes its own certificate once, and again when its names change or it is about to expire."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.serve.certificate import cockpit, files, own, renew, x509
from millrace.serve.certificate.certificate_status import authority_for_clients, rows, show
from millrace.serve.certificate.identity import days_left, is_early
from millrace.system.errors import BadInput
from tests.fakes import read_only
from tests.unit.serve.certificate.server import Server, openssl, takes


def ensure(server: Server) -> bool:
    return renew.ensure(server.ports).changed


def test_the_first_one_names_the_server_in_every_way(bare: Server) -> None:
    assert ensure(bare)
    found = show()
    assert found.origin == "own"
    assert {"nas7", "nas7.local", "localhost"} == set(found.certificate.names)
    assert {"10.0.0.2", "fd00:1::2", "127.0.0.1", "::1"} == set(found.certificate.addresses)
    assert found.certificate.issuer == found.authority.subject
    assert 390 < found.days_left < 398
    assert "nas7.local" in "\n".join(rows(found))


def test_boot_drive_that_is_read_only_has_the_certificate(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = server.shown
    read_only.boot_drive(server.root, monkeypatch)
    assert not ensure(server)
    assert server.shown == shown


def test_a_client_that_trusts_the_authority_takes_it(server: Server, tmp_path: Path) -> None:
    assert takes(authority_for_clients(), server.shown, tmp_path)
    renew.renew(issuer="new", ports=server.ports)
    assert takes(authority_for_clients(), server.shown, tmp_path)


def test_each_certificate_is_for_one_purpose(server: Server) -> None:
    extensions = "basicConstraints,keyUsage,extendedKeyUsage"

    def said(text: str) -> list[str]:
        lines = openssl("x509", "-noout", "-ext", extensions, stdin=text).splitlines()
        return [line.strip().removeprefix("X509v3 ") for line in lines]

    common = ["Basic Constraints: critical", "CA:FALSE", "Key Usage: critical", "Digital Signature"]
    both = "TLS Web Server Authentication, TLS Web Client Authentication"
    assert said(server.shown) == [*common, "Extended Key Usage:", both]
    assert said(files.loopback_pair()[0].read_text()) == [
        *common,
        "Extended Key Usage:",
        "TLS Web Client Authentication",
    ]
    authority = [
        "Basic Constraints: critical",
        "CA:TRUE, pathlen:0",
        "Key Usage: critical",
        "Certificate Sign, CRL Sign",
    ]
    assert said(authority_for_clients()) == authority


def test_clients_with_late_clocks_take_it(server: Server) -> None:
    begin = datetime.fromisoformat(show().certificate.not_before)
    assert begin < datetime.now(UTC) - timedelta(hours=23)


def test_keys_are_of_root_alone_and_fit(server: Server) -> None:
    keys = [files.authority()[1], files.loopback_pair()[1], files.current() / files.KEY]
    assert [stat.S_IMODE(path.stat().st_mode) for path in keys] == [0o600] * 3
    public = openssl("pkey", "-pubout", stdin=server.key)
    assert public == openssl("x509", "-noout", "-pubkey", stdin=server.shown)


def test_no_program_is_given_a_key(bare: Server) -> None:
    ensure(bare)
    assert bare.calls == []


def test_one_that_is_no_client_is_made_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as first_releases:
        first_releases.setitem(x509._USES, "server", x509._USES["server"][:1])
        renew.renew(ports=server.ports)
    assert show().certificate.purposes == ["TLS Web Server Authentication"]
    assert ensure(server)
    assert "TLS Web Client Authentication" in show().certificate.purposes
    assert not ensure(server)


def test_nothing_is_done_twice(server: Server) -> None:
    before = server.shown
    assert not ensure(server)
    assert server.shown == before


def test_the_web_console_takes_it_and_makes_none(server: Server) -> None:
    for suffix, name in (("cert", files.CHAIN), ("key", files.KEY)):
        link = cockpit.directory() / f"50-millrace.{suffix}"
        assert str(link.readlink()) == f"/var/lib/millrace/certificate/current/{name}"
    assert not cockpit.in_the_way()
    (cockpit.directory() / "99-mine.crt").write_text("")
    assert cockpit.in_the_way() == ["99-mine.crt"]


def test_a_new_address_or_name_makes_another_of_the_same_authority(server: Server) -> None:
    authority = authority_for_clients()
    server.addresses = ["10.0.0.2/24", "10.9.0.2/16"]
    assert renew.ensure(server.ports).reason == "the previous one does not name 10.9.0.2"
    assert authority_for_clients() == authority
    # a CA of the first day knows the old name only, and no client
    server.name("nas8.example.com")
    assert ensure(server)
    assert {"nas8.example.com", "nas8", "nas8.local"} <= set(show().certificate.names)
    assert authority_for_clients() != authority
    # who works in the web console is not thrown out for it
    assert not server.restarted_cockpit()


def test_an_address_that_is_gone_for_a_while_changes_nothing(server: Server) -> None:
    server.addresses = ["10.0.0.2/24"]
    assert not ensure(server)


def test_it_is_made_again_before_its_end(bare: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "SERVER_VALIDITY", timedelta(days=20))
    ensure(bare)
    monkeypatch.setattr(own, "SERVER_VALIDITY", timedelta(days=395))
    assert "expires on" in renew.ensure(bare.ports).reason
    assert days_left(show().certificate) > 390


def test_one_of_a_clock_that_was_ahead_is_made_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = authority_for_clients()
    ahead(monkeypatch, days=100)
    renew.renew(ports=server.ports)
    ahead(monkeypatch, days=-1)
    assert "is not valid before" in renew.ensure(server.ports).reason
    assert not is_early(show().certificate) and not ensure(server)
    # clients that trust this server need not be told of another authority
    assert authority_for_clients() == authority


def test_an_authority_of_a_clock_that_was_ahead_is_made_again(
    bare: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ahead(monkeypatch, days=100)
    ensure(bare)
    before = authority_for_clients()
    ahead(monkeypatch, days=-1)
    assert ensure(bare)
    assert authority_for_clients() != before
    report = show()
    assert not is_early(report.certificate) and not is_early(report.authority)
    assert not is_early(x509.describe(files.loopback_pair()[0].read_text()))
    assert takes(authority_for_clients(), bare.shown, tmp_path)


def test_a_certificate_of_a_lost_authority_is_made_again(server: Server) -> None:
    files.authority()[0].unlink()
    assert renew.ensure(server.ports).reason == "the CA was renewed"


def ahead(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    """Certificates are made as by a clock that is so many days ahead."""
    monkeypatch.setattr(x509, "EARLIER", timedelta(days=-days))


def test_a_further_name_is_kept(server: Server) -> None:
    renew.renew(["Storage.Example.com"], ports=server.ports)
    assert "storage.example.com" in show().certificate.names
    assert server.restarted_cockpit()
    server.addresses.append("10.7.0.1/24")
    ensure(server)
    assert "storage.example.com" in show().certificate.names
    renew.renew(["none"], ports=server.ports)
    assert "storage.example.com" not in show().certificate.names


@pytest.mark.parametrize("name", ["", "two words", "a,DNS:b", "10.0.0.9", "@netgroup", "x\ny", "*.example.com"])
def test_a_name_that_is_none_is_refused(server: Server, name: str) -> None:
    ensure(server)
    before = server.shown
    with pytest.raises(BadInput, match="is not a host name"):
        renew.renew([name], ports=server.ports)
    assert server.shown == before and files.settings().names == []


def test_another_authority_only_on_demand(server: Server, tmp_path: Path) -> None:
    before = authority_for_clients()
    renew.renew(issuer="new", ports=server.ports)
    assert authority_for_clients() != before
    found = show()
    assert [one.subject for one in found.trusted] == [found.authority.subject]
    assert takes(authority_for_clients(), files.loopback_pair()[0].read_text(), tmp_path)


def test_a_power_cut_in_between_is_made_good(server: Server) -> None:
    files.authority()[0].unlink()
    (files.directory() / "sets/set-half").mkdir()
    renew.ensure(server.ports)
    renew.renew(ports=server.ports)
    assert show().certificate.issuer == show().authority.subject
    assert len(list((files.directory() / "sets").iterdir())) == 1
