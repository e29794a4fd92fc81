# SPDX-License-Identifier: Apache-2.0
"""Links as they are decided: written for systemd-networkd, waited for, and verified to come up."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_interface

from millrace.serve.config.model import Config
from millrace.serve.config.network import DesiredBond, DesiredLink, DesiredPort
from millrace.serve.network import files
from millrace.serve.network.links import NetworkLink, links, now_of
from millrace.serve.render.reconcile import compare
from millrace.serve.render.registry import Change, FileEntry, RenderedService, RenderPart, Settled
from millrace.system import net
from millrace.system.errors import Failed
from millrace.system.names import several
from millrace.system.run import Runner, must
from millrace.system.wait import wait_until

NETWORKD, RESOLVED, TIMESYNCD = "systemd-networkd.service", "systemd-resolved.service", "systemd-timesyncd.service"

# Seconds. Asking whether another host has an address (RFC 5227) takes up to 7; a link may have to come up first.
PATIENCE, PAUSE = 45.0, 0.5

ETHERNET_MTU = 1500
"""Bytes. networkd leaves an MTU that no file names any more as it is."""


@dataclass
class AddressChange(RenderPart):
    """The links of a change; their addresses are up before anything is served on them.

    In a `trial` the files are in /run, which a power cut forgets.
    """

    run: Runner
    pause: Callable[[float], None]
    trial: bool = False
    _links: list[NetworkLink] = field(default_factory=list)
    _changed: list[str] = field(default_factory=list)
    _configs: list[Config] = field(default_factory=list)

    def prepare(self, change: Change) -> None:
        """Find the links that change; warn of ports that are not in this server."""
        old, new = change.old, change.new
        before, after = files.texts(old), files.texts(new)
        # What a change that was killed wrote is in no state.
        left = {
            difference.entry.path
            for difference in compare([service(old)])
            if difference.found and difference.differs and not difference.edited
        }
        every = list(dict.fromkeys([*before, *after, *files.on_disk()]))
        trial = set(files.on_disk(trial=True))

        def differs(link: str) -> bool:
            # What was tried is in force; where it is confirmed, so is its file in /etc.
            stale = not self.trial and link in trial
            return stale or _text(before.get(link)) != _text(after.get(link))

        changed = [each for each in every if differs(each) or files.file_name(each) in left]
        self._configs = [old, new]
        self._links = links(self.run) if changed else []
        absent = {files.stem(port.mac) for port in new.ports if now_of(port, self._links) is None}
        self._changed = [each for each in changed if each not in absent]
        away = [port for port in new.ports if files.stem(port.mac) in absent and port not in old.ports]
        change.warnings += [
            f"port {port.name} ({port.mac}) is not present in this server: its addresses are not set" for port in away
        ]

    def services(self, config: Config) -> Sequence[RenderedService]:
        """Return the files of the links that change, those of name and time servers, and the units that read them."""
        entries = []
        for link in self._changed:
            if self.trial:
                entries += files.trial_entries(link, config)
            else:
                entries += [*files.entries(link, config), *files.no_trial_entries(link)]
        return [
            RenderedService(NETWORKD, entries, lambda settled: self._reload(settled, config)),
            *servers(config, self.run, self.trial, [each.network for each in self._configs]),
        ]

    def verify(self, change: Change) -> None:
        """Wait until the links are as they were decided. Failed: one does not come up."""
        wanted = [link for link in change.new.links if self._is_changed(link)]
        if wanted:
            change.verified += self._wait(wanted, change.new)
        for link in change.new.ports:
            before = now_of(link, self._links) if self._is_changed(link) else None
            change.warnings += _lost(before, link) if before else []

    def _is_changed(self, link: DesiredLink) -> bool:
        return (files.stem(link.mac) if isinstance(link, DesiredPort) else link.name) in self._changed

    def _reload(self, settled: Settled, config: Config) -> bool:
        if not self._changed or not any("systemd/network/" in path for path in settled.changed):
            return False
        must(self.run, ["networkctl", "reload"])
        there = {link.name for link in links(self.run)}
        kept = {each.name for each in (*config.network.bonds, *config.network.vlans)}
        for each in (each for state in self._configs for each in (*state.network.vlans, *state.network.bonds)):
            if each.name in there - kept:
                must(self.run, ["networkctl", "delete", each.name])
                there.discard(each.name)
        for link in self._links:
            if link.name in there and self._had_mtu(link) and not _has_mtu(link, config):
                net.set_mtu(link.name, ETHERNET_MTU, self.run)
        names = [link.name for link in self._links if link.name in there and self._reads(link)]
        if names:
            must(self.run, ["networkctl", "reconfigure", *names])
        return True

    def _reads(self, link: NetworkLink) -> bool:
        return (files.stem(link.mac) if link.kind == "port" else link.name) in self._changed

    def _had_mtu(self, link: NetworkLink) -> bool:
        return self._reads(link) and any(_has_mtu(link, state) for state in self._configs)

    def _wait(self, wanted: Sequence[DesiredLink], config: Config) -> list[str]:
        def read_links() -> list[NetworkLink]:
            return links(self.run)

        def problem(now: Sequence[NetworkLink]) -> str | None:
            return next((said for link in wanted if (said := _problem(link, config, now))), None)

        pauses = [PAUSE] * round(PATIENCE / PAUSE)
        now = wait_until(read_links, lambda seen: problem(seen) is None, pauses, self.pause)
        if complaint := problem(now):
            raise Failed(complaint)
        return [said for link in wanted for said in _words(link, config, now)]


class ConfirmedFiles(RenderPart):
    """The files of a change that was tried: written for good; what they say is in force already."""

    def services(self, config: Config) -> Sequence[RenderedService]:
        """Return all files under /etc, for readers that need not read them again."""
        made = [
            one
            for link in (*config.network.bonds, *config.network.vlans)
            for one in files.no_trial_entries(link.name)
            if one.path.endswith(".netdev")
        ]
        return [service(config), RenderedService(NETWORKD, made)]


def service(config: Config) -> RenderedService:
    """Return all files of a state, to compare and to keep; a change writes those of the links that change."""
    names = dict.fromkeys([*files.texts(config), *files.on_disk()])
    entries = [entry for link in names for entry in files.entries(link, config)]
    return RenderedService(
        NETWORKD, [*entries, files.dns_entry(config, trial=False), files.ntp_entry(config, trial=False)]
    )


def servers(config: Config, run: Runner, trial: bool, states: Iterable[object]) -> list[RenderedService]:
    """Return the files of name servers and time servers, which are reloaded where one of the files changes."""
    if trial and len(set(map(repr, states))) == 1:
        return []
    return [
        RenderedService(unit, [make(config, trial), *_reset(make, config, trial)], _reloading(unit, words, run))
        for unit, words, make in (
            (RESOLVED, "reload-or-restart", files.dns_entry),
            (TIMESYNCD, "try-restart", files.ntp_entry),
        )
    ]


def _reset(make: Callable[[Config, bool], FileEntry], config: Config, trial: bool) -> list[FileEntry]:
    """The file of a trial is gone where nothing is tried."""
    return [] if trial else [FileEntry(make(config, True).path, str, when=False, recorded=False)]


def _reloading(unit: str, words: str, run: Runner) -> Callable[[Settled], bool]:
    def reload(settled: Settled) -> bool:
        mine = {RESOLVED: (files.DNS, files.TRIAL_DNS), TIMESYNCD: (files.NTP, files.TRIAL_NTP)}[unit]
        if not set(mine) & set(settled.changed):
            return False
        must(run, ["systemctl", words, unit])
        return True

    return reload


def missing(wanted: DesiredLink, link: NetworkLink | None) -> list[str]:
    """Return the fixed addresses that a link lacks; all where the link itself is missing."""
    there = {ip_interface(one) for one in link.addresses} if link else set()
    return [one for one in wanted.addresses if ip_interface(one) not in there]


def wrong_mtu(wanted: DesiredLink, config: Config, link: NetworkLink) -> int | None:
    """Return the MTU that a link should have and has not, in bytes; None where it is right or nobody decided."""
    size = files.mtu_of(wanted, config)
    return size if size is not None and link.mtu != size else None


def _text(make: Callable[[], files.LinkTexts] | None) -> files.LinkTexts | None:
    return make() if make else None


def _has_mtu(link: NetworkLink, config: Config) -> bool:
    own = link.mac if link.kind == "port" else link.name
    decided = [one for one in config.links if (one.mac if isinstance(one, DesiredPort) else one.name) == own]
    return any(one.mtu for one in decided) or any(one.mtu and one.parent == own for one in config.network.vlans)


def _problem(wanted: DesiredLink, config: Config, now: Sequence[NetworkLink]) -> str | None:
    link = now_of(wanted, now)
    if link is None:
        return f"{wanted.name} was not created in {PATIENCE:.0f} s: journalctl -u systemd-networkd"
    if isinstance(wanted, DesiredBond):
        said = _bond_problem(wanted, link)
        if said:
            return said
    if lacking := missing(wanted, link):
        if not link.carrier:
            return (
                f"{wanted.name} has no link, so {several(lacking)} cannot come up: connect a cable and switch the "
                "other end on"
            )
        return (
            f"{several(lacking)} did not come up on {wanted.name} in {PATIENCE:.0f} s: does another host have it "
            "already? journalctl -u systemd-networkd"
        )
    if size := wrong_mtu(wanted, config, link):
        return f"{wanted.name} did not take the MTU {size}, it has {link.mtu}: its driver or its VLANs do not allow it"
    return None


def _bond_problem(wanted: DesiredBond, link: NetworkLink) -> str | None:
    if len(link.members) < len(wanted.members):
        return (
            f"{wanted.name} has {len(link.members)} of {len(wanted.members)} ports after {PATIENCE:.0f} s: "
            "journalctl -u systemd-networkd"
        )
    unknown = [member for member in link.members if net.has_carrier(member) and net.speed(member) is None]
    if wanted.mode == "lacp" and unknown:
        # bonding (bond_miimon_commit) takes such a port for one that is down
        return f"the speed of {several(unknown)} is not known, which LACP needs: use --mode active-backup"
    if not link.active:
        return f"no port of {wanted.name} has a link: connect its cables and switch the other end on"
    if wanted.mode == "lacp" and link.partner is None:
        return (
            f"no LACP partner responds on {several(link.members)}: switch LACP on at the switch for these ports, or "
            "use --mode active-backup"
        )
    return None


def _words(wanted: DesiredLink, config: Config, now: Sequence[NetworkLink]) -> list[str]:
    size = files.mtu_of(wanted, config)
    link = now_of(wanted, now)
    said = [f"{wanted.name} has {several(wanted.addresses)}"] if wanted.addresses else []
    said += [f"{wanted.name} has MTU {size}"] if size else []
    if isinstance(wanted, DesiredBond) and link:
        partner = f", the LACP partner is {link.partner}" if link.partner else ""
        said.append(f"{wanted.name} uses {several(link.active)}{partner}")
    return said


def _lost(link: NetworkLink, wanted: DesiredPort) -> list[str]:
    gone = [] if wanted.dhcp else [one for one in link.addresses if one not in wanted.addresses]
    return [f"{link.name} had {several(gone)}: clients that use it must mount another address"] if gone else []
