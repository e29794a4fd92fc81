# SPDX-License-Identifier: Apache-2.0
"""The network as the file wants it. Ports have names in the file, and MAC addresses in the desired state."""

from collections.abc import Sequence
from typing import Any

from millrace.cli.apply.model import DEFAULT, BondEntry, LinkEntry, NetworkEntry, PortEntry, VlanEntry
from millrace.cli.apply.reading import Reading
from millrace.serve.config.model import Config
from millrace.serve.config.network import DesiredBond, DesiredLink, DesiredNetwork, DesiredPort, DesiredVlan
from millrace.serve.network import links
from millrace.serve.network.links import NetworkLink
from millrace.serve.share.networks import on_management
from millrace.system import net
from millrace.system.documents import checked
from millrace.system.errors import BadInput
from millrace.system.run import Runner

SERVERS = ("dns", "search", "ntp", "routes")


def with_network(config: Config, reading: Reading, prune: bool, run: Runner) -> Config:
    """Return a state with the network of the file; what is wrong (BadInput) is noted in the reading."""
    wanted = reading.document.network
    if wanted is None:
        return config
    names = _Names(config, links.links(run) if _names_ports(wanted) else [])
    for name, port in (wanted.ports or {}).items():
        config = _noted(
            config, reading, ("ports", name), lambda now, name=name, port=port: _port(now, name, port, names)
        )
    for name, bond in (wanted.bonds or {}).items():
        config = _noted(
            config, reading, ("bonds", name), lambda now, name=name, bond=bond: _bond(now, name, bond, names)
        )
    for name, vlan in (wanted.vlans or {}).items():
        config = _noted(
            config, reading, ("vlans", name), lambda now, name=name, vlan=vlan: _vlan(now, name, vlan, names)
        )
    if wanted.management is not None:
        ports = wanted.management
        config = _noted(config, reading, ("management",), lambda now: _management(now, ports, names))
    given = {key: getattr(wanted, key) for key in SERVERS if getattr(wanted, key) is not None}
    config = _noted(config, reading, (), lambda now: _with(now, given))
    return _noted(config, reading, (), lambda now: _pruned(now, wanted, names)) if prune else config


def with_client_networks(config: Config, reading: Reading, of_policy: Sequence[str]) -> Config:
    """Return a state with the client networks of the file; what is wrong is noted in the reading.

    `of_policy` are the client networks of the policy, which win.
    """
    place, wanted = ("nfs", "networks"), reading.document.nfs.networks
    if wanted is None or wanted == config.nfs.networks:
        return config
    if of_policy:
        reading.problem(
            place, "the policy names the client networks: change [policy.nfs] networks, or remove them there"
        )
        return config
    shared = on_management(wanted, net.serving(), config.management)
    if shared:
        reading.problem(place, f"{shared}: name networks without management ports")
    return config.model_copy(update={"nfs": config.nfs.model_copy(update={"networks": wanted})})


class _Names:
    """The MAC addresses of ports by their names: those of the kernel, else those of the desired state."""

    def __init__(self, config: Config, present: Sequence[NetworkLink]) -> None:
        self._macs = {port.name: port.mac for port in config.ports}
        self._macs |= {port.name: port.mac for port in config.network.members}
        self._macs |= {link.name: link.mac for link in present if link.kind == "port"}

    def mac(self, name: str) -> str:
        """Return the MAC address of a port, which may be named by it. BadInput: there is no such port."""
        if ":" in name:
            return name
        if name not in self._macs:
            raise BadInput(f"there is no port {name}; allowed are {', '.join(sorted(self._macs)) or 'none'}")
        return self._macs[name]


def _names_ports(wanted: NetworkEntry) -> bool:
    return any(each is not None for each in (wanted.ports, wanted.bonds, wanted.vlans, wanted.management))


def _values(entry: LinkEntry, before: DesiredLink | None) -> dict[str, Any]:
    """The fields of a link, with those of `before` that the file does not name."""
    if entry.addresses is None and entry.gateway is None and entry.dhcp is None:
        values: dict[str, Any] = {
            "addresses": before.addresses if before else [],
            "gateway": before.gateway if before else None,
            "dhcp": before.dhcp if before else isinstance(entry, PortEntry),
        }
    else:
        values = {"addresses": entry.addresses or [], "gateway": entry.gateway, "dhcp": bool(entry.dhcp)}
    size = (before.mtu if before else None) if entry.mtu is None else entry.mtu
    return {**values, "mtu": None if size == DEFAULT else size}


def _port(config: Config, name: str, entry: PortEntry, names: _Names) -> Config:
    mac = entry.mac or names.mac(name)
    before = config.port(mac)
    values = {**_values(entry, before), "mac": mac, "name": before.name if before else name}
    port = checked(lambda: DesiredPort.model_validate(values))
    if before is not None:
        return config.model_copy(update={"ports": [port if each == before else each for each in config.ports]})
    return config.model_copy(update={"ports": [*config.ports, port]})


def _bond(config: Config, name: str, entry: BondEntry, names: _Names) -> Config:
    before = next((bond for bond in config.network.bonds if bond.name == name), None)
    if entry.members is None and before is None:
        raise BadInput("members is missing: name the ports of the bond")
    known = {member.name: member.mac for member in before.members} if before else {}
    members = (
        [{"mac": known.get(port) or names.mac(port), "name": port} for port in entry.members]
        if entry.members is not None
        else [member.model_dump() for member in before.members if before]
        if before
        else []
    )
    mode = entry.mode or (before.mode if before else "lacp")
    values = {**_values(entry, before), "name": name, "mode": mode, "members": members}
    bond = checked(lambda: DesiredBond.model_validate(values))
    bonds = [bond if each.name == name else each for each in config.network.bonds]
    own = {member.mac for member in bond.members}
    # what a port had is that of the bond now
    config = config.model_copy(update={"ports": [port for port in config.ports if port.mac not in own]})
    return _with(config, {"bonds": bonds if before else [*bonds, bond]})


def _vlan(config: Config, name: str, entry: VlanEntry, names: _Names) -> Config:
    before = next((vlan for vlan in config.network.vlans if vlan.name == name), None)
    number = entry.vlan or (before.vlan if before else None)
    parent_name = entry.parent or (before.parent_name if before else None)
    if number is None or parent_name is None:
        raise BadInput(f"{'vlan' if number is None else 'parent'} is missing")
    is_bond = any(bond.name == parent_name for bond in config.network.bonds)
    if before and parent_name == before.parent_name:
        parent = before.parent
    else:
        parent = parent_name if is_bond else names.mac(parent_name)
    values = {**_values(entry, before), "name": name, "vlan": number, "parent": parent, "parent_name": parent_name}
    vlan = checked(lambda: DesiredVlan.model_validate(values))
    vlans = [vlan if each.name == name else each for each in config.network.vlans]
    return _with(config, {"vlans": vlans if before else [*vlans, vlan]})


def _management(config: Config, ports: Sequence[str], names: _Names) -> Config:
    wanted = [names.mac(name) for name in ports]
    same = set(wanted) == set(config.management)
    return config if same else config.model_copy(update={"management": wanted})


def _pruned(config: Config, wanted: NetworkEntry, names: _Names) -> Config:
    network = config.network
    bonds = [bond for bond in network.bonds if wanted.bonds is None or bond.name in wanted.bonds]
    vlans = [vlan for vlan in network.vlans if wanted.vlans is None or vlan.name in wanted.vlans]
    macs = None if wanted.ports is None else {port.mac or names.mac(name) for name, port in wanted.ports.items()}
    ports = [port for port in config.ports if macs is None or port.mac in macs]
    # checked with the whole state: a VLAN may be on a bond that goes
    pruned = network.model_copy(update={"bonds": bonds, "vlans": vlans})
    return config.model_copy(update={"ports": ports, "network": pruned})


def _with(config: Config, values: dict[str, Any]) -> Config:
    network = checked(lambda: DesiredNetwork.model_validate({**dict(config.network), **values}))
    return config.model_copy(update={"network": network})


def _noted(config: Config, reading: Reading, place: tuple[str, ...], change: Any) -> Config:
    """The state after a change of one link; the one before where it is refused, which is noted."""
    try:
        changed: Config = change(config)
    except BadInput as error:
        reading.problem(("network", *place), str(error))
        return config
    return changed
