# SPDX-License-Identifier: Apache-2.0
"""Leaving undoes what joining did; a share that needs the domain prevents it."""

import pytest

from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.domain.files import KEYTAB, NSSWITCH
from millrace.serve.join.join import JoinRequest, join
from millrace.serve.join.leave import leave
from millrace.serve.revision import replace
from millrace.serve.revision.portable import Portable
from millrace.serve.share.edit import create_shares
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Result
from tests.unit.serve.join.member import PASSWORD, PLAIN, Member


@pytest.fixture
def joined(member: Member) -> Member:
    join(JoinRequest("ad.example.com", "Administrator", PASSWORD, ("10.0.0.5",)), member.server)
    return member


def etc(member: Member) -> dict[str, str]:
    return {str(path): path.read_text() for path in (member.root / "etc").rglob("*") if path.is_file()}


def test_everything_is_as_before(member: Member) -> None:
    before = etc(member)
    join(JoinRequest("ad.example.com", "Administrator", PASSWORD, ("10.0.0.5",)), member.server)
    assert etc(member) != before
    report = leave("Administrator", PASSWORD, member.server)
    assert etc(member) == before
    assert report.domain is None and store.load().domain is None
    assert not member.machines
    assert member.called("systemctl stop winbind.service gssproxy.service")
    assert "SMB: data is listed and accessible" in report.verified


def test_without_an_account_the_domain_keeps_its_own(joined: Member) -> None:
    report = leave(None, None, joined.server)
    assert joined.machines == {"MILLRACE"}
    assert any("MILLRACE stays in ad.example.com" in one for one in report.warnings)
    assert joined.text(KEYTAB) is None and joined.text(NSSWITCH) == PLAIN


def test_a_domain_that_does_not_let_go_changes_nothing(joined: Member) -> None:
    before = etc(joined)
    joined._ads_leave = lambda words: Result(255, "", "Insufficient access")  # type: ignore[method-assign]
    with pytest.raises(Refused, match="Insufficient access"):
        leave("Administrator", PASSWORD, joined.server)
    assert etc(joined) == before and store.load().domain is not None


@pytest.mark.parametrize(("settings", "words"), [
    ({"smb_users": ("EXAMPLE\\anna",)}, "names EXAMPLE\\\\anna"),
    ({"smb_groups": ("example\\Model Makers",)}, "names EXAMPLE\\\\model makers"),
    ({"nfs_clients": ("10.0.0.0/24 sec=krb5p",)}, "lets 10.0.0.0/24 in with Kerberos"),
])  # fmt: skip
def test_a_share_that_needs_the_domain_is_in_the_way(
    joined: Member, settings: dict[str, tuple[str, ...]], words: str
) -> None:
    create_shares(["train"], {"type": "training", **settings}, joined.server)
    with pytest.raises(Refused, match=f"the share train {words}.*millrace share set train"):
        leave(None, None, joined.server)
    assert store.load().domain is not None and joined.text(KEYTAB) is not None


def test_who_is_in_no_domain_leaves_none(member: Member) -> None:
    with pytest.raises(Refused, match="not a member of a domain"):
        leave(None, None, member.server)
    with pytest.raises(BadInput, match="not an account"):
        leave("no/body", "x", member.server)


def test_rollback_keeps_the_domain(joined: Member) -> None:
    create_shares(["train"], {"type": "training"}, joined.server)
    replace.rollback(1, joined, joined.server)
    create_shares(["later"], {"type": "training"}, joined.server)
    leave(None, None, joined.server)
    replace.rollback(2, joined, joined.server)
    assert store.load().domain is None


def test_a_moved_state_says_which_domain_to_join(joined: Member) -> None:
    was = store.load()
    leave(None, None, joined.server)
    moved = Portable(when="2026-11-20T04:00:00+00:00", config=was, shadow={}, nt={})
    report = replace.import_state(moved, joined, joined.server)
    assert any("ad.example.com; join the domain" in one for one in report.warnings)
    assert store.load().domain is None


def test_a_state_of_a_server_that_knew_no_domains_is_read_as_it_is() -> None:
    old = Config().model_dump(mode="json")
    del old["domain"]
    assert Config.model_validate(old).domain is None
