# SPDX-License-Identifier: Apache-2.0
"""Domain users and groups in shares beside local ones; Kerberos requires a key."""

from typing import Any

import pytest

from millrace.serve.config import store
from millrace.serve.domain.files import KEYTAB
from millrace.serve.join.join import JoinRequest, join
from millrace.serve.share.edit import create_shares, set_share
from millrace.serve.share.model import ChangeReport
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.run import Result
from tests.unit.serve.join.member import PASSWORD, Member


@pytest.fixture
def joined(member: Member) -> Member:
    join(JoinRequest("ad.example.com", "Administrator", PASSWORD), member.server)
    return member


def create(member: Member, **settings: Any) -> ChangeReport:
    return create_shares(["train"], {"type": "training", **settings}, member.server)


def test_people_of_the_domain_are_let_in(joined: Member) -> None:
    create(joined, smb_users=("admin", "example\\Anna"), smb_groups=("EXAMPLE\\model makers",))
    assert joined.on_smb()["train"]["valid users"] == (
        'admin EXAMPLE\\anna "+EXAMPLE\\model makers" millrace-check'
    )  # fmt: skip
    share = store.load().share("train")
    assert share is not None and share.smb.users == ["admin", "EXAMPLE\\anna"]


@pytest.mark.parametrize(("settings", "sentence"), [
    ({"smb_users": ("EXAMPLE\\nobody",)}, r"the domain has no user EXAMPLE\\nobody"),
    ({"smb_users": ("EXAMPLE\\model makers",)}, "is not a user of the domain"),
    ({"smb_groups": ("EXAMPLE\\anna",)}, "is not a group of the domain"),
    ({"smb_users": ("OTHER\\anna",)}, "of another domain: this server is in EXAMPLE"),
    ({"smb_users": ("EXAMPLE\\",)}, "cannot be a user or group of a domain"),
    ({"smb_users": ('EXAMPLE\\a"b',)}, "cannot be a user or group of a domain"),
    ({"smb_users": ("EXAMPLE\\a%U",)}, "cannot be a user or group of a domain"),
    ({"smb_users": ("EXAMPLE\\a\nb",)}, "cannot be a user or group of a domain"),
    ({"smb_users": ("a b\\anna",)}, "1 to 15"),
    ({"type": "home", "smb_users": ("EXAMPLE\\anna",)}, "no home on this server"),
])  # fmt: skip
def test_who_is_not_there_is_refused_and_nothing_changes(
    joined: Member, settings: dict[str, Any], sentence: str
) -> None:
    before = (joined.root / "etc/samba/smb.conf").read_text()
    with pytest.raises(MillraceError, match=sentence) as error:
        create(joined, **settings)
    assert "\n" not in str(error.value)
    assert (joined.root / "etc/samba/smb.conf").read_text() == before
    assert store.load().share("train") is None


def test_a_domain_that_does_not_answer_is_not_a_user_who_is_not_there(joined: Member) -> None:
    joined.broken["wbinfo"] = Result(1, "", "WBC_ERR_WINBIND_NOT_AVAILABLE")
    with pytest.raises(Refused, match="the domain lookup of"):
        create(joined, smb_users=("EXAMPLE\\anna",))


def test_domain_user_is_refused_without_a_domain(member: Member) -> None:
    with pytest.raises(BadInput, match="this server is in none: millrace domain join"):
        create(member, smb_users=("EXAMPLE\\anna",))


def test_kerberos_needs_a_key(member: Member) -> None:
    with pytest.raises(Refused, match="no key for NFS: join a domain"):
        create(member, nfs_clients=("10.0.0.0/24 sec=krb5",))
    assert store.load().share("train") is None
    assert "train" not in "".join(member.exported())


def test_a_kerberos_share_is_seen_to_open_tickets(joined: Member) -> None:
    report = create(joined, nfs_clients=("10.0.0.0/24 sec=krb5:krb5p",))
    assert "sec=krb5:krb5p" in joined.exported()["/srv/pool/train"]
    assert any("tickets for nfs/millrace.ad.example.com" in line for line in report.verified)
    [line] = joined.called("timeout 120 kvno")
    assert line.endswith(f"-k {joined.root / KEYTAB} nfs/millrace.ad.example.com@AD.EXAMPLE.COM")


@pytest.mark.parametrize(("hurt", "sentence"), [
    ("kvno", "cannot be opened with the key of this server"),
    ("kinit", "gives MILLRACE\\$ no ticket"),
    ("systemctl is-active --quiet gssproxy", "NFS accepts no tickets"),
])  # fmt: skip
def test_failed_kerberos_share_is_rolled_back(joined: Member, hurt: str, sentence: str) -> None:
    joined.broken[hurt] = Result(1, "", "it is broken")
    with pytest.raises(Refused, match=f"{sentence}.*; nothing was changed"):
        create(joined, nfs_clients=("10.0.0.0/24 sec=krb5",))
    assert store.load().share("train") is None
    assert "/srv/pool/train" not in joined.exported()


def test_a_kernel_that_does_without_gssproxy_is_noticed(joined: Member) -> None:
    (joined.root / "proc/net/rpc/use-gss-proxy").write_text("0\n")
    with pytest.raises(Refused, match="reboot once"):
        create(joined, nfs_clients=("10.0.0.0/24 sec=krb5",))


def test_the_look_over_smb_is_by_an_account_of_this_server(joined: Member) -> None:
    seen: list[str] = []
    joined.before["smbclient"] = lambda: seen.extend(
        path.read_text() for path in (joined.root / "run/millrace").glob("verify-*") if path.is_file()
    )
    set_share("data", {"comment": "new"}, joined.server)
    assert seen and all("domain=MILLRACE\n" in text for text in seen)
