# SPDX-License-Identifier: Apache-2.0
"""Networks that shares are exported to: named ones over NFS, private ones too over SMB."""

from pathlib import Path

import pytest

from millrace.serve.share.networks import found_networks, nfs_networks, smb_networks
from millrace.system import paths
from millrace.system.net import serving
from tests.fakes.samples import default_share, pool, port


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server with two ports, a bond over one of them, a VLAN on the bond, and a bridge for containers."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    net = tmp_path / "sys/class/net"
    for name in ("enp1s0", "enp2s0"):
        (net / name / "device").mkdir(parents=True)
        (net / name / "carrier").write_text("1\n")
        (net / name / "speed").write_text("100000\n")
    (net / "enp2s0/speed").write_text("-1\n")
    (net / "bond0/lower_enp1s0").mkdir(parents=True)
    (net / "vlan7/lower_bond0").mkdir(parents=True)
    (net / "containers0").mkdir()
    (net / "lo").mkdir()
    return tmp_path


def link(name: str, *addresses: str, **flags: object) -> dict[str, object]:
    entries = []
    for address in addresses:
        local, length = address.split("/")
        entries.append({"local": local, "prefixlen": int(length), "scope": "global", **flags})
    return {"ifname": name, "addr_info": entries}


def test_the_private_networks_next_door_are_proposed_ipv4_first_and_served_over_smb() -> None:
    ports = [port("enp1s0", "fd00:7::5/64", "192.168.4.5/24"), port("enp2s0", "10.1.2.3/16", "172.20.0.1/24")]
    private = ["10.1.0.0/16", "172.20.0.0/24", "192.168.4.0/24", "fd00:7::/64"]
    assert [one.network for one in found_networks(ports, []) if one.proposed] == private
    assert smb_networks([], [], ports, []) == private
    assert smb_networks([], ["10.5.0.0/16"], ports, []) == ["10.1.0.0/16", "10.5.0.0/16", *private[1:]]


def test_a_public_address_is_never_served_by_itself() -> None:
    ports = [port("enp1s0", "203.0.113.7/24", "2001:db8::7/64", "100.64.0.1/10", "172.15.255.1/8")]
    assert [one.proposed for one in found_networks(ports, [])] == [False] * 4
    assert smb_networks([], [], ports, []) == []


def test_networks_that_the_owner_names_win() -> None:
    named = ["198.51.100.0/24"]
    assert nfs_networks(named, ["10.0.0.0/24"]) == named
    assert smb_networks(named, ["10.0.0.0/24"], [port("enp1s0", "10.0.0.2/24")], []) == named


def test_share_without_clients_is_not_exported_before_a_network_is_confirmed() -> None:
    ports = [port("enp1s0", "10.0.0.2/24")]
    share = default_share(pool(), [], True, ports)
    assert share.exports == [] and share.nfs and share.both
    assert share.obstacle is not None and "millrace share networks list" in share.obstacle
    assert share.smb is not None and share.smb.networks == ["10.0.0.0/24"]


def test_a_host_route_is_no_network() -> None:
    ports = [port("enp1s0", "10.0.0.2/32", "fd00::2/128")]
    assert found_networks(ports, []) == [] and smb_networks([], [], ports, []) == []


def test_who_answers_dhcp_or_advertises_a_prefix_does_not_choose_the_clients(server: Path) -> None:
    """A lease has an end, which the kernel marks; what networkd was given has none."""
    links = [
        link("enp1s0", "10.1.0.2/24") | {"address": "52:54:00:00:00:01"},
        link("enp2s0", "10.2.0.2/24", dynamic=True) | {"address": "52:54:00:00:00:02"},
    ]
    links[0]["addr_info"] += link("enp1s0", "fd00:bad::5/64", dynamic=True)["addr_info"]
    found = {one.network: one for one in found_networks(serving(links), [])}
    assert [name for name, one in found.items() if one.proposed] == ["10.1.0.0/24"]
    assert [name for name, one in found.items() if one.leased] == ["10.2.0.0/24", "fd00:bad::/64"]


def test_a_management_port_is_neither_proposed_nor_served_over_smb(server: Path) -> None:
    mac = "52:54:00:00:00:01"
    links = [
        link("enp1s0", "10.1.0.2/24") | {"address": "aa:aa:aa:aa:aa:aa", "permaddr": mac},
        link("enp2s0", "10.2.0.2/24") | {"address": "52:54:00:00:00:02"},
    ]
    ports = serving(links)
    assert [network.network for network in found_networks(ports, [mac])] == ["10.2.0.0/24"]
    assert smb_networks([], [], ports, [mac]) == ["10.2.0.0/24"]
    # a VLAN has the address of the port below it, and is none
    vlan = serving([link("vlan7", "10.7.0.2/24") | {"address": mac}])
    assert [network.network for network in found_networks(vlan, [mac])] == ["10.7.0.0/24"]


def test_only_physical_ports_count_also_through_a_bond_and_a_vlan(server: Path) -> None:
    links = [
        link("lo", "10.9.9.9/8"),
        link("containers0", "10.88.0.1/16"),
        link("vlan7", "10.7.0.2/24"),
        link("enp2s0", "10.2.0.2/24"),
        link("enp1s0"),
    ]
    found = serving(links)
    assert [one.name for one in found] == ["enp2s0", "vlan7"]


def test_addresses_that_go_away_are_not_served_on(server: Path) -> None:
    links = [
        link("enp1s0", "fd00::9/64", temporary=True),
        link("enp2s0", "fd00::8/64", deprecated=True),
        {"ifname": "enp2s0", "addr_info": [{"local": "fe80::1", "prefixlen": 64, "scope": "link"}]},
    ]
    assert serving(links) == []


def test_unknown_speed_of_a_driver_is_none(server: Path) -> None:
    links = [link("enp1s0", "10.1.0.2/24"), link("enp2s0", "10.2.0.2/24")]
    assert [one.speed for one in serving(links)] == [100000, None]


def test_file_handles_survive_a_reboot_and_not_a_new_pool() -> None:
    first, again = (default_share(pool(), [], True, []) for _ in range(2))
    other = default_share(
        pool().model_copy(update={"filesystem_uuid": "0" * 8 + "-0000-4000-8000-" + "0" * 12}), [], True, []
    )
    assert first.fsid == again.fsid != other.fsid
