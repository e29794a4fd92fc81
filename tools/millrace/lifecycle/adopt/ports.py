# SPDX-License-Identifier: Apache-2.0
"""Which ports of this server get the addresses, bonds and VLANs of the kept state."""

import time
from collections.abc import Mapping, Sequence

from millrace.lifecycle.adopt.model import KeptPort
from millrace.serve.config.model import Config
from millrace.serve.config.network import DesiredPort
from millrace.serve.network.addressing import AddressChange
from millrace.serve.network.links import NetworkLink, links
from millrace.serve.render.reconcile import settle
from millrace.serve.render.registry import Change
from millrace.system.run import Runner


def kept_ports(config: Config, run: Runner) -> list[KeptPort]:
    """Return the ports of the kept state with those of this server that take their place."""
    wanted = _ports(config)
    here = [link for link in links(run) if link.kind == "port"] if wanted else []
    return [_kept(port, wanted, here) for port in wanted]


def _ports(config: Config) -> list[DesiredPort]:
    """The ports with settings of their own, those of bonds, and those that have nothing but a VLAN or management."""
    network = config.network
    others = [(port.mac, port.name) for port in network.members]
    others += [(vlan.parent, vlan.parent_name) for vlan in network.vlans if ":" in vlan.parent]
    bare = {mac: DesiredPort(mac=mac, name=name) for mac, name in others}
    return list((bare | {port.mac: port for port in config.ports}).values())


def _kept(port: DesiredPort, kept: Sequence[DesiredPort], here: Sequence[NetworkLink]) -> KeptPort:
    same = next((link for link in here if link.mac == port.mac), None)
    if same is not None:
        return KeptPort(name=port.name, mac=port.mac, addresses=port.addresses, here=same.name, by="mac")
    # In another chassis a port in the same slot has the same name; one that another port of the state has is not free.
    taken = {one.mac for one in kept}
    named = next((link for link in here if link.name == port.name and link.mac not in taken), None)
    by = None if named is None else "name"
    return KeptPort(name=port.name, mac=port.mac, addresses=port.addresses, here=named and named.name, by=by)


def replaced(found: Sequence[KeptPort], run: Runner) -> dict[str, str]:
    """Return the MAC addresses of ports that others of this server replace, and those of these."""
    macs = {link.name: link.mac for link in links(run)} if found else {}
    return {one.mac: macs[one.here] for one in found if one.here in macs and one.by == "name"}


def moved(config: Config, macs: Mapping[str, str]) -> Config:
    """Return a state whose ports are known by the MAC addresses that take the place of theirs."""
    network = config.network
    bonds = [
        bond.model_copy(
            update={"members": [each.model_copy(update={"mac": macs.get(each.mac, each.mac)}) for each in bond.members]}
        )
        for bond in network.bonds
    ]
    vlans = [vlan.model_copy(update={"parent": macs.get(vlan.parent, vlan.parent)}) for vlan in network.vlans]
    return config.model_copy(
        update={
            "ports": [port.model_copy(update={"mac": macs.get(port.mac, port.mac)}) for port in config.ports],
            "management": [macs.get(mac, mac) for mac in config.management],
            "network": network.model_copy(update={"bonds": bonds, "vlans": vlans}),
        }
    )


def set_addresses(config: Config, run: Runner) -> list[str]:
    """Give the links of this server what was decided; return a sentence for each port that is not there."""
    # Nothing was decided here: the boot drive is new.
    change = Change(config.model_copy(update={"ports": [], "network": type(config.network)()}), config)
    part = AddressChange(run, time.sleep)
    part.prepare(change)
    settle(part.services(config), force=True)
    return [
        f"port {port.name} ({port.mac}) is not in this server: {', '.join(port.addresses) or 'nothing'} is not set"
        for port in _absent(config, run)
    ]


def _absent(config: Config, run: Runner) -> list[DesiredPort]:
    """The ports of a state that are not in this server."""
    wanted = _ports(config)
    here = {link.mac for link in links(run)} if wanted else set()
    return [port for port in wanted if port.mac not in here]
