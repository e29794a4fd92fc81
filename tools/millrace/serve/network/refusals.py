# SPDX-License-Identifier: Apache-2.0
"""What a change of the network may not do, each with one sentence; looked for before anything is changed."""

from collections.abc import Sequence
from ipaddress import ip_address, ip_interface

from millrace.serve.config.model import Config
from millrace.serve.config.network import DesiredLink, DesiredPort, DesiredVlan, networks, shared_network
from millrace.serve.network.files import mtu_of
from millrace.serve.network.links import NetworkLink, desired, links, now_of
from millrace.system import net
from millrace.system.errors import Refused
from millrace.system.listeners import served_on
from millrace.system.names import several
from millrace.system.run import Runner

# The web console and ssh.
CONSOLE_PORTS = (9090, 22)


def refuse(old: Config, new: Config, run: Runner) -> list[str]:
    """Verify a change against the links of now; return what the user should know. Refused: one sentence."""
    found = links(run)
    _members(new, found)
    _taken(old, new, found)
    _subnets(old, new, found)
    _mtus(old, new, found, run)
    _routes(new)
    _last_port(new, found)
    return _session(new, found)


def _changed(old: Config, new: Config) -> list[DesiredLink]:
    return [link for link in new.links if link not in old.links]


def _members(new: Config, found: Sequence[NetworkLink]) -> None:
    ours = {one.name for one in new.network.bonds}
    for link in found:
        decided = desired(link, new)
        if decided is not None and link.part_of is not None and link.part_of not in ours and link.kind == "port":
            raise Refused(f"{link.name} is part of {link.part_of}, which has the addresses")


def _taken(old: Config, new: Config, present: Sequence[NetworkLink]) -> None:
    """An address that another link has from elsewhere, such as DHCP."""
    members = {port.mac for port in new.network.members}
    for link in _changed(old, new):
        wanted = {each.partition("/")[0] for each in link.addresses}
        own = now_of(link, present)
        for other in present:
            if other is own or (other.kind == "port" and other.mac in members) or desired(other, new):
                continue
            if other.kind != "port":
                # it is removed by this change, or not ours
                continue
            taken = sorted(wanted & {each.partition("/")[0] for each in other.addresses})
            if taken:
                raise Refused(f"{several(taken)} is an address of {other.name}: remove it there first")


def _subnets(old: Config, new: Config, present: Sequence[NetworkLink]) -> None:
    shared = shared_network(new.links)
    if shared and shared != shared_network(old.links):
        first, second, subnet = shared
        raise Refused(
            f"{first} and {second} would both be in {subnet}: give each its own network, or make a bond of them"
        )
    members = {port.mac for port in new.network.members}
    undecided = [
        each for each in present if each.kind == "port" and each.mac not in members and desired(each, new) is None
    ]
    for link in _changed(old, new):
        own = now_of(link, present)
        for network in networks(link):
            for other in undecided:
                if other is not own and any(ip_interface(each).network == network for each in other.addresses):
                    raise Refused(
                        f"{other.name} and {link.name} would both be in {network}: give each its own network, or make "
                        "a bond of them"
                    )


def _mtus(old: Config, new: Config, present: Sequence[NetworkLink], run: Runner) -> None:
    """An MTU above that of the driver, or of the link below a VLAN."""
    by_name = {each.name: each for each in present}
    for vlan in new.network.vlans:
        below = _parent(vlan, new)
        if vlan.mtu and below is not None and below.mtu and below.mtu < vlan.mtu:
            raise Refused(f"the MTU {vlan.mtu} is above that of {below.name} ({below.mtu}): set that first")
    for link in present:
        size = _needed(link, new)
        if size is None or size == _needed(link, old):
            continue
        most = net.most_mtu(link.name, run)
        if most is not None and size > most:
            raise Refused(f"{link.name} takes an MTU of {most} bytes at most: {size} is not possible")
    for bond in new.network.bonds:
        size = mtu_of(bond, new)
        members = [
            each for each in by_name.values() if each.kind == "port" and each.mac in {port.mac for port in bond.members}
        ]
        for member in members if size else []:
            most = net.most_mtu(member.name, run)
            if most is not None and size and size > most:
                raise Refused(f"{member.name} takes an MTU of {most} bytes at most: {size} is not possible")


def _needed(link: NetworkLink, config: Config) -> int | None:
    if link.kind != "port":
        return None
    port = config.port(link.mac) or DesiredPort(mac=link.mac, name=link.name)
    return mtu_of(port, config)


def _parent(vlan: DesiredVlan, config: Config) -> DesiredLink | None:
    if ":" in vlan.parent:
        return config.port(vlan.parent)
    return next((one for one in config.network.bonds if one.name == vlan.parent), None)


def _routes(new: Config) -> None:
    for route in new.network.routes:
        gateway = ip_address(route.gateway)
        if not any(gateway in network for link in new.links for network in networks(link)):
            raise Refused(
                f"the gateway {route.gateway} of the route to {route.network} is in no network of a fixed address: "
                "name a router that a link reaches"
            )


def _last_port(new: Config, present: Sequence[NetworkLink]) -> None:
    """A server without any address can be reached from nowhere."""
    members = {port.mac for port in new.network.members}
    undecided = [each for each in present if each.kind == "port" and desired(each, new) is None]
    left = any(link.addresses or link.dhcp for link in new.links)
    # A port that a bond gives up asks for an address.
    if left or any(each.addresses or each.part_of for each in undecided if each.mac not in members):
        return
    if any(each.addresses for each in present):
        raise Refused(
            "this would take the last address of this server, which this session uses: give another link an address "
            "first"
        )


def _session(new: Config, present: Sequence[NetworkLink]) -> list[str]:
    """Sessions of the web console and of ssh whose address goes away."""
    used = {str(each) for port in CONSOLE_PORTS for each in served_on(port)}
    members = {port.mac for port in new.network.members}
    kept = {each.partition("/")[0] for link in new.links for each in link.addresses}
    for link in present:
        decided = desired(link, new)
        if link.mac not in members and (decided.dhcp if decided else link.kind == "port"):
            kept |= {each.partition("/")[0] for each in link.addresses}
    every = {each.partition("/")[0] for link in present for each in link.addresses}
    gone = sorted((used & every) - kept)
    if not gone:
        return []
    return [
        f"sessions of the web console or ssh use {several(gone)}, which goes away: sign in at another address to "
        "confirm"
    ]
