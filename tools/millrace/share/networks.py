# SPDX-License-Identifier: Apache-2.0
"""Which client networks a share is exported to: those that policy names, else the private ones on our ports."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network

from millrace.share.interfaces import Interface

Network = IPv4Network | IPv6Network

# RFC 1918 and RFC 4193. Not `is_private` of Python: that counts link-local and documentation ranges too.
PRIVATE: tuple[Network, ...] = tuple(
    ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)

NO_NETWORK = (
    "No port has an address in a private network, and a public network is never exported to by itself: "
    "name the client networks under [nfs] networks in /etc/millrace/policy.toml"
)


def client_networks(named: Iterable[str], interfaces: Iterable[Interface]) -> list[str]:
    """Networks in CIDR form, IPv4 first; those that policy names (and has checked) win."""
    chosen = {ip_network(text) for text in named} or set(_connected(interfaces))
    return [str(network) for network in sorted(chosen, key=lambda one: (one.version, one))]


def _connected(interfaces: Iterable[Interface]) -> Iterable[Network]:
    for interface in interfaces:
        for address in interface.addresses:
            # A host route (DHCPv6 hands out /128) says nothing about its neighbours.
            if address.network.num_addresses > 1 and _is_private(address.network):
                yield address.network


def _is_private(network: Network) -> bool:
    return any(
        (isinstance(network, IPv4Network) and isinstance(private, IPv4Network) and network.subnet_of(private))
        or (isinstance(network, IPv6Network) and isinstance(private, IPv6Network) and network.subnet_of(private))
        for private in PRIVATE
    )
