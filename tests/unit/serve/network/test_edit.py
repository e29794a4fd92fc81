# SPDX-License-Identifier: Apache-2.0
"""Addresses of ports are set with one command, verified, and rolled back if they do not work."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from millrace.serve.config import store
from millrace.serve.config.model import NfsServer
from millrace.serve.network import trial
from millrace.serve.network.edit import LinkSettings, set_link
from millrace.serve.network.model import LinkReport, NetworkChange
from millrace.serve.network.network_state import found
from millrace.serve.revision import replace
from millrace.system.errors import BadInput, Refused
from tests.fakes.sockets import listen
from tests.unit.serve.network.network import FIRST, Network

FILE = f"etc/systemd/network/40-millrace-{FIRST.replace(':', '')}.network"
FOUR = ("10.0.0.2/24", "10.0.0.11/24", "10.0.0.12/24", "10.0.0.13/24")


def give(network: Network, *addresses: str, name: str = "enp1s0", **more: Any) -> NetworkChange:
    """Change a link and keep that."""
    made = tried(network, *addresses, name=name, **more)
    trial.confirm(network.host())
    return made


def tried(network: Network, *addresses: str, name: str = "enp1s0", **more: Any) -> NetworkChange:
    return set_link(name, LinkSettings(addresses, **more), network.host())


def link(network: Network, name: str = "enp1s0") -> LinkReport:
    return next(one for one in found(network).links if one.name == name)


def fixed(network: Network) -> Sequence[str]:
    return [one for port in store.load().ports for one in port.addresses]


def test_several_addresses_for_one_port(network: Network) -> None:
    report = give(network, *FOUR)
    assert link(network).addresses == link(network).fixed == list(FOUR)
    assert network.addresses["enp1s0"] == list(FOUR)
    assert "NFS listens on 10.0.0.2, 10.0.0.11, 10.0.0.12, 10.0.0.13" in report.verified
    assert any(line.startswith("SMB listens on 10.0.0.2") for line in report.verified)
    text = (network.root / FILE).read_text()
    assert f"PermanentMACAddress={FIRST}\n" in text and "DHCP=no\n" in text
    assert text.count("DuplicateAddressDetection=ipv4\n") == 4


def test_dhcp_beside_them_and_a_gateway(network: Network) -> None:
    give(network, "10.0.0.11/24", gateway="10.0.0.1", dhcp=True)
    assert link(network).addresses == ["10.0.0.11/24", "10.0.0.2/24"]
    assert "\n[Route]\nGateway=10.0.0.1\n" in (network.root / FILE).read_text()


@pytest.mark.parametrize(
    ("gateway", "words"),
    [
        ("10.0.0.11", "the gateway 10.0.0.11 is an address of enp1s0 itself: name the router's"),
        ("10.0.9.1", "the gateway 10.0.9.1 is in no network of the addresses of enp1s0"),
    ],
)
def test_gateway_that_leads_nowhere_is_refused(network: Network, gateway: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        give(network, "10.0.0.11/24", gateway=gateway)
    assert store.load().ports == [] and not (network.root / FILE).exists()


def test_a_port_goes_back_to_what_it_was(network: Network) -> None:
    give(network, *FOUR)
    give(network, "default")
    assert network.addresses["enp1s0"] == ["10.0.0.2/24"]
    assert not (network.root / FILE).exists() and store.load().ports == []


def test_a_management_port_keeps_its_addresses_and_serves_no_client(network: Network) -> None:
    listen(network.root, "0.0.0.0:2049", "10.0.0.2:445", "10.0.1.2:445")
    report = give(network, management=True)
    assert link(network).management and link(network).addresses == ["10.0.0.2/24"]
    assert not network.called("networkctl")
    smb = (network.root / "etc/samba/smb.conf").read_text()
    assert "interfaces = lo enp2s0\n" in smb
    assert network.called("systemctl restart") and "sessions have ended" in report.warnings[0]
    network.calls.clear()
    with pytest.raises(Refused, match="nothing to change"):
        give(network, management=True)
    assert not network.called("systemctl restart")
    give(network, management=False)
    assert store.load().management == []
    assert "interfaces = lo enp1s0 enp2s0\n" in (network.root / "etc/samba/smb.conf").read_text()


def test_a_management_port_gets_fixed_addresses_on_which_nothing_need_be_heard(network: Network) -> None:
    network.deaf = {"10.0.0.11"}
    report = give(network, "10.0.0.11/24", management=True)
    assert report.verified == ["enp1s0 has 10.0.0.11/24"] and fixed(network) == ["10.0.0.11/24"]
    # what is not named stays as it is
    give(network, "10.0.0.12/24")
    assert store.load().management == [FIRST]


def test_a_port_with_clients_of_a_confirmed_network_is_not_for_management(network: Network) -> None:
    confirmed = NfsServer(networks=["10.0.0.0/16"])
    store.change("admin", "share networks set", lambda old: old.model_copy(update={"nfs": confirmed}))
    with pytest.raises(Refused, match=r"10\.0\.0\.0/16 includes addresses of the management port enp1s0"):
        give(network, management=True)
    assert store.load().management == []


@pytest.mark.parametrize("more", [{}, {"gateway": "10.0.0.1"}, {"gateway": "10.0.0.1", "dhcp": True}])
def test_a_change_of_nothing_is_refused(network: Network, more: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="--address"):
        give(network, **more)
    assert store.load().serial == 0


def test_an_address_that_goes_away_is_said(network: Network) -> None:
    report = give(network, "10.0.0.11/24")
    assert report.warnings == ["enp1s0 had 10.0.0.2/24: clients that use it must mount another address"]


def test_address_in_use_by_another_host_is_rolled_back(network: Network) -> None:
    give(network, *FOUR[:2])
    before = (network.root / FILE).read_text()
    network.taken = {"10.0.0.12/24"}
    with pytest.raises(Refused, match=r"10\.0\.0\.12/24 did not come up on enp1s0.*another host.*nothing was changed"):
        give(network, *FOUR)
    assert (network.root / FILE).read_text() == before
    assert network.addresses["enp1s0"] == fixed(network) == list(FOUR[:2])


def test_port_without_a_link_has_a_message_of_its_own(network: Network) -> None:
    (network.root / "sys/class/net/enp1s0/carrier").write_text("0\n")
    network.taken = {"10.0.0.11/24"}
    with pytest.raises(Refused, match="enp1s0 has no link"):
        give(network, "10.0.0.11/24")
    assert not (network.root / FILE).exists()


def test_address_that_is_not_served_is_rolled_back(network: Network) -> None:
    network.deaf = {"10.0.0.11"}
    with pytest.raises(Refused, match=r"SMB does not listen on 10\.0\.0\.11.*nothing was changed"):
        give(network, *FOUR[:2])
    assert network.addresses["enp1s0"] == ["10.0.0.2/24"] and fixed(network) == []


def test_the_next_attempt_asks_smbd_again(network: Network) -> None:
    network.deaf = {"10.0.0.11"}
    with pytest.raises(Refused):
        give(network, *FOUR[:2])
    network.calls.clear()
    with pytest.raises(Refused):
        give(network, *FOUR[:2])
    assert network.called("systemctl restart")


@pytest.mark.parametrize(
    ("addresses", "words"),
    [
        (("10.0.0.11",), "is not an address of a port"),
        (("10.0.0.11/33",), "is not an address of a port"),
        (("10.0.0.0/24",), "is the network itself"),
        (("10.0.0.255/24",), "broadcast"),
        (("127.0.0.2/8",), "cannot be given"),
        (("169.254.1.1/16",), "cannot be given"),
        (("fe80::1%eth0/64",), "is not an address of a port"),
        (("10.0.0.11/24\nDHCP=yes",), "is not an address of a port"),
        (("10.0.0.11/24", "10.0.0.11/16"), "used twice"),
        (("10.0.0.11/24", "default"), "gives the port back to DHCP"),
    ],
)
def test_bad_addresses_are_one_sentence_and_change_nothing(
    network: Network, addresses: tuple[str, ...], words: str
) -> None:
    with pytest.raises(BadInput, match=words) as error:
        give(network, *addresses)
    assert "\n" not in str(error.value)
    assert store.load().ports == [] and not network.called("networkctl")


def test_ports_that_cannot_have_an_address(network: Network) -> None:
    with pytest.raises(BadInput, match="there is no link 'eth9': there is enp1s0, enp2s0"):
        give(network, *FOUR, name="eth9")
    with pytest.raises(Refused, match=r"10\.0\.1\.2 is an address of enp2s0"):
        give(network, "10.0.1.2/24")
    with pytest.raises(BadInput, match=r"gateway 10\.9\.0\.1 is in no network"):
        give(network, "10.0.0.11/24", gateway="10.9.0.1")
    network.master["enp1s0"] = "bond0"
    with pytest.raises(Refused, match="part of bond0"):
        give(network, *FOUR)
    assert store.load().ports == []


def test_rollback_takes_addresses_back_too(network: Network) -> None:
    give(network, *FOUR[:2])
    give(network, *FOUR)
    replace.rollback(1, network, network.server, host=network.host())
    assert network.addresses["enp1s0"] == list(FOUR[:2])


def test_failed_change_renders_the_shares_of_before(network: Network) -> None:
    give(network, "10.0.0.2/24")
    smb = (network.root / "etc/samba/smb.conf").read_text()
    network.deaf = {"10.0.1.5"}
    with pytest.raises(Refused, match=r"SMB does not listen on 10\.0\.1\.5: .*nothing was changed"):
        give(network, "10.0.1.5/24", name="enp2s0")
    assert (network.root / "etc/samba/smb.conf").read_text() == smb
    assert network.addresses["enp2s0"] == ["10.0.1.2/24"]


def test_a_state_of_another_server_gives_this_one_no_address(network: Network, tmp_path: Path) -> None:
    give(network, *FOUR)
    network.macs = {"enp1s0": "52:54:00:00:00:09", "enp2s0": "52:54:00:00:00:0a"}
    network.addresses = {name: list(have) for name, have in network.dhcp.items()}
    give(network, "10.0.1.2/24", name="enp2s0")
    report = replace.rollback(1, network, network.server, host=network.host())
    assert network.addresses["enp1s0"] == ["10.0.0.2/24"]
    assert [warning.partition(":")[0] for warning in report.warnings] == ["the network differs"]
