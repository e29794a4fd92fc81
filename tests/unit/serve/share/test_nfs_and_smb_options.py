# SPDX-License-Identifier: Apache-2.0
"""What each share type and each client sets in exports and smb.conf."""

import time
from pathlib import Path
from typing import Any

import pytest

from millrace.serve.config.model import Config, DesiredShare, Group, User
from millrace.serve.share import nfs, smb
from millrace.serve.share.share_list import rows
from millrace.serve.share.smb_parameters import DENIALS, denials, parameters
from tests.fakes.samples import port, resolved

PEOPLE = {
    "users": [User(name="ann", uid=2000, groups=["ml"]), User(name="bob", uid=2001)],
    "groups": [Group(name="ml", gid=2002)],
}


def lines(**values: Any) -> dict[str, str]:
    share = DesiredShare.model_validate({"name": "train", "project": 1001, "type": "training"} | values)
    return parameters(resolved(Config(shares=[share], **PEOPLE))["train"])  # type: ignore[arg-type]


def exported(*clients: dict[str, Any], **values: Any) -> str:
    share = DesiredShare.model_validate(
        {"name": "train", "project": 1001, "type": "training", "nfs": {"clients": list(clients)}} | values
    )
    text = nfs.exports(list(resolved(Config(shares=[share])).values()))
    return next(line for line in text.splitlines() if line.startswith("/"))


SMB_ALONE = {"nfs": {"enabled": False}}
TRAIN: dict[str, Any] = {"name": "train", "project": 1001, "type": "training"}


@pytest.mark.parametrize("share_type", ["training", "checkpoint", "mixed", "home"])
def test_two_protocols_on_one_tree_end_client_caches(share_type: str) -> None:
    found = lines(type=share_type)
    assert found["oplocks"] == found["level2 oplocks"] == found["smb3 unix extensions"] == "no"
    assert found["posix locking"] == found["strict locking"] == "yes"
    assert found["vfs objects"].startswith("catia fruit streams_xattr")
    assert "smbd getinfo ask sharemode" not in found


@pytest.mark.parametrize("share_type", ["training", "checkpoint", "dataset-ro", "mixed"])
def test_smb_alone_may_cache_and_uses_io_uring_last(share_type: str) -> None:
    found = lines(type=share_type, **SMB_ALONE)
    assert found["posix locking"] == "no" and found.get("oplocks", "yes") == "yes"
    assert found["vfs objects"].split()[-1] == "io_uring"


@pytest.mark.parametrize(
    ("share_type", "values", "wanted"),
    [
        ("mixed", {}, "refused"),
        ("training", SMB_ALONE, "refused"),
        ("home", {}, "refused"),
        ("home", SMB_ALONE, "kept"),
        ("dataset-ro", {}, None),
    ],
)
def test_access_lists_that_deny_are_refused_where_they_cannot_be_kept(
    root_user: Path, share_type: str, values: dict[str, Any], wanted: str | None
) -> None:
    config = Config(shares=[DesiredShare.model_validate(TRAIN | {"type": share_type} | values)])
    share = resolved(config)["train"]
    assert denials(share) == ("dropped" if wanted == "refused" else wanted)
    module = root_user / DENIALS
    module.parent.mkdir(parents=True)
    module.touch()
    assert denials(share) == wanted
    assert (parameters(share)["vfs objects"].split()[0] == "refuse_denials") == (wanted == "refused")


def test_ksmbd_drops_access_lists_that_deny() -> None:
    smb = {"users": ["admin"], "direct": True}
    config = Config(shares=[DesiredShare.model_validate(TRAIN | SMB_ALONE | {"smb": smb})])
    assert denials(resolved(config)["train"]) == "dropped"


def test_io_uring_can_be_switched_off_for_one_share() -> None:
    found = lines(smb={"users": ["bob"], "io_uring": False}, type="training", **SMB_ALONE)
    assert found["vfs objects"] == "catia fruit streams_xattr shadow_copy2" and found["posix locking"] == "no"


def test_read_only_share_is_cached_beside_nfs_too() -> None:
    found = lines(type="dataset-ro")
    assert found["read only"] == "yes" and found["oplocks"] == "yes" and found["case sensitive"] == "yes"
    assert "(ro," in exported(type="dataset-ro")


def test_checkpoints_are_always_flushed() -> None:
    assert lines(type="checkpoint")["strict sync"] == lines(type="checkpoint", **SMB_ALONE)["strict sync"] == "yes"


def test_homes_are_private_and_encrypted() -> None:
    found = lines(type="home", smb={"users": ["bob"], "groups": ["ml"]}, **SMB_ALONE)
    assert found["path"] == "/srv/pool/train/%u"
    assert found["server smb encrypt"] == "required" and found["create mask"] == "0600"
    assert "acl_xattr" in found["vfs objects"] and "millrace-check" not in found["valid users"]
    share = DesiredShare(name="home", project=1001, type="home")
    wanted = share.model_copy(update={"smb": share.smb.model_copy(update={"users": ["bob"], "groups": ["ml"]})})
    everybody = Config(shares=[wanted], **PEOPLE)  # type: ignore[arg-type]
    assert resolved(everybody)["home"].homes == {"ann": 2000, "bob": 2001}


def test_guests_are_out_and_only_the_named_are_in() -> None:
    found = lines(smb={"users": ["admin", "bob"], "groups": ["ml"], "networks": ["10.5.0.0/24", "fd00::/64"]})
    assert found["guest ok"] == "no"
    assert found["valid users"] == "admin bob +ml millrace-check"
    assert found["hosts allow"] == "127.0.0.1 ::1 10.5.0.0/24 fd00::/64"


def test_smb_is_for_the_same_networks_as_nfs_unless_named() -> None:
    assert lines()["hosts allow"] == "127.0.0.1 ::1 10.0.0.0/24"


def test_time_machine_and_previous_versions_are_off_until_asked_for() -> None:
    assert "fruit:time machine" not in lines()
    asked = lines(smb={"users": ["bob"], "time_machine": True}, **SMB_ALONE)
    assert asked["fruit:time machine"] == "yes"


def test_a_comment_stays_on_its_line() -> None:
    text = 'Bilder, "roh"; #1 = größer [global]'
    config = Config(shares=[DesiredShare(name="a", project=1001, type="mixed", comment=text)])
    rendered = smb.configuration(list(resolved(config).values()), [port("enp1s0", "10.0.0.2/24")])
    assert f"\ncomment = {text}\n" in rendered
    assert [line for line in rendered.splitlines() if line.startswith("[")] == ["[global]", "[a]"]


def test_a_share_off_smb_is_not_in_smb_conf() -> None:
    config = Config(shares=[DesiredShare(name="a", project=1001, type="mixed").model_copy(update={"smb": no_smb()})])
    assert "[a]" not in smb.configuration(list(resolved(config).values()), [])
    assert parameters(resolved(config)["a"]) == {}


def no_smb() -> Any:
    from millrace.serve.config.protocols import Smb

    return Smb(enabled=False)


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ({}, "(rw,sync,no_wdelay,no_subtree_check,sign_fh,root_squash,fsid="),
        ({"access": "ro"}, "(ro,sync,"),
        ({"squash": "all"}, ",all_squash,"),
        ({"squash": "none"}, ",no_root_squash,"),
        ({"squash": "all", "anonuid": 2000, "anongid": 2001}, ",all_squash,anonuid=2000,anongid=2001,fsid="),
        ({"anonuid": 2000}, ",root_squash,anonuid=2000,fsid="),
        ({"sec": ["krb5", "krb5p"]}, ",secure,sec=krb5:krb5p)"),
        ({"xprtsec": ["tls", "mtls"]}, ",secure,xprtsec=tls:mtls)"),
    ],
)
def test_a_client_of_nfs(client: dict[str, Any], entry: str) -> None:
    line = exported({"client": "@gpus", **client})
    assert line.startswith("/srv/pool/train @gpus(") and entry in line


def test_each_client_has_its_own_rules() -> None:
    line = exported({"client": "10.0.0.0/24", "access": "ro"}, {"client": "h1"})
    assert line.count("(") == 2 and " 10.0.0.0/24(ro," in line and " h1(rw," in line


def test_a_stored_fsid_stays() -> None:
    share = DesiredShare.model_validate_json(
        '{"name": "a", "project": 1001, "type": "mixed", "fsid": "11111111-2222-4333-8444-555555555555"}'
    )
    assert str(resolved(Config(shares=[share]))["a"].fsid) == "11111111-2222-4333-8444-555555555555"


def test_two_hundred_shares_are_a_matter_of_a_moment() -> None:
    many = [DesiredShare(name=f"s{number}", project=1001 + number, type="training") for number in range(200)]
    text = Config(shares=many).model_dump_json()
    start = time.process_time()
    found = list(resolved(Config.model_validate_json(text)).values())
    assert len(rows(found)) == 201
    assert time.process_time() - start < 0.5
    assert nfs.exports(found).count("\n/srv/pool/s") == 200
