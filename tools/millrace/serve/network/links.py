# SPDX-License-Identifier: Apache-2.0
"""Ports, bonds and VLANs as the kernel has them now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from millrace.serve.config.model import Config
from millrace.serve.config.network import DesiredBond, DesiredLink, DesiredVlan
from millrace.serve.network.model import LinkKind, LinkReport
from millrace.system import net, sysfs
from millrace.system.net import Entry
from millrace.system.run import Runner

NO_PARTNER = "00:00:00:00:00:00"
KINDS: Mapping[str, LinkKind] = {"bond": "bond", "vlan": "vlan"}


@dataclass(frozen=True)
class NetworkLink:
    """A link; `addresses` in CIDR form are those that are ready, `mac` is the one that a port was made with.

    `members`, `active` and `partner` are those of a bond, `parent` is that of a VLAN.
    """

    name: str
    kind: LinkKind
    mac: str
    carrier: bool
    mtu: int | None
    addresses: list[str]
    part_of: str | None
    members: list[str] = field(default_factory=list)
    active: list[str] = field(default_factory=list)
    partner: str | None = None
    parent: str | None = None


def links(run: Runner) -> list[NetworkLink]:
    """Return all Ethernet ports, then bonds and VLANs, by name. Failed: iproute2 does not list them."""
    return among(net.entries(run))


def among(entries: Sequence[Entry]) -> list[NetworkLink]:
    """Return the ports, bonds and VLANs among the interfaces of the kernel."""
    kinds = {str(one["ifname"]): _kind(one) for one in entries if one.get("link_type") == "ether"}
    found = [_link(one, kind) for one in entries if (kind := kinds.get(one["ifname"]))]
    return sorted(found, key=lambda one: (one.kind != "port", one.kind, one.name))


def reports(found: Sequence[NetworkLink], config: Config) -> list[LinkReport]:
    """Return the links with what the desired state has of them."""
    return [_report(one, config) for one in found]


def desired(link: NetworkLink, config: Config) -> DesiredLink | None:
    """Return what was decided of a link; None where DHCP or a credential decides."""
    if link.kind == "port":
        return config.port(link.mac)
    return next((one for one in (*config.network.bonds, *config.network.vlans) if one.name == link.name), None)


def now_of(wanted: DesiredLink, found: Sequence[NetworkLink]) -> NetworkLink | None:
    """Return the link that a decision is about; None where it is not there."""
    mac = getattr(wanted, "mac", None)
    if mac:
        return next((one for one in found if one.kind == "port" and one.mac == mac), None)
    return next((one for one in found if one.kind != "port" and one.name == wanted.name), None)


def _kind(entry: Entry) -> LinkKind | None:
    name = str(entry["ifname"])
    return "port" if net.is_port(name) else KINDS.get(sysfs.uevent(net.directory(name)).get("DEVTYPE", ""))


def _link(entry: Entry, kind: LinkKind) -> NetworkLink:
    name = str(entry["ifname"])
    bonding = net.directory(name) / "bonding"
    members = (sysfs.text(bonding / "slaves") or "").split() if kind == "bond" else []
    partner = sysfs.text(bonding / "ad_partner_mac") if kind == "bond" else None
    return NetworkLink(
        name=name,
        kind=kind,
        mac=net.own_mac(entry),
        carrier=net.has_carrier(name),
        mtu=entry.get("mtu"),
        addresses=[
            f"{address['local']}/{address['prefixlen']}"
            for address in entry.get("addr_info", [])
            if address.get("scope") == "global" and not address.get("tentative") and not address.get("dadfailed")
        ],
        part_of=entry.get("master"),
        members=members,
        active=[each for each in members if _carries(name, each)],
        partner=None if partner == NO_PARTNER else partner,
        parent=entry.get("link"),
    )


def _carries(bond: str, member: str) -> bool:
    """Whether a port of a bond is up; with LACP also whether it is in the aggregate that is used."""
    own = net.directory(member) / "bonding_slave"
    if sysfs.text(own / "mii_status") != "up":
        return False
    used, mine = (
        sysfs.number(net.directory(bond) / "bonding/ad_aggregator"),
        sysfs.number(own / "ad_aggregator_id"),
    )
    return used is None or mine is None or used == mine


def _report(link: NetworkLink, config: Config) -> LinkReport:
    wanted = desired(link, config)
    return LinkReport(
        name=link.name,
        kind=link.kind,
        mac=link.mac,
        carrier=link.carrier,
        speed=net.speed(link.name),
        mtu=link.mtu,
        addresses=link.addresses,
        decided=wanted is not None,
        fixed=wanted.addresses if wanted else [],
        gateway=wanted.gateway if wanted else None,
        dhcp=wanted.dhcp if wanted else False,
        wanted_mtu=wanted.mtu if wanted else None,
        part_of=link.part_of,
        management=link.kind == "port" and link.mac in config.management,
        mode=wanted.mode if isinstance(wanted, DesiredBond) else None,
        members=link.members,
        active=link.active,
        partner=link.partner,
        vlan=wanted.vlan if isinstance(wanted, DesiredVlan) else None,
        parent=link.parent if link.kind == "vlan" else None,
    )
