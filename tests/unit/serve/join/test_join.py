# SPDX-License-Identifier: Apache-2.0
"""Joining checks its conditions, joins, verifies the membership, and rolls back everything where one step fails."""

import re
import socket
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from millrace.serve.config import store
from millrace.serve.domain.files import DNS, IDMAPD, KEYTAB, KRB5, NSSWITCH
from millrace.serve.domain.model import MembershipChange
from millrace.serve.join.join import JoinRequest, join
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.run import Result
from tests.unit.serve.join.member import HOSTS, PASSWORD, PLAIN, Member


def joined(
    member: Member, *, account: str = "Administrator", password: str = PASSWORD, dns: tuple[str, ...] = ()
) -> MembershipChange:
    return join(JoinRequest("ad.example.com", account, password, dns), member.server)


def state(root: Path) -> dict[str, bytes]:
    """Everything that a membership could leave behind."""
    found = [path for folder in ("etc", "var/lib/millrace/config.json") for path in (root / folder).rglob("*")]
    return {str(path): path.read_bytes() for path in found if path.is_file()}


def test_a_member_serves_the_domain(member: Member) -> None:
    report = joined(member)
    domain = store.load().domain
    assert report.domain == domain and domain is not None
    assert (domain.realm, domain.workgroup, domain.machine) == ("AD.EXAMPLE.COM", "EXAMPLE", "MILLRACE")
    smb = member.on_smb()["global"]
    assert (smb["server role"], smb["security"], smb["realm"]) == ("member server", "ads", "AD.EXAMPLE.COM")
    assert smb["idmap config EXAMPLE : backend"] == "rid"
    assert "millrace.ad.example.com" in "".join(member.names)
    assert any("trusts this server" in line for line in report.verified)
    assert "SMB: data is listed and accessible" in report.verified


def test_numbers_never_meet_those_of_local_accounts(member: Member) -> None:
    from millrace.serve.config.model import FIRST_ID, LAST_ID

    joined(member)
    smb = member.on_smb()["global"]
    ranges = [smb[f"idmap config {name} : range"] for name in ("*", "EXAMPLE")]
    spans = sorted([(FIRST_ID, LAST_ID), *((int(a), int(b)) for a, b in (one.split("-") for one in ranges))])
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    # every RID has a number that a signed 32-bit program takes
    assert spans[-1][1] - spans[-1][0] + 1 == 1 << 30 and spans[-1][1] < 1 << 31


def test_accounts_are_looked_up_in_winbind_only_while_joined(member: Member) -> None:
    assert member.text(NSSWITCH) == PLAIN
    joined(member)
    text = member.text(NSSWITCH) or ""
    assert re.findall(r"^(\w+):.* winbind$", text, re.MULTILINE) == ["passwd", "group"]
    assert HOSTS in text


def test_anna_of_the_domain_is_never_the_local_anna(member: Member) -> None:
    joined(member)
    krb5 = member.text(KRB5) or ""
    assert r"RULE:[1:EXAMPLE\$1@$0](.*@AD\.EXAMPLE\.COM)" in krb5
    assert "DEFAULT" not in krb5
    assert "Domain = ad.example.com" in (member.text(IDMAPD) or "")


def test_the_domains_dns_server_is_asked_for_its_names_alone(member: Member) -> None:
    joined(member, dns=("10.0.0.5", "10.0.0.6"))
    text = member.text(DNS) or ""
    assert "DNS=10.0.0.5 10.0.0.6\n" in text and "Domains=ad.example.com\n" in text
    assert member.called("systemctl reload-or-restart systemd-resolved.service")


def test_without_a_dns_server_the_networks_own_are_asked(member: Member) -> None:
    joined(member)
    assert member.text(DNS) is None


def test_the_password_is_seen_by_kerberos_alone(member: Member) -> None:
    joined(member)
    assert not any(PASSWORD in word for call in member.calls for word in call)
    told = [call for call, stdin in zip(member.calls, member.stdin, strict=True) if PASSWORD in stdin]
    assert len(told) == 1 and "kinit" in told[0]
    assert [path.name for path in (member.root / "run/millrace").iterdir() if path.is_dir()] == ["nfs"]


def _clock(member: Member) -> None:
    member.offset = 301


def _host_name(member: Member) -> None:
    socket.gethostname = lambda: "a-name-of-sixteen"


def _no_srv(member: Member) -> None:
    member.broken["resolvectl query"] = Result(1, "", "resolve call failed")


def _nobody(member: Member) -> None:
    member.broken["net -s"] = Result(255, "", "Didn't find the cldap server!")


def _no_connection(member: Member) -> None:
    member.refused = ConnectionRefusedError(111, "Connection refused")


def _slow_connection(member: Member) -> None:
    member.refused = TimeoutError("timed out")


def _silence(member: Member) -> None:
    member.broken["net -s"] = Result(124, "", "")


def _foreign_keytab(member: Member) -> None:
    (member.root / KEYTAB).write_text("of somebody else")


def _password(member: Member) -> None:
    member.broken["kinit"] = Result(1, "", "kinit: Password incorrect while getting initial credentials")


@pytest.mark.parametrize(
    ("hurt", "sentence"),
    [
        (_clock, "301 s behind the domain's"),
        (_host_name, "1 to 15"),
        (_no_srv, "knows no domain controller of ad.example.com"),
        (_nobody, "no domain controller answers"),
        (
            _no_connection,
            "dc1.ad.example.com takes no connection for LDAP (TCP, port 389): Connection refused: is it up",
        ),
        (_slow_connection, "(TCP, port 389): timed out: is it up"),
        (_silence, "no answer in 120 s"),
        (_foreign_keytab, "/etc/krb5.keytab is there and not of Millrace"),
        (_password, "the password of Administrator is not right"),
    ],
)
def test_what_is_in_the_way_is_said_before_anything_changes(
    member: Member, monkeypatch: pytest.MonkeyPatch, hurt: Callable[[Member], None], sentence: str
) -> None:
    monkeypatch.setattr(socket, "gethostname", socket.gethostname)
    hurt(member)
    before = state(member.root)
    with pytest.raises(Refused, match=re.escape(sentence)) as error:
        joined(member, dns=("10.0.0.5",))
    assert "\n" not in str(error.value)
    assert state(member.root) == before
    assert store.load().domain is None
    assert not member.machines


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("net -s", "Insufficient access"),
        ("systemctl restart winbind", "Job for winbind.service failed"),
        ("wbinfo --check-secret", "could not reach a domain controller"),
        ("smbclient", "NT_STATUS_LOGON_FAILURE"),
    ],
)
def test_failed_join_is_rolled_back(member: Member, tool: str, said: str) -> None:
    def refuses(words: Sequence[str], stdin: str) -> Result:
        # of the commands that `net -s FILE ads` runs, the service names alone
        return member.works(words, stdin) if words[0] == "net" and "setspn" not in words else Result(1, "", said)

    before = state(member.root)
    member.broken[tool] = refuses
    with pytest.raises(Refused, match=f"{said}.*; nothing was changed"):
        joined(member, dns=("10.0.0.5",))
    assert state(member.root) == before
    assert not member.machines
    assert store.load().domain is None
    assert member.called("systemctl stop winbind.service")


def test_only_once(member: Member) -> None:
    joined(member)
    with pytest.raises(Refused, match=r"is already a member of ad\.example\.com"):
        joined(member)


@pytest.mark.parametrize(
    "request_",
    [
        JoinRequest("example", "Administrator", PASSWORD),
        JoinRequest("ad.example.com; rm", "Administrator", PASSWORD),
        JoinRequest("ad.example.com", "Admin/istrator", PASSWORD),
        JoinRequest("ad.example.com", "a@b", PASSWORD),
        JoinRequest("ad.example.com", "Administrator", ""),
        JoinRequest("ad.example.com", "Administrator", "two\nlines"),
        JoinRequest("ad.example.com", "Administrator", PASSWORD, ("10.0.0.500",)),
        JoinRequest("ad.example.com", "Administrator", PASSWORD, ("fe80::1%eth0",)),
        JoinRequest("ad.example.com", "Administrator", PASSWORD, (), "OU=Servers,DC=x"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(member: Member, request_: JoinRequest) -> None:
    before = state(member.root)
    with pytest.raises(BadInput) as error:
        join(request_, member.server)
    assert "\n" not in str(error.value) and PASSWORD not in str(error.value)
    assert state(member.root) == before


def test_only_root_joins(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MillraceError, match="requires root"):
        joined(member)


def test_a_name_that_dns_did_not_take_is_said(member: Member) -> None:
    member.ads_said = "DNS update failed!\n"
    [warning] = joined(member).warnings
    assert "A record" in warning and "millrace.ad.example.com" in warning
