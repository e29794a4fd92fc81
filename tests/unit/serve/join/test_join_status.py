# SPDX-License-Identifier: Apache-2.0
"""`millrace domain show` and the health check of a membership; what cannot be read is unknown."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.observe.health.checks import domain as domain_check
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.serve.config import store
from millrace.serve.domain.files import with_winbind
from millrace.serve.join.join import JoinRequest, join
from millrace.serve.join.join_status import lines, show
from millrace.serve.join.verbs import domain
from millrace.system.run import Result
from tests.fakes.tools import stand_in
from tests.unit.serve.join.member import PASSWORD, PLAIN, Member


@pytest.fixture
def joined(member: Member) -> Member:
    join(JoinRequest("ad.example.com", "Administrator", PASSWORD), member.server)
    return member


def test_show_prints_the_membership(joined: Member) -> None:
    text = "\n".join(lines(show(store.load().domain, joined)))
    for words in (
        "AD.EXAMPLE.COM (EXAMPLE)",
        "MILLRACE$, millrace.ad.example.com",
        "dc1.ad.example.com",
        "Trust:       yes",
        "nfs/millrace.ad.example.com",
        "1000000 to 1074741823",
    ):
        assert words in text


def test_a_program_gets_one_document(joined: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, joined)
    found = json.loads(CliRunner().invoke(domain, ["show", "--json"], catch_exceptions=False).output)
    assert found["schema_version"] == 1 and found["trusted"] is True and found["winbind"] is True
    assert found["domain"]["realm"] == "AD.EXAMPLE.COM" and found["problems"] == []


def test_server_in_no_domain_names_the_command_to_join(member: Member) -> None:
    assert "millrace domain join" in lines(show(None, member))[0]


def test_what_cannot_be_asked_is_not_known(joined: Member) -> None:
    joined.broken["wbinfo"] = Result(1, "", "could not ping")
    joined.broken["net -s"] = Result(255, "", "no answer")
    report = show(store.load().domain, joined)
    assert (report.winbind, report.trusted, report.controller, report.clock_offset) == (False, None, None, None)
    assert any("winbind" in one for one in report.problems) and any("no answer" in one for one in report.problems)


def findings(member: Member) -> list[tuple[Level, str]]:
    return [(one.level, one.sentence) for one in domain_check.check(Host(member))]


def test_a_server_in_no_domain_is_not_judged(member: Member) -> None:
    assert findings(member) == []


def test_a_member_that_is_well(joined: Member) -> None:
    [(level, sentence)] = findings(joined)
    assert level is Level.OK and "dc1.ad.example.com responds and trusts this server" in sentence


@pytest.mark.parametrize(("hurt", "words"), [
    ("wbinfo --ping", "winbind does not respond"),
    ("wbinfo --check-secret", "does not trust this server"),
    ("net -s", "No domain controller of ad.example.com responds"),
])  # fmt: skip
def test_a_member_that_is_cut_off_fails(joined: Member, hurt: str, words: str) -> None:
    joined.broken[hurt] = Result(1, "", "no")
    assert any(level is Level.FAIL and words in sentence for level, sentence in findings(joined))


@pytest.mark.parametrize(
    ("offset", "level"), [(149, Level.OK), (-150, Level.WARN), (300, Level.WARN), (301, Level.FAIL)]
)
def test_a_clock_that_drifts_is_seen_before_kerberos_ends(joined: Member, offset: int, level: Level) -> None:
    joined.offset = offset
    assert findings(joined)[0][0] is level


def test_a_member_without_a_key_for_nfs(joined: Member) -> None:
    (joined.root / "etc/krb5.keytab").unlink()
    [(level, sentence)] = findings(joined)
    assert level is Level.WARN and "no key" in sentence


@pytest.mark.parametrize("text", [
    PLAIN,
    "passwd: files\ngroup: files # all of them\n",
    "# nothing here\n",
    "passwd: files systemd\nshadow: files\n",
    "hosts: files dns winbind\n",
])  # fmt: skip
def test_the_order_of_look_ups_goes_there_and_back(text: str, tmp_path: Path) -> None:
    there = with_winbind(text, wanted=True)
    assert with_winbind(there, wanted=True) == there
    assert with_winbind(there, wanted=False) == text


def test_looking_writes_nothing_where_health_may_not(joined: Member) -> None:
    seen: list[str] = []
    joined.before["env"] = lambda: seen.extend(
        path.read_text() for path in (joined.root / "run/millrace").glob("domain-*/smb.conf")
    )
    show(store.load().domain, joined)
    directories = {line.split(" = ")[1] for text in seen for line in text.splitlines() if " dir" in line}
    assert len(directories) == 1 and str(joined.root / "run/millrace") in directories.pop()
    assert "registry" not in "".join(seen)
