# SPDX-License-Identifier: Apache-2.0
"""Bonds, VLANs and MTUs are made, verified, and gone again; bad input is one sentence."""

import pytest

from millrace.serve.config import store
from millrace.serve.network import trial, trial_record
from millrace.serve.network.edit import LinkSettings, add_bond, add_vlan, remove, set_link
from millrace.serve.network.model import LinkReport
from millrace.serve.network.network_state import found
from millrace.system.errors import BadInput, Refused
from tests.unit.serve.network.network import FIRST, PARTNER, Network

ETC, RUN = "etc/systemd/network/40-millrace-", "run/systemd/network/30-millrace-"
STEM = FIRST.replace(":", "")


def vlan(network: Network, number: int = 100, parent: str = "enp1s0", **settings: object) -> None:
    given = {"addresses": ("10.9.0.1/24",)} | settings
    add_vlan(parent, number, LinkSettings(**given), network.host())  # type: ignore[arg-type]
    trial.confirm(network.host())


def bond(network: Network, mode: str = "active-backup", **settings: object) -> None:
    given = LinkSettings(**settings)  # type: ignore[arg-type]
    add_bond("bond0", ["enp1s0", "enp2s0"], mode, given, network.host())  # type: ignore[arg-type]
    trial.confirm(network.host())


def link(network: Network, name: str) -> LinkReport:
    return next(one for one in found(network).links if one.name == name)


def test_vlan_with_mtu_9000_raises_the_mtu_of_its_port(network: Network) -> None:
    vlan(network, mtu=9000)
    made = link(network, "vlan100")
    assert (made.kind, made.vlan, made.parent, made.mtu) == ("vlan", 100, "enp1s0", 9000)
    assert made.addresses == ["10.9.0.1/24"] and link(network, "enp1s0").mtu == 9000
    assert "Id=100\n" in (network.root / f"{ETC}vlan100.netdev").read_text()
    # the port keeps what it had: DHCP
    assert link(network, "enp1s0").addresses == ["10.0.0.2/24"]


def test_mtu_of_a_vlan_wins_over_that_of_a_credential(network: Network) -> None:
    credential = network.root / "run/systemd/network/50-data.network"
    credential.parent.mkdir(parents=True)
    credential.write_text(f"[Match]\nMACAddress={FIRST}\n\n[Link]\nMTUBytes=2000\n\n[Network]\nAddress=10.0.0.77/24\n")
    vlan(network, mtu=9000)
    assert network.mtus["enp1s0"] == 9000 and network.addresses["enp1s0"] == ["10.0.0.77/24"]


def test_removed_vlan_leaves_nothing(network: Network) -> None:
    vlan(network, mtu=9000)
    remove("vlan100", network.host())
    assert "vlan100" not in network.addresses and network.mtus["enp1s0"] == 1500
    trial.confirm(network.host())
    assert store.load().network.vlans == []
    assert not list((network.root / "etc/systemd/network").iterdir())


def test_vlan_that_was_removed_is_back_after_a_power_cut(network: Network) -> None:
    vlan(network)
    remove("vlan100", network.host())
    network.power_cut()
    assert network.addresses["vlan100"] == ["10.9.0.1/24"]


def test_vlan_that_was_removed_is_back_where_nobody_confirms(network: Network) -> None:
    vlan(network, mtu=9000)
    remove("vlan100", network.host())
    trial.roll_back(network.host())
    assert network.addresses["vlan100"] == ["10.9.0.1/24"] and network.mtus["enp1s0"] == 9000


def test_new_vlan_is_gone_where_nobody_confirms(network: Network) -> None:
    add_vlan("enp1s0", 100, LinkSettings(("10.9.0.1/24",), mtu=9000), network.host())
    trial.roll_back(network.host())
    assert "vlan100" not in network.addresses and network.mtus["enp1s0"] == 1500
    assert not (network.root / f"{RUN}vlan100.netdev").exists()


def test_address_of_a_vlan_is_changed(network: Network) -> None:
    vlan(network, mtu=9000)
    set_link("vlan100", LinkSettings(("10.9.0.2/24",)), network.host())
    trial.confirm(network.host())
    assert network.addresses["vlan100"] == ["10.9.0.2/24"] and link(network, "vlan100").wanted_mtu == 9000


@pytest.mark.parametrize(
    ("number", "words"), [(0, "the VLAN ID 0 is out of range: use 1 to 4094"), (4095, "the VLAN ID 4095 is out of")]
)
def test_vlan_id_out_of_range_is_refused(network: Network, number: int, words: str) -> None:
    with pytest.raises(BadInput, match=words) as error:
        vlan(network, number)
    assert "\n" not in str(error.value) and trial_record.last() is None


def test_vlan_id_that_is_used_is_refused(network: Network) -> None:
    vlan(network)
    with pytest.raises(BadInput, match="VLAN 100 exists already: vlan100"):
        vlan(network, parent="enp2s0", addresses=("10.8.0.1/24",))
    assert len(store.load().network.vlans) == 1


def test_vlan_on_a_vlan_is_refused(network: Network) -> None:
    vlan(network)
    with pytest.raises(Refused, match="vlan100 is a VLAN: name a port or a bond"):
        vlan(network, 200, "vlan100")
    assert len(store.load().network.vlans) == 1


def test_bond_takes_over_the_addresses_of_its_ports(network: Network) -> None:
    set_link("enp1s0", LinkSettings(("10.0.0.11/24",), gateway="10.0.0.1"), network.host())
    trial.confirm(network.host())
    bond(network, mtu=9000)
    made = link(network, "bond0")
    assert made.addresses == ["10.0.0.11/24"] and made.gateway == "10.0.0.1"
    assert made.members == made.active == ["enp1s0", "enp2s0"] and made.mode == "active-backup"
    assert store.load().ports == [] and network.addresses["enp1s0"] == []
    assert "Bond=bond0\n" in (network.root / f"{ETC}{STEM}.network").read_text()


def test_bond_whose_lacp_partner_is_missing_is_rolled_back(network: Network) -> None:
    with pytest.raises(Refused, match=r"no LACP partner responds on enp1s0, enp2s0: .*active-backup; nothing was"):
        bond(network, "lacp", addresses=("10.0.0.11/24",))
    assert "bond0" not in network.addresses and network.addresses["enp1s0"] == ["10.0.0.2/24"]
    assert not (network.root / f"{RUN}bond0.netdev").exists()


def test_lacp_of_a_port_without_a_known_speed_is_refused(network: Network) -> None:
    (network.root / "sys/class/net/enp2s0/speed").write_text("-1\n")
    network.partner = PARTNER
    with pytest.raises(Refused, match="the speed of enp2s0 is not known, which LACP needs: use --mode active-backup"):
        bond(network, "lacp", addresses=("10.0.0.11/24",))


def test_lacp_partner_is_shown(network: Network) -> None:
    network.partner = PARTNER
    bond(network, "lacp", addresses=("10.0.0.11/24",))
    assert link(network, "bond0").partner == PARTNER


def test_removed_bond_gives_its_ports_back(network: Network) -> None:
    bond(network, addresses=("10.0.0.11/24",))
    remove("bond0", network.host())
    trial.confirm(network.host())
    assert network.addresses == {"enp1s0": ["10.0.0.2/24"], "enp2s0": ["10.0.1.2/24"]}


def test_bond_that_carries_a_vlan_is_not_removed(network: Network) -> None:
    bond(network, addresses=("10.0.0.11/24",))
    vlan(network, parent="bond0")
    with pytest.raises(Refused, match="vlan100 is on bond0: millrace network remove vlan100"):
        remove("bond0", network.host())
    assert len(store.load().network.bonds) == 1


def test_port_of_a_bond_has_no_settings_of_its_own(network: Network) -> None:
    bond(network, addresses=("10.0.0.11/24",))
    with pytest.raises(Refused, match="enp1s0 is part of bond0, which has the addresses"):
        set_link("enp1s0", LinkSettings(mtu=9000), network.host())
    with pytest.raises(Refused, match="enp1s0 is part of bond0: name a port or a bond"):
        vlan(network)
    with pytest.raises(Refused, match="bond0 exists already"):
        bond(network)


def test_link_that_does_not_exist_is_not_removed(network: Network) -> None:
    with pytest.raises(BadInput, match="there is no bond or VLAN 'enp1s0'"):
        remove("enp1s0", network.host())


def test_mtu_above_that_of_the_driver_is_refused(network: Network) -> None:
    with pytest.raises(Refused, match="enp1s0 takes an MTU of 9216 bytes at most: 9300 is not possible"):
        set_link("enp1s0", LinkSettings(mtu=9300), network.host())
    with pytest.raises(BadInput, match="the MTU 100 is out of range"):
        set_link("enp1s0", LinkSettings(mtu=100), network.host())
    assert trial_record.last() is None


def test_mtu_of_a_port_leaves_its_addresses(network: Network) -> None:
    set_link("enp1s0", LinkSettings(mtu=9000), network.host())
    trial.confirm(network.host())
    assert network.mtus["enp1s0"] == 9000 and network.addresses["enp1s0"] == ["10.0.0.2/24"]
    set_link("enp1s0", LinkSettings(mtu=0), network.host())
    assert network.mtus["enp1s0"] == 1500


def test_mtu_of_a_vlan_above_that_of_its_port_is_refused(network: Network) -> None:
    set_link("enp1s0", LinkSettings(mtu=2000), network.host())
    trial.confirm(network.host())
    with pytest.raises(Refused, match=r"the MTU 9000 is above that of enp1s0 \(2000\): set that first"):
        vlan(network, mtu=9000)
    assert store.load().network.vlans == []


def test_two_links_in_one_network_are_refused(network: Network) -> None:
    with pytest.raises(Refused, match=r"enp2s0 and enp1s0 would both be in 10\.0\.1\.0/24: give each its own network"):
        set_link("enp1s0", LinkSettings(("10.0.1.7/24",)), network.host())
    set_link("enp1s0", LinkSettings(("10.5.0.7/24",)), network.host())
    trial.confirm(network.host())
    with pytest.raises(Refused, match=r"enp1s0 and vlan100 would both be in 10\.5\.0\.0/24"):
        vlan(network, parent="enp2s0", addresses=("10.5.0.8/24",))
    assert store.load().network.vlans == []


def test_last_address_of_the_server_is_not_taken(network: Network) -> None:
    vlan(network)
    for name in network.dhcp:
        network.dhcp[name] = network.addresses[name] = []
    with pytest.raises(Refused, match="would take the last address of this server, which this session uses"):
        remove("vlan100", network.host())
    assert network.addresses["vlan100"] == ["10.9.0.1/24"]


def test_session_whose_address_goes_away_is_warned_of(network: Network) -> None:
    connected = network.root / "proc/net/tcp"
    header = connected.read_text().splitlines()[0]
    # 10.0.0.2:9090, as the kernel writes it
    connected.write_text(f"{header}\n 0: 0200000A:2382 0900000A:D431 01 0 0 0 0 0 0\n")
    done = set_link("enp1s0", LinkSettings(("10.0.0.11/24",)), network.host())
    assert done.warnings[0] == (
        "sessions of the web console or ssh use 10.0.0.2, which goes away: sign in at another address to confirm"
    )
