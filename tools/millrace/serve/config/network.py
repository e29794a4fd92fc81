# SPDX-License-Identifier: Apache-2.0
"""The network in the desired state: addresses of ports, bonds and VLANs, routes, name servers and time servers."""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from millrace.system import names
from millrace.system.documents import Deferred

# More than any client uses: a Linux client takes 16 addresses of one server.
MOST_ADDRESSES = 64

# Bytes: IPv6 needs 1280 (RFC 8200, 5), the field has 16 bits.
LEAST_MTU, MOST_MTU = 1280, 65535
VLANS = range(1, 4095)
"""IEEE 802.1Q: 0 is no VLAN, 4095 is reserved."""

MOST_SERVERS = 3
"""glibc and most clients ask no more name servers than that (resolv.conf(5))."""

BondMode = Literal["lacp", "active-backup"]
BOND_MODES: Final[tuple[BondMode, ...]] = ("lacp", "active-backup")


class DesiredModel(Deferred):
    """Unknown keys and wrong types are refused, nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _mtu(size: int) -> int:
    if not LEAST_MTU <= size <= MOST_MTU:
        raise ValueError(f"the MTU {size} is out of range: use {LEAST_MTU} to {MOST_MTU} bytes, such as 1500 or 9000")
    return size


def _vlan(number: int) -> int:
    if number not in VLANS:
        raise ValueError(f"the VLAN ID {number} is out of range: use {VLANS[0]} to {VLANS[-1]}")
    return number


def _link_name(text: str) -> str:
    # lo and the like are names of the kernel; all others have a digit, as those of ports
    if not text.isascii() or text in ("all", "default", "lo"):
        raise ValueError(f"{text[:40]} cannot be the name of a bond or a VLAN")
    return names.interface(text)


def _parent(text: str) -> str:
    # it becomes a line of a file of networkd, and the name of that file
    return names.mac(text) if ":" in text else _link_name(text)


HostAddress = Annotated[str, names.host_address]
PortAddress = Annotated[str, AfterValidator(names.port_address)]
Mac = Annotated[str, names.mac]
Mtu = Annotated[int, AfterValidator(_mtu)]
VlanId = Annotated[int, AfterValidator(_vlan)]
LinkName = Annotated[str, AfterValidator(_link_name)]
HostName = Annotated[str, names.host_name]


class DesiredLink(DesiredModel):
    """The addresses of a link in CIDR form, and its MTU in bytes; without an MTU it has that of its driver.

    Without addresses it asks for one by DHCP, or has none.
    """

    name: str = Field(min_length=1, max_length=15)
    addresses: list[PortAddress] = Field(default_factory=list, max_length=MOST_ADDRESSES)
    gateway: HostAddress | None = None
    dhcp: bool = False
    mtu: Mtu | None = None

    @model_validator(mode="after")
    def _has_its_gateway(self) -> Self:
        if self.gateway is not None:
            gateway = ip_address(self.gateway)
            if not any(gateway in ip_interface(one).network for one in self.addresses):
                raise ValueError(f"the gateway {gateway} is in no network of the addresses of {self.name}")
        return self


class DesiredPort(DesiredLink):
    """What an administrator decided of an Ethernet port. It is known by `mac`: `name` follows the slot of its card."""

    mac: Mac


class BondPort(DesiredModel):
    """A port of a bond. It is known by `mac`: `name` follows the slot of its card."""

    mac: Mac
    name: str = Field(min_length=1, max_length=15)


class DesiredBond(DesiredLink):
    """Ports that are one link. `lacp` needs a switch that speaks IEEE 802.1AX, `active-backup` needs nothing."""

    name: LinkName
    mode: BondMode = "lacp"
    members: list[BondPort] = Field(min_length=1)


class DesiredVlan(DesiredLink):
    """A VLAN on a port, by its MAC address, or on a bond, by its name, which `parent_name` has of both."""

    name: LinkName
    vlan: VlanId
    parent: Annotated[str, AfterValidator(_parent)]
    parent_name: str = Field(min_length=1, max_length=15)


class DesiredRoute(DesiredModel):
    """A static route to a network through a gateway, which is in the network of a link."""

    network: Annotated[str, names.network]
    gateway: HostAddress


class DesiredNetwork(DesiredModel):
    """Everything beside ports. Empty lists of servers leave those of DHCP in force."""

    bonds: list[DesiredBond] = Field(default_factory=list)
    vlans: list[DesiredVlan] = Field(default_factory=list)
    routes: list[DesiredRoute] = Field(default_factory=list)
    dns: list[HostAddress] = Field(default_factory=list)
    search: list[HostName] = Field(default_factory=list)
    ntp: list[HostName] = Field(default_factory=list)

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        for what, values in (
            ("bond or VLAN name", [each.name for each in (*self.bonds, *self.vlans)]),
            ("VLAN ID", [str(each.vlan) for each in self.vlans]),
            ("port of a bond", [port.mac for port in self.members]),
            ("route to", [each.network for each in self.routes]),
            ("DNS server", self.dns),
            ("search domain", self.search),
            ("NTP server", self.ntp),
        ):
            twice = first_duplicate(values)
            if twice:
                raise ValueError(f"the {what} {twice} is used twice")
        if len(self.dns) > MOST_SERVERS:
            raise ValueError(f"{len(self.dns)} DNS servers are too many: name at most {MOST_SERVERS}")
        bonds = {each.name for each in self.bonds}
        for vlan in self.vlans:
            if ":" not in vlan.parent and vlan.parent not in bonds:
                raise ValueError(f"VLAN {vlan.vlan} is on {vlan.parent}, which is no bond")
        members = {port.mac for port in self.members}
        taken = next((each for each in self.vlans if each.parent in members), None)
        if taken:
            raise ValueError(f"VLAN {taken.vlan} is on a port of a bond: remove the VLAN first, or put it on the bond")
        return self

    @property
    def members(self) -> list[BondPort]:
        """The ports of all bonds."""
        return [port for bond in self.bonds for port in bond.members]


def first_duplicate(values: Iterable[str]) -> str | None:
    """Return the first value that was there before; None if each is there once."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def networks(link: DesiredLink) -> Iterator[IPv4Network | IPv6Network]:
    """Yield the networks of the fixed addresses of a link, each once."""
    yield from dict.fromkeys(ip_interface(one).network for one in link.addresses)


def shared_network(links: Sequence[DesiredLink]) -> tuple[str, str, str] | None:
    """Return two links that have addresses in one network, with that network; None if there are none.

    The kernel answers for both on either, and sends all through one.
    """
    seen: list[tuple[DesiredLink, IPv4Network | IPv6Network]] = []
    for link in links:
        for network in networks(link):
            for other, known in seen:
                if other.name != link.name and network.version == known.version and network.overlaps(known):
                    return other.name, link.name, str(network)
        seen += [(link, network) for network in networks(link)]
    return None
