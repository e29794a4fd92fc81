# SPDX-License-Identifier: Apache-2.0
"""Fixed addresses made true: written for systemd-networkd, waited for, and taken back where one does not come up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_interface

from millrace import paths
from millrace.errors import Failed, MillraceError, Refused
from millrace.etc import rendered
from millrace.port.links import Link, links
from millrace.state.model import Config, Port
from millrace.system.names import several
from millrace.system.run import Runner, must
from millrace.system.wait import wait_until

# Before 50-…, where credentials put theirs, and 80-millrace-dhcp.network: the first file that matches counts.
DIRECTORY, PREFIX = "etc/systemd/network", "40-millrace-"

# Seconds. Asking whether another host has an address (RFC 5227) takes up to 7; a link may have to come up first.
PATIENCE, PAUSE = 45.0, 0.5


def file_name(mac: str) -> str:
    """Where the addresses of a port stand, below the root."""
    return f"{DIRECTORY}/{PREFIX}{mac.replace(':', '')}.network"


def text(port: Port) -> str:
    """The text of that file."""
    from millrace.system.render import render

    return render(f"{DIRECTORY}/40-millrace.network.j2", port=port)


@dataclass
class Addressing:
    """The effect of a change of the wanted state on the ports; `undo` takes it back when something later fails."""

    run: Runner
    pause: Callable[[float], None]
    verified: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _before: dict[str, str | None] = field(default_factory=dict)
    _touched: list[str] = field(default_factory=list)

    def __call__(self, old: Config, new: Config) -> None:
        """Give the ports the addresses of `new`; Refused with the reason where one does not come up."""
        macs = [mac for mac in _macs(old, new) if old.port(mac) != new.port(mac)]
        if not macs:
            return
        here = {link.mac: link for link in links(self.run)}
        for mac in macs:
            wanted = new.port(mac)
            if mac not in here:
                if wanted:
                    self.warnings.append(f"the port {wanted.name} ({mac}) is not in this server: it gets no address")
                continue
            self._touched.append(here[mac].name)
            self._write(mac, wanted)
        try:
            self._reload()
            self._wait({here[mac].name: new.port(mac) for mac in macs if mac in here})
        except MillraceError as error:
            raise Refused(f"{str(error).rstrip('.')}; {self.undo() or 'nothing was changed'}") from error
        self._say_what_went(macs, here, new)

    def undo(self) -> str | None:
        """The files as they were; what could not be undone, in words."""
        for name, before in self._before.items():
            if before is None:
                rendered.remove(name)
            else:
                rendered.put(name, before)
        try:
            self._reload()
        except MillraceError as error:
            return f"and restoring the previous addresses failed: {error}"
        return None

    def _write(self, mac: str, wanted: Port | None) -> None:
        name = file_name(mac)
        path = paths.ROOT / name
        self._before[name] = path.read_text() if path.exists() else None
        if wanted:
            rendered.put(name, text(wanted))
        else:
            rendered.remove(name)

    def _reload(self) -> None:
        if self._touched:
            must(self.run, ["networkctl", "reload"])
            must(self.run, ["networkctl", "reconfigure", *self._touched])

    def _wait(self, wanted: dict[str, Port | None]) -> None:
        def lacking(now: dict[str, Link]) -> dict[str, list[str]]:
            found = {name: missing(port, now.get(name)) for name, port in wanted.items() if port}
            return found if any(found.values()) else {}

        def look() -> dict[str, Link]:
            return {link.name: link for link in links(self.run)}

        now = wait_until(look, lambda seen: not lacking(seen), [PAUSE] * round(PATIENCE / PAUSE), self.pause)
        if complaints := lacking(now):
            raise Failed(_complaint(complaints, now))
        for name, port in wanted.items():
            if port:
                self.verified.append(f"{name} has {several(port.addresses)}")

    def _say_what_went(self, macs: Sequence[str], here: dict[str, Link], new: Config) -> None:
        for mac in macs:
            wanted, link = new.port(mac), here.get(mac)
            gone = [one for one in link.addresses if one not in wanted.addresses] if wanted and link else []
            if gone and wanted and not wanted.dhcp and link:
                self.warnings.append(f"{link.name} had {several(gone)}: clients that use it must mount another address")


def _macs(old: Config, new: Config) -> list[str]:
    return list(dict.fromkeys(one.mac for one in (*old.ports, *new.ports)))


def missing(port: Port, link: Link | None) -> list[str]:
    """The fixed addresses that a port lacks; all where the port itself is not there."""
    there = {ip_interface(one) for one in link.addresses} if link else set()
    return [one for one in port.addresses if ip_interface(one) not in there]


def _complaint(lacking: dict[str, list[str]], now: dict[str, Link]) -> str:
    name, addresses = next((name, addresses) for name, addresses in lacking.items() if addresses)
    if name in now and not now[name].carrier:
        return (
            f"{name} has no link, so {several(addresses)} cannot come up: connect a cable and switch the other end on"
        )
    return (
        f"{several(addresses)} did not come up on {name} in {PATIENCE:.0f} s: does another host have it already? "
        "journalctl -u systemd-networkd"
    )
