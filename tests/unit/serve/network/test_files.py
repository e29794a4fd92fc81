# SPDX-License-Identifier: Apache-2.0
"""Name servers, time servers and routes, in the files of systemd."""

import pytest

from millrace.serve.config import store
from millrace.serve.network import trial
from millrace.serve.network.edit import LinkSettings, set_dns, set_link, set_ntp, set_routes
from millrace.serve.network.network_state import found
from millrace.system.errors import BadInput, Refused
from tests.unit.serve.network.network import FIRST, Network

DNS, TRIED_DNS = "etc/systemd/resolved.conf.d/50-millrace.conf", "run/systemd/resolved.conf.d/60-millrace-trial.conf"
NTP = "etc/systemd/timesyncd.conf.d/50-millrace.conf"


def responds(server: str) -> bool:
    return True


def is_silent(server: str) -> bool:
    return False


def test_name_servers_are_tried_and_kept(network: Network) -> None:
    set_dns(["10.0.0.53"], ["example.org"], network.host(), responds)
    tried = (network.root / TRIED_DNS).read_text()
    assert "DNS=\nDNS=10.0.0.53\n" in tried and "Domains=~. example.org\n" in tried
    assert network.called("systemctl reload-or-restart systemd-resolved") and not (network.root / DNS).exists()
    trial.confirm(network.host())
    assert (network.root / DNS).read_text() == tried
    assert (found(network).dns, found(network).search) == (["10.0.0.53"], ["example.org"])


def test_name_servers_go_back_where_nobody_confirms(network: Network) -> None:
    set_dns(["10.0.0.53"], [], network.host(), responds)
    trial.roll_back(network.host())
    assert "DNS=1" not in (network.root / TRIED_DNS).read_text() and found(network).dns == []


def test_name_servers_are_given_back_to_dhcp(network: Network) -> None:
    set_dns(["10.0.0.53"], [], network.host(), responds)
    trial.confirm(network.host())
    set_dns([], [], network.host(), responds)
    trial.confirm(network.host())
    assert not (network.root / DNS).exists() and "DNS=1" not in (network.root / TRIED_DNS).read_text()


def test_server_that_does_not_respond_is_a_warning(network: Network) -> None:
    assert set_dns(["10.0.0.53"], [], network.host(), is_silent).warnings == [
        "the DNS server 10.0.0.53 does not respond"
    ]
    trial.confirm(network.host())
    assert set_ntp(["ntp.example.org"], network.host(), is_silent).warnings == [
        "the NTP server ntp.example.org does not respond"
    ]


def test_time_servers_are_kept(network: Network) -> None:
    set_ntp(["ntp.example.org", "10.0.0.5"], network.host(), responds)
    assert network.called("systemctl try-restart systemd-timesyncd.service")
    trial.confirm(network.host())
    assert "NTP=ntp.example.org 10.0.0.5\n" in (network.root / NTP).read_text()


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        (["ns.example.org"], "is not an address"),
        (["10.0.0.1", "10.0.0.1"], "the DNS server 10.0.0.1 is used twice"),
        (["10.0.0.1\nDNSSEC=no"], "is not an address"),
        (["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"], "4 DNS servers are too many: name at most 3"),
    ],
)
def test_bad_name_servers_are_one_sentence(network: Network, servers: list[str], words: str) -> None:
    with pytest.raises(BadInput, match=words) as error:
        set_dns(servers, [], network.host(), responds)
    assert "\n" not in str(error.value) and store.load().network.dns == []


def test_time_server_with_an_option_in_its_name_is_refused(network: Network) -> None:
    with pytest.raises(BadInput, match="is not a host name"):
        set_ntp(["ntp.example.org\nFallbackNTP=evil"], network.host(), responds)
    assert store.load().network.ntp == []


def test_route_is_in_the_file_of_the_link_of_its_gateway(network: Network) -> None:
    set_link("enp1s0", LinkSettings(("10.0.0.11/24",)), network.host())
    trial.confirm(network.host())
    set_routes(["10.2.0.0/16=10.0.0.1"], network.host())
    trial.confirm(network.host())
    text = (network.root / f"etc/systemd/network/40-millrace-{FIRST.replace(':', '')}.network").read_text()
    assert "[Route]\nDestination=10.2.0.0/16\nGateway=10.0.0.1\n" in text
    assert [route.network for route in found(network).routes] == ["10.2.0.0/16"]


@pytest.mark.parametrize(
    ("route", "words"),
    [
        ("10.2.0.0/16", "is not a route: write it like"),
        ("10.2.0.0=10.0.0.1", "10.2.0.0"),
        ("10.2.0.0/16=router", "is not an address"),
        ("10.2.0.0/16=10.77.0.1", "the gateway 10.77.0.1 of the route to 10.2.0.0/16 is in no network of a fixed"),
    ],
)
def test_bad_routes_are_one_sentence(network: Network, route: str, words: str) -> None:
    with pytest.raises((BadInput, Refused), match=words) as error:
        set_routes([route], network.host())
    assert "\n" not in str(error.value) and store.load().network.routes == []


def test_link_whose_network_a_route_needs_keeps_its_address(network: Network) -> None:
    set_link("enp1s0", LinkSettings(("10.0.0.11/24",)), network.host())
    trial.confirm(network.host())
    set_routes(["10.2.0.0/16=10.0.0.1"], network.host())
    trial.confirm(network.host())
    with pytest.raises(Refused, match=r"the gateway 10\.0\.0\.1 of the route"):
        set_link("enp1s0", LinkSettings(("10.9.0.11/24",)), network.host())
    assert network.addresses["enp1s0"] == ["10.0.0.11/24"]
