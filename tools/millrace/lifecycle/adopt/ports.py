# SPDX-License-Identifier: Apache-2.0
"""Which ports of this server get the fixed addresses of the kept state."""

from collections.abc import Mapping, Sequence

from millrace.lifecycle.adopt.model import KeptPort
from millrace.serve.config.model import Config, DesiredPort
from millrace.serve.network.addressing import NETWORKD, entry
from millrace.serve.network.links import PortLink, links
from millrace.serve.render.reconcile import settle
from millrace.serve.render.registry import RenderedService, Settled
from millrace.system.run import Runner, must


def kept_ports(config: Config, run: Runner) -> list[KeptPort]:
    """Return the ports of the kept state with those of this server that take their place."""
    here = links(run) if config.ports else []
    return [_kept(port, config.ports, here) for port in config.ports]


def _kept(port: DesiredPort, kept: Sequence[DesiredPort], here: Sequence[PortLink]) -> KeptPort:
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
    ports = [port.model_copy(update={"mac": macs.get(port.mac, port.mac)}) for port in config.ports]
    return config.model_copy(update={"ports": ports})


def set_addresses(config: Config, run: Runner) -> list[str]:
    """Give the ports of this server their fixed addresses; return a sentence for each port that is not there."""
    if not config.ports:
        return []
    here = {link.mac: link.name for link in links(run)}
    present = [port for port in config.ports if port.mac in here]

    def reload(settled: Settled) -> bool:
        if settled.changed:
            must(run, ["networkctl", "reload"])
            must(run, ["networkctl", "reconfigure", *(here[port.mac] for port in present)])
        return bool(settled.changed)

    settle([RenderedService(NETWORKD, [entry(port.mac, port) for port in present], reload)], force=True)
    return [
        f"port {port.name} ({port.mac}) is not in this server: {', '.join(port.addresses)} is not set"
        for port in config.ports
        if port.mac not in here
    ]
