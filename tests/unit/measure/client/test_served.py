# SPDX-License-Identifier: Apache-2.0
"""A recipe names addresses in the networks that the share is served to, not just any address of the server."""

from dataclasses import replace
from ipaddress import ip_interface
from pathlib import Path

import pytest

from millrace.measure.client.build import build
from millrace.measure.client.choices import ClientWorkload, Protocol, RecipeWish
from millrace.measure.client.served import served
from millrace.serve.config.model import Config, DesiredShare, NfsServer
from millrace.serve.config.protocols import Nfs, NfsClient
from millrace.system import paths
from millrace.system.errors import Refused
from millrace.system.net import Interface

MANAGEMENT = "52:54:00:00:00:09"
PORTS = [
    Interface("management", [ip_interface("10.0.2.15/24")], True, 1000, MANAGEMENT),
    Interface("data0", [ip_interface("10.77.0.1/24")], True, 100000),
    Interface("data1", [ip_interface("10.77.1.1/24")], True, 100000),
]


def addresses(share: DesiredShare, policy: list[str]) -> list[str]:
    found = served(Config(shares=[share]), None, "/srv/pool", PORTS, policy)
    return [str(one.ip) for one in found.addresses]


def test_the_networks_of_the_policy_leave_the_management_port_out() -> None:
    share = DesiredShare(name="models", type="mixed", project=1001)
    assert addresses(share, ["10.77.0.0/24", "10.77.1.0/24"]) == ["10.77.0.1", "10.77.1.1"]


def test_the_networks_of_the_share_come_before_those_of_the_policy() -> None:
    clients = Nfs(clients=[NfsClient(client="10.77.1.0/24")])
    share = DesiredShare(name="models", type="mixed", project=1001, nfs=clients)
    assert addresses(share, ["10.77.0.0/24"]) == ["10.77.1.1"]


def test_confirmed_networks_count_as_those_of_a_policy() -> None:
    share = DesiredShare(name="models", type="mixed", project=1001)
    config = Config(shares=[share], nfs=NfsServer(networks=["10.77.1.0/24"]))
    assert [str(one.ip) for one in served(config, None, "/srv/pool", PORTS).addresses] == ["10.77.1.1"]


@pytest.mark.parametrize("clients", [[], [NfsClient(client="10.0.0.0/8")]])
def test_a_management_port_is_in_no_recipe(clients: list[NfsClient]) -> None:
    share = DesiredShare(name="models", type="mixed", project=1001, nfs=Nfs(clients=clients))
    config = Config(shares=[share], management=[MANAGEMENT])
    assert [str(one.ip) for one in served(config, None, "/srv/pool", PORTS).addresses] == ["10.77.0.1", "10.77.1.1"]


def test_a_recipe_for_a_closed_share_is_refused() -> None:
    share = DesiredShare(name="models", type="mixed", project=1001)
    closed = served(Config(shares=[share]), None, "/srv/pool", PORTS)
    with pytest.raises(Refused, match="no client can mount models: NFS is closed until a client network is confirmed"):
        build(closed, RecipeWish(ClientWorkload.TRAINING, Protocol.NFS_TCP))
    assert build(closed, RecipeWish(ClientWorkload.TRAINING, Protocol.SMB_MULTICHANNEL)).fstab


def test_without_a_policy_every_private_network_is_served() -> None:
    share = DesiredShare(name="models", type="mixed", project=1001)
    assert addresses(share, []) == ["10.0.2.15", "10.77.0.1", "10.77.1.1"]


def test_recipe_over_rdma_names_addresses_of_rdma_ports_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    for name, mtu in (("data0", 1500), ("data1", 4096)):
        (tmp_path / "sys/class/net" / name).mkdir(parents=True)
        (tmp_path / "sys/class/net" / name / "mtu").write_text(f"{mtu}\n")
    second = [ip_interface("10.77.1.1/24"), ip_interface("10.77.1.2/24")]
    ports = [*PORTS[:2], replace(PORTS[2], addresses=second, rdma=True)]
    config = Config(shares=[DesiredShare(name="models", type="mixed", project=1001)])
    share = served(config, None, "/srv/pool", ports, ["10.77.0.0/24", "10.77.1.0/24"])
    over_tcp = build(share, RecipeWish(ClientWorkload.TRAINING, Protocol.NFS_TCP_TRUNKED))
    assert (over_tcp.expect.lane_addresses, over_tcp.expect.mtu) == (["10.77.0.1", "10.77.1.1", "10.77.1.2"], 1500)
    over_rdma = build(share, RecipeWish(ClientWorkload.TRAINING, Protocol.NFS_RDMA_TRUNKED))
    assert (over_rdma.expect.lane_addresses, over_rdma.expect.mtu) == (["10.77.1.1", "10.77.1.2"], 4096)
    assert build(share, RecipeWish(ClientWorkload.TRAINING, Protocol.NFS_RDMA)).source == "10.77.1.1:/srv/pool/models"


def test_rdma_device_without_an_address_for_clients_is_refused() -> None:
    config = Config(shares=[DesiredShare(name="models", type="mixed", project=1001)])
    found = served(config, None, "/srv/pool", [replace(PORTS[0], rdma=True), *PORTS[1:]], ["10.77.0.0/24"])
    with pytest.raises(Refused, match="no RDMA device of this server has an address for clients of models: use"):
        build(found, RecipeWish(ClientWorkload.TRAINING, Protocol.NFS_RDMA))
