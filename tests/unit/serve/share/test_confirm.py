# SPDX-License-Identifier: Apache-2.0
"""`millrace share networks`: NFS is closed until an administrator confirms client networks."""

import json

import pytest

from millrace.cli import program
from millrace.serve.config import files, history, store
from millrace.serve.revision import replace
from millrace.serve.share import confirm, verify
from millrace.serve.share.edit import create_shares
from millrace.serve.share.model import ChangeReport, ClientNetworks
from millrace.serve.share.server import ShareServer
from millrace.system import net, paths
from millrace.system.errors import BadInput, Refused
from millrace.system.net import Interface
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.samples import port, surroundings

MANAGEMENT = "52:54:00:00:00:09"
LEASED = port("enp2s0", "10.9.0.2/24")
PORTS = [
    port("enp1s0", "10.0.0.2/24", "10.5.0.2/24"),
    Interface(LEASED.name, LEASED.addresses, True, 1000, None, frozenset(LEASED.addresses)),
    Interface("eno1", port("eno1", "10.200.0.2/24").addresses, True, 1000, MANAGEMENT),
]
TWO = ["10.0.0.0/24", "10.5.0.0/24"]


def closed(appliance: Appliance) -> ShareServer:
    """The server where the policy names nothing."""
    return ShareServer(**vars(appliance.server()) | {"context": surroundings([])})


def networks_set(appliance: Appliance, *networks: str) -> ChangeReport:
    return confirm.confirm(networks, lambda: closed(appliance), lambda: PORTS)


def manage() -> None:
    store.change("admin", "port set", lambda old: old.model_copy(update={"management": [MANAGEMENT]}))


def test_a_confirmed_network_opens_the_shares_that_name_no_clients(appliance: Appliance) -> None:
    create_shares(["own"], {"nfs_clients": ("10.7.0.0/24",)}, lambda: closed(appliance))
    assert set(appliance.exported()) == {"/srv/pool/own"}
    report = networks_set(appliance, "10.0.0.0/24")
    assert set(appliance.exported()) == {"/srv/pool/data", "/srv/pool/own"}
    assert appliance.exported()["/srv/pool/data"].startswith("10.0.0.0/24(rw,")
    assert report.names == ["data"] and store.load().serial == report.serial
    assert any("data: exported to 10.0.0.0/24; opened from this server" in line for line in report.verified)
    assert history.read(report.serial).what == "share networks set: 10.0.0.0/24"


def test_none_closes_them_again(appliance: Appliance) -> None:
    networks_set(appliance, *TWO)
    report = networks_set(appliance, "none")
    assert appliance.exported() == {} and store.load().nfs.networks == []
    assert any("data is not exported: NFS is closed" in line for line in report.warnings)


def test_what_is_not_served_is_rolled_back(appliance: Appliance) -> None:
    appliance.broken = {"nfs-session": Result(1, "", "the server does not answer (Connection refused)")}
    with pytest.raises(Refused, match=r"NFS does not open from this server.*nothing was changed"):
        networks_set(appliance, "10.0.0.0/24")
    assert store.load().nfs.networks == [] and appliance.exported() == {}


def test_a_closed_share_is_verified_over_smb_all_the_same(appliance: Appliance) -> None:
    closed(appliance).apply(store.load())
    [found] = verify.verify(["data"], lambda: closed(appliance)).shares
    assert found.seen == ["SMB: data is listed and accessible"]
    assert found.problem is not None and found.problem.startswith("NFS is closed")


def test_an_earlier_state_is_as_closed_as_it_was(appliance: Appliance) -> None:
    before = create_shares(["more"], {}, lambda: closed(appliance)).serial
    networks_set(appliance, "10.0.0.0/24")
    replace.rollback(before, appliance, lambda: closed(appliance))
    assert appliance.exported() == {} and store.load().nfs.networks == []


def test_a_state_document_from_before_there_were_networks_is_read_and_closed(appliance: Appliance) -> None:
    create_shares(["more"], {}, lambda: closed(appliance))
    document = json.loads(files.config_file().read_text())
    del document["nfs"], document["management"]
    files.config_file().write_text(json.dumps(document))
    closed(appliance).apply(store.load())
    assert store.load().share("more") and appliance.exported() == {}


def test_without_a_pool_they_are_kept_until_there_is_one(appliance: Appliance) -> None:
    paths.pool_file().unlink()
    assert networks_set(appliance, *TWO).warnings == [confirm.NO_POOL]
    assert store.load().nfs.networks == TWO and not appliance.calls


@pytest.mark.parametrize(
    ("networks", "words"),
    [
        (("10.0.0.1/24",), r"did you mean 10\.0\.0\.0/24"),
        (("0.0.0.0/0",), "everybody"),
        (("nas",), "is not a network"),
        (("10.0.0.0/24", "10.0.0.0/24"), "named twice"),
        (("none", "10.0.0.0/24"), "none closes NFS"),
    ],
)
def test_bad_networks_are_one_sentence_and_change_nothing(
    appliance: Appliance, networks: tuple[str, ...], words: str
) -> None:
    with pytest.raises(BadInput, match=words) as error:
        networks_set(appliance, *networks)
    assert "\n" not in str(error.value) and store.load().serial == 0 and not appliance.calls


def test_the_networks_of_the_policy_are_changed_in_the_policy(appliance: Appliance) -> None:
    paths.policy_file().parent.mkdir(parents=True)
    paths.policy_file().write_text('[nfs]\nnetworks = ["10.1.0.0/24"]\n')
    with pytest.raises(Refused, match=r"change \[nfs\] networks in /etc/millrace/policy\.toml"):
        networks_set(appliance, "10.0.0.0/24")


@pytest.mark.parametrize("network", ["10.200.0.0/24", "10.200.0.0/28", "10.0.0.0/8"])
def test_a_management_port_is_never_exported_to(appliance: Appliance, network: str) -> None:
    manage()
    with pytest.raises(Refused, match=r"includes addresses of the management port eno1 \(10\.200\.0\.0/24\)"):
        networks_set(appliance, network)
    assert store.load().nfs.networks == []


def listed(capsys: pytest.CaptureFixture[str], *more: str) -> str:
    with pytest.raises(SystemExit):
        program.main(["share", "networks", *more])
    return capsys.readouterr().out


def test_the_list_has_the_command_that_confirms(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(net, "serving", lambda: PORTS)
    manage()
    assert listed(capsys, "list").splitlines() == [
        "NFS is closed: no client network is confirmed.",
        "Network      Port    Address",
        "10.0.0.0/24  enp1s0  fixed, proposed",
        "10.5.0.0/24  enp1s0  fixed, proposed",
        "10.9.0.0/24  enp2s0  from DHCP or a router",
        "Confirm client networks: millrace share networks set 10.0.0.0/24 10.5.0.0/24",
    ]
    networks_set(appliance, "10.9.0.0/24")
    assert listed(capsys, "list").splitlines()[0] == "NFS is open to 10.9.0.0/24 (confirmed)."


def test_where_nothing_is_proposed_the_list_says_what_to_name() -> None:
    found = ClientNetworks(policy=[], confirmed=[], found=[])
    assert confirm.lines(found)[-1] == "Confirm client networks: millrace share networks set NETWORK…"
