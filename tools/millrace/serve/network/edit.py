# SPDX-License-Identifier: Apache-2.0
"""Changes of the network: links with their addresses, bonds, VLANs, routes, name servers and time servers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_interface

from millrace.serve.config.model import Config
from millrace.serve.config.network import (
    BondMode,
    DesiredBond,
    DesiredLink,
    DesiredNetwork,
    DesiredPort,
    DesiredRoute,
    DesiredVlan,
)
from millrace.serve.network import server_replies
from millrace.serve.network.links import NetworkLink, desired, links
from millrace.serve.network.model import NetworkChange
from millrace.serve.network.trial import NetworkServer, try_change
from millrace.serve.share.networks import on_management
from millrace.system.command import command
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Refused
from millrace.system.names import several
from millrace.system.net import Interface

DEFAULT = "default"
REMOVE = "millrace network remove"


@dataclass(frozen=True)
class LinkSettings:
    """The options of a link. No address leaves the addresses as they are, `default` gives a port back to DHCP.

    `mtu` in bytes; 0 is the driver's.
    """

    addresses: Sequence[str] = ()
    gateway: str | None = None
    dhcp: bool = False
    mtu: int | None = None
    management: bool | None = None

    def check(self) -> None:
        """Verify that the options go together. BadInput: they do not."""
        if not self.addresses and self.gateway:
            raise BadInput("--gateway goes with the static addresses: give them with --address")
        if DEFAULT in self.addresses and (len(self.addresses) > 1 or self.gateway or self.dhcp):
            raise BadInput("--address default gives the port back to DHCP: leave the other addresses and options out")
        if not self.addresses and not self.dhcp and self.mtu is None and self.management is None:
            raise BadInput("nothing to change: give --address, --dhcp, --mtu, --management or --no-management")

    def values(self, before: DesiredLink | None) -> dict[str, object]:
        """Return the fields of a link, with those of `before` that no option names."""
        if self.addresses or self.dhcp:
            addressing: dict[str, object] = {
                "addresses": list(self.addresses),
                "gateway": self.gateway,
                "dhcp": self.dhcp,
            }
        else:
            addressing = {
                "addresses": before.addresses if before else [],
                "gateway": before.gateway if before else None,
                # a port of which nothing was decided has DHCP
                "dhcp": before.dhcp if before else True,
            }
        size = (before.mtu if before else None) if self.mtu is None else self.mtu or None
        return {**addressing, "mtu": size}


def set_link(name: str, settings: LinkSettings, host: NetworkServer) -> NetworkChange:
    """Give a port, bond or VLAN these settings, until they are confirmed.

    BadInput: the options contradict each other, or there is no such link. Refused: it is part of a bond, client
    networks include a management port, or the change does not hold.
    """
    settings.check()
    present = links(host.run)
    link = _existing(name, present)
    if link.part_of:
        raise Refused(f"{name} is part of {link.part_of}, which has the addresses")
    if link.kind != "port" and (settings.management is not None or DEFAULT in settings.addresses):
        raise BadInput(f"{name} is a {link.kind}: --management and --address default are for ports")

    def mutate(config: Config) -> Config:
        config = _with_management(config, link, settings.management)
        if DEFAULT in settings.addresses:
            return _with_port(config, link.mac, None)
        if not settings.addresses and not settings.dhcp and settings.mtu is None:
            return config
        before = desired(link, config)
        values = settings.values(before)
        if link.kind == "port":
            return _with_port(config, link.mac, checked(lambda: _port(link, values)))
        if before is None:
            raise Refused(f"{name} was not made by Millrace: remove it where it was made, then make it here")
        return _with_network(config, _made_again(config, before, values))

    flags = {True: ["management"], False: ["no management"], None: []}[settings.management]
    flags += ["dhcp"] if settings.dhcp else []
    flags += [f"mtu {settings.mtu or 'default'}"] if settings.mtu is not None else []
    return try_change(f"set {name}: {several([*settings.addresses, *flags])}", mutate, host)


def add_vlan(parent: str, number: int, settings: LinkSettings, host: NetworkServer) -> NetworkChange:
    """Make a VLAN on a port or a bond, until it is confirmed; its name is `vlan` with its ID.

    BadInput: the ID is out of range or taken, or there is no such link. Refused: the change does not hold.
    """
    link = _existing(parent, links(host.run))
    if link.kind == "vlan" or link.part_of:
        raise Refused(f"{parent} is {f'part of {link.part_of}' if link.part_of else 'a VLAN'}: name a port or a bond")
    own = link.mac if link.kind == "port" else link.name

    def mutate(config: Config) -> Config:
        taken = next((each for each in config.network.vlans if each.vlan == number), None)
        if taken:
            raise BadInput(f"VLAN {number} exists already: {taken.name}; change it with millrace network set")
        values = _without_dhcp(settings)
        vlan = checked(
            lambda: DesiredVlan.model_validate(
                {**values, "name": f"vlan{number}", "vlan": number, "parent": own, "parent_name": parent}
            )
        )
        return _with_network(config, {"vlans": [*config.network.vlans, vlan]})

    return try_change(f"vlan {number} on {parent}", mutate, host)


def add_bond(
    name: str, members: Sequence[str], mode: BondMode, settings: LinkSettings, host: NetworkServer
) -> NetworkChange:
    """Make a bond of ports, until it is confirmed; it takes over the static addresses that they have.

    BadInput: there is no such port. Refused: a port is part of another bond, or no LACP partner responds.
    """
    present = links(host.run)
    ports = [_existing(each, present) for each in members]
    if any(link.name == name for link in present):
        raise Refused(f"{name} exists already: choose another name, or {command(REMOVE, name)}")
    for port in ports:
        if port.kind != "port" or port.part_of:
            raise Refused(f"{port.name} is {f'part of {port.part_of}' if port.part_of else 'no port'}: name free ports")

    def mutate(config: Config) -> Config:
        macs = [port.mac for port in ports]
        before = [port for port in config.ports if port.mac in macs]
        values = _without_dhcp(settings)
        if not settings.addresses and not settings.dhcp:
            values |= {
                "addresses": [address for port in before for address in port.addresses],
                "gateway": next((port.gateway for port in before if port.gateway), None),
                "dhcp": not any(port.addresses for port in before),
            }
        bond = checked(
            lambda: DesiredBond.model_validate(
                {
                    **values,
                    "name": name,
                    "mode": mode,
                    "members": [{"mac": port.mac, "name": port.name} for port in ports],
                }
            )
        )
        others = [port for port in config.ports if port.mac not in macs]
        config = config.model_copy(update={"ports": others})
        return _with_network(config, {"bonds": [*config.network.bonds, bond]})

    return try_change(f"bond {name}: {', '.join(members)} ({mode})", mutate, host)


def remove(name: str, host: NetworkServer) -> NetworkChange:
    """Remove a bond or a VLAN, until that is confirmed. BadInput: there is none. Refused: a VLAN is on the bond."""

    def mutate(config: Config) -> Config:
        network = config.network
        if name not in {one.name for one in (*network.bonds, *network.vlans)}:
            raise BadInput(f"there is no bond or VLAN {name[:40]!r}: millrace network show")
        above = next((one for one in network.vlans if one.parent == name), None)
        if above:
            raise Refused(f"{above.name} is on {name}: {command(REMOVE, above.name)}")
        bonds = [one for one in network.bonds if one.name != name]
        vlans = [one for one in network.vlans if one.name != name]
        return _with_network(config, {"bonds": bonds, "vlans": vlans})

    return try_change(f"remove {name}", mutate, host)


def set_dns(
    servers: Sequence[str],
    search: Sequence[str],
    host: NetworkServer,
    answers: server_replies.Answers = server_replies.dns,
) -> NetworkChange:
    """Use these name servers (addresses) and search domains; without, those of DHCP. BadInput: no address."""
    return _set_servers("dns", servers, {"dns": list(servers), "search": list(search)}, host, answers)


def set_ntp(
    servers: Sequence[str], host: NetworkServer, answers: server_replies.Answers = server_replies.ntp
) -> NetworkChange:
    """Use these time servers, by name or address; none leaves those of DHCP. BadInput: one is no host name."""
    return _set_servers("ntp", servers, {"ntp": list(servers)}, host, answers)


def set_routes(routes: Sequence[str], host: NetworkServer) -> NetworkChange:
    """Replace all static routes; each is `NETWORK=GATEWAY`. BadInput: one is not. Refused: no link has its gateway."""
    wanted = []
    for text in routes:
        network, equals, gateway = text.partition("=")
        if not equals:
            raise BadInput(f"{text[:60]!r} is not a route: write it like 10.2.0.0/16=10.1.0.1")
        wanted.append({"network": network, "gateway": gateway})

    def mutate(config: Config) -> Config:
        made = [checked(lambda one=one: DesiredRoute.model_validate(one)) for one in wanted]  # type: ignore[misc]
        return _with_network(config, {"routes": made})

    return try_change(f"routes {several(list(routes)) if routes else 'none'}", mutate, host)


def _set_servers(
    what: str,
    servers: Sequence[str],
    values: dict[str, object],
    host: NetworkServer,
    answers: Callable[[str], bool],
) -> NetworkChange:
    def mutate(config: Config) -> Config:
        return _with_network(config, values)

    # before they are asked: a text that is no address goes nowhere
    checked(lambda: DesiredNetwork.model_validate(values))
    silent = [each for each in servers if not answers(each)]
    warnings = [f"the {what.upper()} server {each} does not respond" for each in silent]
    return try_change(f"{what} {several(list(servers)) if servers else 'default'}", mutate, host, warnings)


def _existing(name: str, found: Sequence[NetworkLink]) -> NetworkLink:
    link = next((one for one in found if one.name == name), None)
    if link is None:
        raise BadInput(f"there is no link {name[:40]!r}: there is {', '.join(one.name for one in found)}")
    return link


def _without_dhcp(settings: LinkSettings) -> dict[str, object]:
    """The fields of a link that is made: without an address and DHCP it has none."""
    if DEFAULT in settings.addresses:
        raise BadInput("--address default is for ports: use --dhcp")
    if settings.gateway and not settings.addresses:
        raise BadInput("--gateway goes with the static addresses: give them with --address")
    return {
        "addresses": list(settings.addresses),
        "gateway": settings.gateway,
        "dhcp": settings.dhcp,
        "mtu": settings.mtu or None,
    }


def _port(link: NetworkLink, values: dict[str, object]) -> DesiredPort:
    return DesiredPort.model_validate({**values, "mac": link.mac, "name": link.name})


def _with_port(config: Config, mac: str, port: DesiredPort | None) -> Config:
    others = [one for one in config.ports if one.mac != mac]
    return config.model_copy(update={"ports": [*others, *([port] if port else [])]})


def _with_network(config: Config, values: dict[str, object]) -> Config:
    network = checked(lambda: DesiredNetwork.model_validate({**dict(config.network), **values}))
    return config.model_copy(update={"network": network})


def _made_again(config: Config, before: DesiredLink, values: dict[str, object]) -> dict[str, object]:
    """The bonds or VLANs with other settings of one of them."""

    def changed(one: DesiredLink) -> DesiredLink:
        return checked(lambda: type(one).model_validate({**dict(one), **values})) if one.name == before.name else one

    return {
        "bonds": [changed(one) for one in config.network.bonds],
        "vlans": [changed(one) for one in config.network.vlans],
    }


def _with_management(config: Config, link: NetworkLink, management: bool | None) -> Config:
    """Refused where clients of a confirmed network would be on the port."""
    if management is None:
        return config
    others = [mac for mac in config.management if mac != link.mac]
    after = [*others, link.mac] if management else others
    if management:
        port = Interface(link.name, [ip_interface(address) for address in link.addresses], link.carrier, None, link.mac)
        shared = on_management(config.nfs.networks, [port], after)
        if shared:
            raise Refused(f"the client network {shared}: confirm others first, millrace share networks set NETWORK…")
    return config.model_copy(update={"management": after})
