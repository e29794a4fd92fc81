# SPDX-License-Identifier: Apache-2.0
"""The client networks of a share that names none itself.

NFS accepts any user number that a client sends, so it is exported only to networks that are named: those of the policy,
else those that an administrator confirmed. SMB requires a password and is also served to the private networks of the
ports.
"""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network

from millrace.serve.share.model import FoundNetwork
from millrace.system.command import command
from millrace.system.net import Interface, for_clients

Network = IPv4Network | IPv6Network

# RFC 1918 and RFC 4193. Not `is_private` of Python: that counts link-local and documentation ranges too.
PRIVATE: tuple[Network, ...] = tuple(
    ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)

LIST = "millrace share networks list"
CLOSED = f"NFS is closed until a client network is confirmed: {LIST}"
NO_NETWORK = f"no port has a private address; confirm the client networks: {LIST}"


def nfs_networks(policy: Iterable[str], confirmed: Iterable[str]) -> list[str]:
    """Return networks in CIDR form, IPv4 first; those of the policy win. None means that NFS is closed."""
    return _in_order({ip_network(text) for text in policy} or {ip_network(text) for text in confirmed})


def smb_networks(
    policy: Iterable[str], confirmed: Iterable[str], ports: Iterable[Interface], management: Sequence[str]
) -> list[str]:
    """Return networks in CIDR form, IPv4 first; those of the policy, else the confirmed and the private ones."""
    connected = (network for port in for_clients(ports, management) for network, _ in _connected(port))
    default = {*filter(_is_private, connected), *(ip_network(text) for text in confirmed)}
    return _in_order({ip_network(text) for text in policy} or default)


def found_networks(ports: Iterable[Interface], management: Sequence[str]) -> list[FoundNetwork]:
    """Return the networks of the ports that serve clients; proposed are private ones with a fixed address."""
    networks: dict[Network, FoundNetwork] = {}
    for port in for_clients(ports, management):
        for network, leased in _connected(port):
            before = networks.get(network)
            if before is None or (before.leased and not leased):
                networks[network] = FoundNetwork(
                    network=str(network),
                    port=port.name,
                    leased=leased,
                    # Any host on the network can send an advertisement or answer DHCP, and would choose who mounts.
                    proposed=not leased and _is_private(network),
                )
    return [networks[network] for network in sorted(networks, key=_order)]


def remedy(found: Iterable[FoundNetwork]) -> str:
    """Return the command that confirms the proposed networks; without any, the one that lists all."""
    proposed = [one.network for one in found if one.proposed]
    return command("millrace share networks set", *proposed) if proposed else LIST


def on_management(networks: Iterable[str], ports: Iterable[Interface], management: Sequence[str]) -> str | None:
    """Return the first network that management ports are in as well, in words; None where there is none."""
    for text in networks:
        network = ip_network(text)
        for port in (one for one in ports if one.mac in management):
            for other, _ in _connected(port):
                if network.version == other.version and network.overlaps(other):
                    return f"{network} includes addresses of the management port {port.name} ({other})"
    return None


def _connected(port: Interface) -> Iterator[tuple[Network, bool]]:
    """Its networks, and whether another host gave it the address in it."""
    for address in port.addresses:
        # A host route (DHCPv6 hands out /128) says nothing about its neighbours.
        if address.network.num_addresses > 1:
            yield address.network, address in port.leased


def _in_order(networks: Iterable[Network]) -> list[str]:
    return [str(network) for network in sorted(networks, key=_order)]


def _order(network: Network) -> tuple[int, Network]:
    return network.version, network


def _is_private(network: Network) -> bool:
    return any(
        (isinstance(network, IPv4Network) and isinstance(private, IPv4Network) and network.subnet_of(private))
        or (isinstance(network, IPv6Network) and isinstance(private, IPv6Network) and network.subnet_of(private))
        for private in PRIVATE
    )
