# SPDX-License-Identifier: Apache-2.0
"""The Ethernet ports as the kernel has them now."""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.serve.config.model import Config
from millrace.serve.network.model import Port
from millrace.system import net
from millrace.system.net import Entry
from millrace.system.run import Runner


@dataclass(frozen=True)
class PortLink:
    """A port; `addresses` in CIDR form are those that are ready, `mac` is the one that it was made with."""

    name: str
    mac: str
    carrier: bool
    mtu: int | None
    addresses: list[str]
    part_of: str | None


def links(run: Runner) -> list[PortLink]:
    """Return all Ethernet ports, by name. Failed: iproute2 does not list them."""
    return among(net.entries(run))


def among(entries: Sequence[Entry]) -> list[PortLink]:
    """Return the Ethernet ports among the interfaces of the kernel, by name."""
    ports = [one for one in entries if one.get("link_type") == "ether" and net.is_port(one["ifname"])]
    return sorted((_link(one) for one in ports), key=lambda one: one.name)


def with_wanted(found: Sequence[PortLink], config: Config) -> list[Port]:
    """Return the ports with their fixed addresses of the desired state."""
    return [_port(one, config) for one in found]


def _link(entry: Entry) -> PortLink:
    name = str(entry["ifname"])
    return PortLink(
        name=name,
        mac=net.own_mac(entry),
        carrier=net.has_carrier(name),
        mtu=entry.get("mtu"),
        addresses=[
            f"{address['local']}/{address['prefixlen']}"
            for address in entry.get("addr_info", [])
            if address.get("scope") == "global" and not address.get("tentative") and not address.get("dadfailed")
        ],
        part_of=entry.get("master"),
    )


def _port(link: PortLink, config: Config) -> Port:
    wanted = config.port(link.mac)
    return Port(
        name=link.name,
        mac=link.mac,
        carrier=link.carrier,
        speed=net.speed(link.name),
        mtu=link.mtu,
        addresses=link.addresses,
        fixed=wanted.addresses if wanted else [],
        gateway=wanted.gateway if wanted else None,
        dhcp=wanted.dhcp if wanted else False,
        part_of=link.part_of,
        management=link.mac in config.management,
    )
