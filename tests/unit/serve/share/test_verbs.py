# SPDX-License-Identifier: Apache-2.0
"""`millrace share …` in text and as JSON."""

import errno
import json
import os
from functools import partial
from typing import NoReturn

import pytest
from click.testing import CliRunner, Result

from millrace.serve.config import store
from millrace.serve.config.protocols import NfsClient
from millrace.serve.share import share_list, verify_nfs
from millrace.serve.share.verbs import share
from millrace.system.errors import BadInput, MillraceError
from tests.fakes.appliance import Appliance


@pytest.fixture(autouse=True)
def context(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    appliance.joined()
    appliance.answers_for(monkeypatch, "edit.create_shares", "edit.set_share", "edit.remove_share")
    monkeypatch.setattr("millrace.serve.share.server.this_server", appliance.server)
    monkeypatch.setattr("millrace.system.net.serving", lambda: [])
    monkeypatch.setattr(share_list, "listed", partial(share_list.listed, run=appliance))


def say(*words: str) -> Result:
    return CliRunner().invoke(share, list(words), catch_exceptions=False)


EVERYTHING = [
    *("create", "train", "--type", "checkpoint", "--comment", "a, 'b'", "--size", "2T", "--soft-size", "1T"),
    *("--nfs-client", "10.0.0.0/24 access=ro squash=all sec=krb5:krb5p xprtsec=tls"),
    *("--nfs-client", "@gpus", "--smb-user", "admin", "--smb-network", "10.5.0.0/24", "--encryption", "required"),
]


def test_every_option_arrives() -> None:
    document = json.loads(say(*EVERYTHING, "--json").output)
    kept = store.load().share("train")
    assert kept is not None
    assert (kept.type, kept.comment, kept.size, kept.soft_size) == ("checkpoint", "a, 'b'", 2 << 40, 1 << 40)
    strict = NfsClient(client="10.0.0.0/24", access="ro", squash="all", sec=["krb5", "krb5p"], xprtsec=["tls"])
    assert kept.nfs.clients == [strict, NfsClient(client="@gpus")]
    assert (kept.smb.users, kept.smb.networks, kept.smb.encryption) == (["admin"], ["10.5.0.0/24"], "required")
    assert document["schema_version"] == 1 and document["share"]["name"] == "train"


def test_options_that_are_not_named_do_not_change() -> None:
    say(*EVERYTHING)
    before = store.load().share("train")
    say("set", "train", "--comment", "new")
    after = store.load().share("train")
    assert before is not None and after == before.model_copy(update={"comment": "new"})
    say("set", "train", "--no-nfs", "--time-machine")
    last = store.load().share("train")
    assert (
        last is not None and not last.nfs.enabled and last.smb.time_machine and last.nfs.clients == before.nfs.clients
    )


def test_a_list_shows_what_is_served_and_held(appliance: Appliance) -> None:
    say(*EVERYTHING)
    appliance.usage = "#1002  1000000 0 0 00 [--------]\n"
    text = say("list").output
    assert "train  checkpoint" in text and "1.02 GB of 2.2 TB" in text
    assert "NFS to 10.0.0.0/24, @gpus; SMB for admin" in text
    by_name = {one["name"]: one for one in json.loads(say("list", "--json").output)["shares"]}
    assert by_name["train"]["used"] == 1024000000 and by_name["data"]["used"] is None


def test_removing_says_where_the_data_is() -> None:
    say(*EVERYTHING)
    done = say("remove", "train")
    assert "the data stays in /srv/pool/train" in done.output
    assert store.load().share("train") is None


def test_rendering_says_what_changed_and_what_was_edited(appliance: Appliance) -> None:
    assert "changed /etc/samba/smb.conf" in say("render").output
    assert say("render").output == "reloaded nfs-server.service\n"
    (appliance.root / "etc/samba/smb.conf").write_text("[global]\n")
    assert "/etc/samba/smb.conf had been edited by hand: kept" in say("render").output
    assert "replaced" in say("render", "--force").output


def test_set_without_an_option_is_refused_with_the_usage_and_leaves_no_change_behind() -> None:
    for words in (["set", "data"], ["set", "data", "--dry-run"]):
        with pytest.raises(BadInput, match="nothing to change for 'data': give an option") as refusal:
            say(*words)
        assert refusal.value.exit_code == 2
    assert store.read().config.serial == 0


@pytest.mark.parametrize("words", [["create", "sm", "--no-nfs", "--no-smb"], ["set", "data", "--no-nfs", "--no-smb"]])
def test_share_without_a_protocol_is_refused(words: list[str]) -> None:
    with pytest.raises(BadInput, match="would be served to nobody: leave NFS or SMB on"):
        say(*words)
    with pytest.raises(BadInput, match="would be served to nobody"):
        say(*words, "--dry-run")
    assert store.read().config.serial == 0


def test_share_of_one_protocol_is_made() -> None:
    say("create", "a", "--no-smb")
    say("create", "b", "--no-nfs")
    assert [one.name for one in store.load().shares] == ["data", "a", "b"]


def gone(*arguments: object) -> NoReturn:
    raise OSError(errno.EIO, os.strerror(errno.EIO), "/srv/pool/late")


@pytest.mark.parametrize("words", [["create", "late"], ["set", "data", "--comment", "x"]])
def test_pool_whose_file_system_has_shut_down_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("millrace.serve.share.directories.create", gone)
        with pytest.raises(MillraceError) as refusal:
            say(*words)
    sentence = str(refusal.value)
    assert refusal.value.exit_code == 1 and "\n" not in sentence
    assert "/srv/pool/late fails (Input/output error): millrace health says what is wrong" in sentence
    assert store.read().config.serial == 0


def test_share_that_cannot_be_verified_is_named_beside_the_others(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("create", "late")
    appliance.answers_for(monkeypatch, "verify.verify")
    real = verify_nfs.verify_each
    monkeypatch.setattr(
        "millrace.serve.share.verify_nfs.verify_each",
        lambda shares, *rest: gone() if "late" in [share.name for share in shares] else real(shares, *rest),
    )
    out = say("verify").output
    assert "late: NOT SERVED: /srv/pool/late fails (Input/output error)" in out
    assert "data: NFS: data: exported" in out and "data: NOT SERVED" not in out
