# SPDX-License-Identifier: Apache-2.0
"""Names, clients and comments of the desired state: valid, or refused in one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from millrace.serve.config.model import Config, DesiredShare, first_config
from millrace.serve.config.network import DesiredVlan
from millrace.serve.config.protocols import NfsClient
from millrace.system.documents import checked, parse_model
from millrace.system.errors import BadInput


def share(**values: Any) -> DesiredShare:
    return checked(lambda: DesiredShare.model_validate({"name": "train", "type": "training", "project": 1001} | values))


def refused(**values: Any) -> str:
    with pytest.raises(BadInput) as error:
        share(**values)
    sentence = str(error.value)
    assert "\n" not in sentence and "Value error" not in sentence
    return sentence


def test_type_of_a_share_is_read_from_a_state_that_calls_it_profile() -> None:
    before = first_config().model_dump(mode="json")
    before["shares"][0]["profile"] = before["shares"][0].pop("type")
    assert parse_model(json.dumps(before), Path("config.json"), Config) == first_config()


@pytest.mark.parametrize(
    "name",
    [
        *("a/b", "..", ".", "", "two words", "größe", "数据", "x" * 256, "x" * 65, "UPPER", "-dash", "_under", "a\nb"),
        *("a,b", "a]", "[global]", "a%b", "ipc$", "lost+found", "a\x00b", "a\u202eb"),
    ],
)
def test_a_share_name_that_is_none(name: str) -> None:
    assert "cannot be the name of a share" in refused(name=name)


@pytest.mark.parametrize("name", ["homes", "global", "printers", "ipc"])
def test_a_share_name_that_means_something_to_samba(name: str) -> None:
    assert "it means something else to SMB" in refused(name=name)


@pytest.mark.parametrize("name", ["a", "0", "train-2026_v2", "x" * 64])
def test_a_good_share_name(name: str) -> None:
    assert share(name=name).name == name


@pytest.mark.parametrize(
    ("client", "words"),
    [
        ("10.0.0.0/33", "is not a network"),
        ("*", "is everybody"),
        ("0.0.0.0/0", "is everybody"),
        ("::/0", "is everybody"),
        ("0.0.0.0/1", "a client network is /8 or longer"),
        ("128.0.0.0/1", "is too large"),
        ("10.0.0.0/7", "is /8 or longer"),
        ("fc00::/7", "is /16 or longer"),
        ("2000::/15", "is /16 or longer"),
        ("10.0.0.5/24", "did you mean 10.0.0.0/24?"),
        ("10.0.0", "is not a client"),
        ("999.0.0.1", "is not a client"),
        ("rw,no_root_squash", "is not a client"),
        ("10.0.0.0/24(rw,no_root_squash)", "is not a network"),
        ("10.0.0.0/24 *(rw)", "is not a network"),
        ("host(rw)", "is not a client"),
        ("host *(rw)", "is not a client"),
        ("host\n/srv *(rw)", "is not a network"),
        ("host\n", "is not a client"),
        ("fe80::1%a(rw,no_root_squash)", "is not a client"),
        ("*.example.com", "is not a client"),
        ("gss/krb5", "is not a network"),
        ("fe80::1%eth0", "is not a client"),
        ("fe80::%eth0/64", "is not a network"),
        ("-host", "is not a client"),
        ("", "is not a client"),
        ("@", "is not the name of a netgroup"),
        ("@a(rw)", "is not the name of a netgroup"),
        ("#host", "is not a client"),
        ('"host"', "is not a client"),
    ],
)
def test_an_nfs_client_that_is_none_or_smuggles_options(client: str, words: str) -> None:
    assert words in refused(nfs={"clients": [{"client": client}]})


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("10.0.0.0/24", "10.0.0.0/24"),
        ("FD00:1::/64", "fd00:1::/64"),
        ("10.0.0.7", "10.0.0.7"),
        ("GPU-01.example.com", "gpu-01.example.com"),
        ("@gpu_nodes", "@gpu_nodes"),
    ],
)
def test_a_good_client(typed: str, kept: str) -> None:
    assert NfsClient(client=typed).client == kept


@pytest.mark.parametrize("network", ["10.0.0.0/33", "*", "x, 0.0.0.0/0"])
def test_an_smb_network_that_is_none(network: str) -> None:
    assert "network" in refused(smb={"users": ["admin"], "networks": [network]})


def test_an_address_is_an_smb_network_of_one_host() -> None:
    assert share(smb={"users": ["admin"], "networks": ["10.0.0.1"]}).smb.networks == ["10.0.0.1/32"]


@pytest.mark.parametrize("text", ["a\nb", "a\tb", "\x1b[31m", " edge", "ends with \\", "%m", "x" * 201, "a\x7f"])
def test_a_comment_that_could_become_configuration(text: str) -> None:
    assert "a comment" in refused(comment=text)


@pytest.mark.parametrize("text", ["", 'Bilder, "roh"; #1 = größer [x]', "commas, and 'quotes'"])
def test_a_comment_with_commas_and_quotes(text: str) -> None:
    assert share(comment=text).comment == text


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"type": "fast"}, "type"),
        ({"size": "1 TB"}, "size"),
        ({"size": 1}, "size"),
        ({"size": 1 << 30, "soft_size": 1 << 31}, "soft limit of train is above"),
        ({"nfs": {"clients": [{"client": "h", "sec": []}]}}, "sec"),
        ({"nfs": {"clients": [{"client": "h", "sec": ["none"]}]}}, "sec"),
        ({"nfs": {"clients": [{"client": "h", "sec": ["sys", "sys"]}]}}, "twice"),
        ({"nfs": {"clients": [{"client": "h"}, {"client": "H"}]}}, "h is named twice"),
        ({"type": "dataset-ro", "nfs": {"clients": [{"client": "h"}]}}, "access=ro"),
        ({"smb": {"users": []}}, "needs a user or a group"),
        ({"smb": {"users": ["a b"]}}, "cannot be the name of a user"),
        ({"smb": {"users": ["admin"], "guest": True}}, "unknown key"),
        ({"smb": {"users": ["admin"], "time_machine": True}}, "Time Machine"),
    ],
)
def test_a_share_that_does_not_agree_with_itself(values: dict[str, Any], words: str) -> None:
    assert words in refused(**values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"shares": [share(), share(project=1002)]}, "share train already exists"),
        ({"shares": [share(), share(name="b")]}, "project number 1001 is used twice"),
        ({"shares": [share(smb={"users": ["eve"]})]}, "unknown user eve"),
        ({"shares": [share(smb={"groups": ["ml"]})]}, "unknown group ml"),
        ({"users": [{"name": "ann", "uid": 2000, "groups": ["ml"]}]}, "unknown group ml"),
        ({"users": [{"name": "ann", "uid": 2000}], "groups": [{"name": "ann", "gid": 2001}]}, "user or group ann"),
        ({"users": [{"name": "ann", "uid": 2000}], "groups": [{"name": "ml", "gid": 2000}]}, "number 2000"),
        ({"users": [{"name": "admin", "uid": 2000}]}, "user or group admin"),
        ({"users": [{"name": "root", "uid": 0}]}, "uid"),
    ],
)
def test_a_state_that_does_not_agree_with_itself(values: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        checked(lambda: Config.model_validate(values))


@pytest.mark.parametrize(
    "parent", [":/../../../cron.d/x", "52:54:00:12:34:56\n[Network]\nDNS=203.0.113.1", "..", "bond0/../x", "52:54:00"]
)
def test_a_vlan_on_what_could_become_a_path_or_configuration(parent: str) -> None:
    values = {"name": "vlan5", "vlan": 5, "parent": parent, "parent_name": "enp1s0"}
    with pytest.raises(BadInput):
        checked(lambda: DesiredVlan.model_validate(values))
    assert DesiredVlan.model_validate(values | {"parent": "52:54:00:12:34:56"}).parent == "52:54:00:12:34:56"


def test_a_new_server_has_the_share_data_for_its_administrator() -> None:
    [data] = first_config().shares
    assert (data.name, data.type, data.smb.users, data.nfs.clients) == ("data", "mixed", ["admin"], [])
    assert Config.model_validate_json(first_config().model_dump_json()) == first_config()
