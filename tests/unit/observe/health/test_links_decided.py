# SPDX-License-Identifier: Apache-2.0
"""Bonds and MTUs that are not as an administrator decided."""

import json
from pathlib import Path

import pytest

from millrace.observe.health.checks import ports
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.serve.config import files
from millrace.serve.config.model import Config, first_config
from millrace.serve.config.network import BondMode, BondPort, DesiredBond, DesiredNetwork, DesiredPort, DesiredVlan
from millrace.serve.network import trial_record
from millrace.serve.network.model import NetworkTrial
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.samples import Tools

MACS = {"enp1s0": "52:54:00:00:00:01", "enp2s0": "52:54:00:00:00:02"}
PARTNER = "02:00:00:00:00:99"


@pytest.fixture
def bonded(root_user: Path) -> Path:
    """Two ports, both up in bond0."""
    for name in MACS:
        (root_user / f"sys/class/net/{name}/device").mkdir(parents=True)
        (root_user / f"sys/class/net/{name}/bonding_slave").mkdir()
        (root_user / f"sys/class/net/{name}/bonding_slave/mii_status").write_text("up\n")
        (root_user / f"sys/class/net/{name}/carrier").write_text("1\n")
    bond = root_user / "sys/class/net/bond0"
    (bond / "bonding").mkdir(parents=True)
    (bond / "uevent").write_text("DEVTYPE=bond\n")
    (bond / "carrier").write_text("1\n")
    (bond / "bonding/slaves").write_text("enp1s0 enp2s0\n")
    (bond / "bonding/ad_partner_mac").write_text(f"{PARTNER}\n")
    return root_user


def decided(mode: BondMode = "lacp") -> Config:
    members = [BondPort(mac=mac, name=name) for name, mac in MACS.items()]
    bond = DesiredBond(name="bond0", addresses=["10.0.0.2/24"], mode=mode, members=members)
    return first_config().model_copy(update={"network": DesiredNetwork(bonds=[bond])})


def check(config: Config, mtu: int = 1500) -> list[HealthFinding]:
    write_model(files.config_file(), config)
    info = [{"local": "10.0.0.2", "prefixlen": 24, "scope": "global"}]
    entries = [
        {"ifname": name, "link_type": "ether", "address": mac, "mtu": mtu, "master": "bond0", "addr_info": []}
        for name, mac in MACS.items()
    ]
    bond = {"ifname": "bond0", "link_type": "ether", "address": MACS["enp1s0"], "mtu": mtu, "addr_info": info}
    return ports.check(Host(Tools({"ip -j addr": Result(0, json.dumps([*entries, bond]), "")})))


def test_bond_with_all_ports_and_a_partner_is_well(bonded: Path) -> None:
    assert [finding.level for finding in check(decided())] == [Level.OK]


def test_dead_port_of_a_bond_is_named(bonded: Path) -> None:
    (bonded / "sys/class/net/enp2s0/bonding_slave/mii_status").write_text("down\n")
    [finding] = check(decided())
    assert finding.sentence == "bond0 is degraded: enp2s0 carries no data; 1 of 2 ports are left."
    assert finding.level is Level.WARN and finding.todo and finding.todo.endswith("networkctl status enp2s0")


def test_port_that_left_its_bond_is_named(bonded: Path) -> None:
    (bonded / "sys/class/net/bond0/bonding/slaves").write_text("enp1s0\n")
    [finding] = check(decided("active-backup"))
    assert finding.sentence.startswith("bond0 is degraded: enp2s0 carries no data")


def test_port_whose_card_is_in_another_slot_is_in_its_bond(bonded: Path) -> None:
    members = [BondPort(mac=mac, name=f"enp{slot}s0") for slot, mac in enumerate(MACS.values(), start=7)]
    bond = DesiredBond(name="bond0", addresses=["10.0.0.2/24"], members=members)
    [finding] = check(first_config().model_copy(update={"network": DesiredNetwork(bonds=[bond])}))
    assert finding.level is Level.OK


def test_port_in_another_aggregate_carries_nothing(bonded: Path) -> None:
    (bonded / "sys/class/net/bond0/bonding/ad_aggregator").write_text("1\n")
    for number, name in enumerate(MACS):
        (bonded / f"sys/class/net/{name}/bonding_slave/ad_aggregator_id").write_text(f"{number + 1}\n")
    [finding] = check(decided())
    assert "enp2s0 carries no data" in finding.sentence


def test_bond_without_a_live_port_fails(bonded: Path) -> None:
    for name in MACS:
        (bonded / f"sys/class/net/{name}/bonding_slave/mii_status").write_text("down\n")
    [finding] = check(decided("active-backup"))
    assert (finding.level, finding.sentence) == (Level.FAIL, "No port of bond0 carries data: enp1s0, enp2s0.")


def test_missing_lacp_partner_is_found_with_lacp_alone(bonded: Path) -> None:
    (bonded / "sys/class/net/bond0/bonding/ad_partner_mac").write_text("00:00:00:00:00:00\n")
    [finding] = check(decided())
    assert finding.sentence == "No LACP partner responds to bond0: it works through one port at most."
    assert [finding.level for finding in check(decided("active-backup"))] == [Level.OK]


def test_mtu_that_differs_from_the_configured_one_is_named(bonded: Path) -> None:
    port = DesiredPort(mac="52:54:00:00:00:01", name="enp1s0", dhcp=True, mtu=9000)
    config = first_config().model_copy(update={"ports": [port]})
    [finding] = check(config)
    assert finding.sentence == "enp1s0 has an MTU of 1500 bytes; 9000 are configured."
    assert [finding.level for finding in check(config, mtu=9000)] == [Level.OK]


def test_vlan_that_does_not_exist_is_named(bonded: Path) -> None:
    vlan = DesiredVlan(name="vlan5", vlan=5, parent=MACS["enp1s0"], parent_name="enp1s0", addresses=["10.5.0.1/24"])
    [finding] = check(first_config().model_copy(update={"network": DesiredNetwork(vlans=[vlan])}))
    assert finding.sentence == "vlan5 does not exist; it should have 10.5.0.1/24."


def test_change_that_waits_is_what_is_compared(bonded: Path) -> None:
    port = DesiredPort(mac="52:54:00:00:00:77", name="enp9s0", addresses=["10.9.0.1/24"])
    config = first_config().model_copy(update={"ports": [port]})
    trial_record.write(NetworkTrial(who="admin", what="x", part=trial_record.part_of(decided()), state="waiting"))
    assert [finding.level for finding in check(config)] == [Level.OK]
