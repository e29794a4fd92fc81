# SPDX-License-Identifier: Apache-2.0
"""Findings of a certificate that ends soon, has ended or lacks a name of the server."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.health.checks import nfs
from millrace.observe.health.checks.certificate import check
from millrace.observe.health.model import Level
from millrace.serve.certificate import cockpit, files, trust
from millrace.serve.certificate.model import RevocationList, Succession, TrustedAuthorities
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.files import write_text
from millrace.system.run import Result
from tests.fakes.certificates import certificate, certify, pair
from tests.unit.observe.health.servers import host, sentences, well


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)


def said() -> tuple[Level, str]:
    [finding] = check(host())
    return finding.level, sentences([finding])


def test_a_good_one_is_ok() -> None:
    certify()
    assert said()[0] is Level.OK


def test_none_points_to_what_makes_it() -> None:
    level, words = said()
    assert level is Level.WARN and "systemctl start millrace-certificate.service" in words


def test_the_end_is_announced_and_then_a_failure() -> None:
    certify(days=20)
    assert said()[0] is Level.WARN
    certify(days=-1)
    level, words = said()
    assert level is Level.FAIL and "millrace certificate renew" in words
    certify(days=-1, origin="installed")
    assert "millrace certificate install" in said()[1]


def test_one_that_begins_later_is_a_failure() -> None:
    certify(days=40_000, begin="2126-11-20T00:00:00+00:00")
    level, words = said()
    assert level is Level.FAIL and "not valid before 2126-11-20" in words
    assert "systemctl start millrace-certificate.service" in words
    certify(days=40_000, begin="2126-11-20T00:00:00+00:00", origin="installed")
    assert "timedatectl" in said()[1] and "millrace certificate install" in said()[1]


def test_a_name_that_it_lacks_is_named() -> None:
    certify(names=["nas7"])
    level, words = said()
    assert level is Level.WARN and "nas7.local" in words


def test_an_installed_one_may_lack_names_and_not_lose_all() -> None:
    certify(names=["nas7"], origin="installed")
    assert said()[0] is Level.OK
    certify(names=["elsewhere.example.com"], origin="installed")
    assert said()[0] is Level.WARN


def test_a_file_changed_by_hand_is_a_failure() -> None:
    certify()
    (files.current() / files.CHAIN).write_text("mine")
    level, words = said()
    assert level is Level.FAIL and "by hand" in words


def test_key_of_another_certificate_is_a_failure() -> None:
    certify()
    (files.current() / files.KEY).write_text(pair("other")[1])
    level, words = said()
    assert level is Level.FAIL and "millrace certificate renew --own" in words
    assert "does not fit the certificate" in words
    (files.current() / files.KEY).write_text("")
    assert "does not fit the certificate" in said()[1]


def test_other_certificate_in_use_by_cockpit_is_a_finding() -> None:
    certify()
    cockpit.directory().mkdir(parents=True)
    (cockpit.directory() / "99-mine.cert").write_text("")
    level, words = said()
    assert level is Level.WARN and "99-mine.cert" in words


def test_next_authority_is_announced_to_clients_of_tls_a_month_before(tmp_path: Path) -> None:
    certify()
    exports = tmp_path / "etc/exports.d/millrace.exports"
    exports.parent.mkdir(parents=True)
    exports.write_text("/srv/pool/data 10.0.0.0/24(rw,xprtsec=tls)\n")
    succeeds(days=60)
    assert said()[0] is Level.OK
    succeeds(days=20)
    level, words = said()
    assert level is Level.WARN and "replaces its CA on" in words and "check.pyz" in words
    exports.write_text("/srv/pool/data 10.0.0.0/24(rw)\n")
    assert said()[0] is Level.OK
    certify(origin="installed")
    assert said()[0] is Level.OK


def test_next_authority_is_announced_to_readers_of_the_metrics_and_of_the_journal(tmp_path: Path) -> None:
    certify()
    succeeds(days=20)
    write_text(paths.metrics_dir() / "endpoint.json", "{}")
    level, words = said()
    assert level is Level.WARN and "readers of the metrics that have the old CA only fail then" in words
    assert "millrace certificate show --ca" in words
    write_text(paths.policy_file(), '[journal]\nforward = "https://logs.example.com:19532"\n')
    assert "readers of the metrics, receivers of the journal that" in said()[1]


def test_name_that_waits_for_the_next_authority_is_one_finding() -> None:
    certify(names=["nas7"])
    succeeds(days=60, waiting=["nas7.local"])
    level, words = said()
    assert level is Level.WARN and "may not certify nas7.local" in words and "--successor" in words


def test_revocation_list_that_ended_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    certify()
    block = "-----BEGIN X509 CRL-----\nMII=\n-----END X509 CRL-----\n"
    write_text(files.revoked(), block)
    assert said()[0] is Level.OK
    write_text(files.revoked(), block * 2)
    past = RevocationList(issuer="CN=Site", updated="2026-01-01", next_update="2026-02-01T00:00:00+00:00", revoked=1)
    endless = past.model_copy(update={"issuer": "CN=Endless", "next_update": None})
    known = TrustedAuthorities(trusted=[], revocations=[past, endless])
    monkeypatch.setattr(trust, "trusted", lambda: known)
    level, words = said()
    assert level is Level.WARN and "CN=Site ended on 2026-02-01" in words and "trust crl" in words


def succeeds(days: int, waiting: list[str] | None = None) -> None:
    day = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    write_model(files.succession_file(), Succession(takes_over=day, authority=certificate(), waiting=waiting or []))


class TestTheHelperOfTls:
    @pytest.mark.parametrize(
        ("options", "level"),
        [("rw", Level.OK), ("rw,xprtsec=none", Level.OK), ("rw,xprtsec=tls:mtls", Level.FAIL)],
    )
    def test_a_share_that_names_tls_needs_it(self, tmp_path: Path, options: str, level: Level) -> None:
        well(tmp_path)
        (tmp_path / "etc/exports.d/millrace.exports").write_text(f"/srv/pool/data 10.0.0.0/24({options}) h(rw)\n")
        [finding] = nfs.check(host(tlshd=Result(0, "inactive\n", "")))
        assert finding.level is level, sentences([finding])
        assert nfs.check(host())[0].level is Level.OK


def test_addresses_that_cannot_be_read_are_not_guessed() -> None:
    from millrace.observe.health.collect import collect
    from millrace.observe.health.host import Host
    from tests.fakes.samples import Tools
    from tests.unit.observe.health.servers import WELL

    certify()
    health = collect(Host(Tools({**WELL, "ip -j addr": Result(1, "", "no")})), {"certificate": check})
    assert health.level is Level.UNKNOWN
