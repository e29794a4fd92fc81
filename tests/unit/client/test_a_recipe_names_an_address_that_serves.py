# SPDX-License-Identifier: Apache-2.0
"""A recipe names addresses in the networks that the share is served to, not just any address of the server."""

from ipaddress import ip_interface

from millrace.client.served import served
from millrace.config.model import Config, Nfs, NfsClient, Share
from millrace.share.interfaces import Interface

PORTS = [
    Interface("management", [ip_interface("10.0.2.15/24")], True, 1000),
    Interface("data0", [ip_interface("10.77.0.1/24")], True, 100000),
    Interface("data1", [ip_interface("10.77.1.1/24")], True, 100000),
]


def addresses(share: Share, policy: list[str]) -> list[str]:
    found = served(Config(shares=[share]), None, "/srv/pool", PORTS, policy)
    return [str(one.ip) for one in found.addresses]


def test_the_networks_of_the_policy_leave_the_management_port_out() -> None:
    share = Share(name="models", profile="mixed", project=1001)
    assert addresses(share, ["10.77.0.0/24", "10.77.1.0/24"]) == ["10.77.0.1", "10.77.1.1"]


def test_the_networks_of_the_share_come_before_those_of_the_policy() -> None:
    clients = Nfs(clients=[NfsClient(client="10.77.1.0/24")])
    share = Share(name="models", profile="mixed", project=1001, nfs=clients)
    assert addresses(share, ["10.77.0.0/24"]) == ["10.77.1.1"]


def test_without_a_policy_every_private_network_is_served() -> None:
    share = Share(name="models", profile="mixed", project=1001)
    assert addresses(share, []) == ["10.0.2.15", "10.77.0.1", "10.77.1.1"]
