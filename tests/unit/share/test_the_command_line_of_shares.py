# SPDX-License-Identifier: Apache-2.0
"""What is typed arrives in the state, and what is seen is printed, for people and for programs."""

import json

import pytest
from click.testing import CliRunner, Result

from millrace.config import store
from millrace.config.model import NfsClient
from millrace.share.verbs import share
from tests.unit.share.appliance import Appliance


@pytest.fixture(autouse=True)
def here(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    appliance.joined()
    monkeypatch.setattr("millrace.share.edit.create_shares.__defaults__", (appliance.server,))
    monkeypatch.setattr("millrace.share.edit.set_share.__defaults__", (appliance.server,))
    monkeypatch.setattr("millrace.share.edit.remove_share.__defaults__", (appliance.server,))
    monkeypatch.setattr("millrace.share.server.this_server", appliance.server)
    monkeypatch.setattr("millrace.share.interfaces.serving", lambda: [])
    monkeypatch.setattr("millrace.share.listing.listed.__defaults__", (None, appliance))


def say(*words: str) -> Result:
    return CliRunner().invoke(share, list(words), catch_exceptions=False)


EVERYTHING = [
    *("create", "train", "--profile", "checkpoint", "--comment", "a, 'b'", "--size", "2T", "--soft-size", "1T"),
    *("--nfs-client", "10.0.0.0/24 access=ro squash=all sec=krb5:krb5p xprtsec=tls"),
    *("--nfs-client", "@gpus", "--smb-user", "admin", "--smb-network", "10.5.0.0/24", "--encryption", "required"),
]


def test_every_option_arrives() -> None:
    document = json.loads(say(*EVERYTHING, "--json").output)
    kept = store.load().share("train")
    assert kept is not None
    assert (kept.profile, kept.comment, kept.size, kept.soft_size) == ("checkpoint", "a, 'b'", 2 << 40, 1 << 40)
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
    assert "train  checkpoint" in text and "1.0 GB of 2.2 TB" in text
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
    assert say("render").output == "told nfs-server.service\n"
    (appliance.root / "etc/samba/smb.conf").write_text("[global]\n")
    assert "/etc/samba/smb.conf had been edited by hand: kept" in say("render").output
    assert "replaced" in say("render", "--force").output
