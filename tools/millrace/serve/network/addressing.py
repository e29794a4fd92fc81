# SPDX-License-Identifier: Apache-2.0
"""Fixed addresses: written for systemd-networkd, waited for, and verified to come up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_interface

from millrace.serve.config.model import Config, DesiredPort
from millrace.serve.network.links import PortLink, links
from millrace.serve.render.reconcile import compare
from millrace.serve.render.registry import Change, FileEntry, RenderedService, RenderPart, Settled
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.names import several
from millrace.system.run import Runner, must
from millrace.system.wait import wait_until

NETWORKD = "systemd-networkd.service"
# Before 50-…, where credentials put theirs, and 80-millrace-dhcp.network: the first file that matches counts.
DIRECTORY, PREFIX = "etc/systemd/network", "40-millrace-"

# Seconds. Asking whether another host has an address (RFC 5227) takes up to 7; a link may have to come up first.
PATIENCE, PAUSE = 45.0, 0.5


def file_name(mac: str) -> str:
    """Return the path of a port's file, below the root."""
    return f"{DIRECTORY}/{PREFIX}{mac.replace(':', '')}.network"


def text(port: DesiredPort | None) -> str:
    """Return the text of that file for a port that has fixed addresses."""
    from millrace.system.render import render

    return render(f"{DIRECTORY}/40-millrace.network.j2", port=port)


@dataclass
class AddressChange(RenderPart):
    """The fixed addresses of a change; they are up before anything is served on them."""

    run: Runner
    pause: Callable[[float], None]
    _links: dict[str, PortLink] = field(default_factory=dict)
    _macs: list[str] = field(default_factory=list)

    def prepare(self, change: Change) -> None:
        """Find the ports whose addresses change; warn of those that are not in this server."""
        old, new = change.old, change.new
        # What a change that was killed wrote is in no state.
        left = {
            difference.entry.path
            for difference in compare([service(old)])
            if difference.found and difference.differs and not difference.edited
        }
        macs = [mac for mac in _macs(old, new) if old.port(mac) != new.port(mac) or file_name(mac) in left]
        self._links = {link.mac: link for link in links(self.run)} if macs else {}
        self._macs = [mac for mac in macs if mac in self._links]
        away = [port for port in new.ports if port.mac in macs and port.mac not in self._links]
        change.warnings += [
            f"port {port.name} ({port.mac}) is not present in this server: its addresses are not set" for port in away
        ]

    def services(self, config: Config) -> Sequence[RenderedService]:
        """Return the files of the ports that change, and systemd-networkd, which reads them."""
        return [RenderedService(NETWORKD, [entry(mac, config.port(mac)) for mac in self._macs], self._reload)]

    def verify(self, change: Change) -> None:
        """Wait until the addresses are up. Failed: one does not come up."""
        wanted = {self._links[mac].name: change.new.port(mac) for mac in self._macs}
        if wanted:
            change.verified += self._wait(wanted)
        for mac in self._macs:
            change.warnings += _lost(self._links[mac], change.new.port(mac))

    def _reload(self, settled: Settled) -> bool:
        if self._macs and settled.changed:
            must(self.run, ["networkctl", "reload"])
            must(self.run, ["networkctl", "reconfigure", *(self._links[mac].name for mac in self._macs)])
        return bool(settled.changed)

    def _wait(self, wanted: dict[str, DesiredPort | None]) -> list[str]:
        def lacking(now: dict[str, PortLink]) -> dict[str, list[str]]:
            found = {name: missing(port, now.get(name)) for name, port in wanted.items() if port}
            return found if any(found.values()) else {}

        def read_links() -> dict[str, PortLink]:
            return {link.name: link for link in links(self.run)}

        now = wait_until(read_links, lambda seen: not lacking(seen), [PAUSE] * round(PATIENCE / PAUSE), self.pause)
        if complaints := lacking(now):
            raise Failed(_complaint(complaints, now))
        return [f"{name} has {several(port.addresses)}" for name, port in wanted.items() if port]


def entry(mac: str, port: DesiredPort | None) -> FileEntry:
    """Return the file of a port; None where its addresses are from DHCP or a credential."""
    return FileEntry(file_name(mac), partial(text, port), when=port is not None)


def _lost(link: PortLink, port: DesiredPort | None) -> list[str]:
    gone = [one for one in link.addresses if one not in port.addresses] if port and not port.dhcp else []
    return [f"{link.name} had {several(gone)}: clients that use it must mount another address"] if gone else []


def service(config: Config) -> RenderedService:
    """Return all files of a state, to compare; a change writes those of the ports that change."""
    return RenderedService(NETWORKD, [entry(mac, config.port(mac)) for mac in _macs(config)])


def _macs(*configs: Config) -> list[str]:
    """The ports of states, and those that have a file."""
    directory = paths.ROOT / DIRECTORY
    files = sorted(directory.glob(f"{PREFIX}*.network")) if directory.is_dir() else []
    bare = [path.stem.removeprefix(PREFIX) for path in files]
    found = [":".join(one[at : at + 2] for at in range(0, len(one), 2)) for one in bare]
    return list(dict.fromkeys([*(port.mac for config in configs for port in config.ports), *found]))


def missing(port: DesiredPort, link: PortLink | None) -> list[str]:
    """Return the fixed addresses that a port lacks; all where the port itself is missing."""
    there = {ip_interface(one) for one in link.addresses} if link else set()
    return [one for one in port.addresses if ip_interface(one) not in there]


def _complaint(lacking: dict[str, list[str]], now: dict[str, PortLink]) -> str:
    name, addresses = next((name, addresses) for name, addresses in lacking.items() if addresses)
    if name in now and not now[name].carrier:
        return (
            f"{name} has no link, so {several(addresses)} cannot come up: connect a cable and switch the other end on"
        )
    return (
        f"{several(addresses)} did not come up on {name} in {PATIENCE:.0f} s: does another host have it already? "
        "journalctl -u systemd-networkd"
    )
