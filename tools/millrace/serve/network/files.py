# SPDX-License-Identifier: Apache-2.0
"""The files that systemd-networkd, systemd-resolved and systemd-timesyncd read, as texts of a desired state.

A change is tried with files in /run, which a power cut forgets; a confirmed one has its files in /etc. Those in /run
come first for as long as they are there, and say the same.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path

from millrace.serve.config.model import Config
from millrace.serve.config.network import DesiredBond, DesiredLink, DesiredPort, networks
from millrace.serve.render.registry import FileEntry
from millrace.system import net, paths, sysfs

# Before 50-…, where credentials put theirs, and 80-millrace-dhcp.network: the first file that matches counts.
DIRECTORY, PREFIX = "etc/systemd/network", "40-millrace-"
TRIAL_DIRECTORY, TRIAL_PREFIX = "run/systemd/network", "30-millrace-"

DNS, TRIAL_DNS = "etc/systemd/resolved.conf.d/50-millrace.conf", "run/systemd/resolved.conf.d/60-millrace-trial.conf"
NTP, TRIAL_NTP = "etc/systemd/timesyncd.conf.d/50-millrace.conf", "run/systemd/timesyncd.conf.d/60-millrace-trial.conf"

_SECTION = re.compile(r"^\[(\w+)\]\s*$", re.MULTILINE)
_DEFAULT = "[Network]\nDHCP=yes\n"


@dataclass(frozen=True)
class LinkTexts:
    """The texts of one link; `netdev` makes a bond or a VLAN, a port has none."""

    network: str
    netdev: str | None = None


def stem(mac: str) -> str:
    """Return what the files of a port are called, by its MAC address; those of other links have their names."""
    return mac.replace(":", "")


def file_name(link: str, suffix: str = "network", trial: bool = False) -> str:
    """Return the path of a file of a link, below the root."""
    start = f"{TRIAL_DIRECTORY}/{TRIAL_PREFIX}" if trial else f"{DIRECTORY}/{PREFIX}"
    return f"{start}{link}.{suffix}"


def texts(config: Config) -> dict[str, Callable[[], LinkTexts]]:
    """Return what makes the texts of each link that has files, by what they are called."""
    present: dict[str, Callable[[], LinkTexts]] = {}
    bonds, vlans = config.network.bonds, config.network.vlans
    for bond in bonds:
        for port in bond.members:
            present[stem(port.mac)] = partial(_member, port.mac, bond)
    parents = [each.parent for each in vlans if ":" in each.parent]
    for mac in dict.fromkeys([*(port.mac for port in config.ports), *parents]):
        present[stem(mac)] = partial(_port, mac, config)
    for link in [*bonds, *vlans]:
        present[link.name] = partial(_made, link, config)
    return present


def on_disk(trial: bool = False) -> list[str]:
    """Return what the files are called that links have now."""
    directory, prefix = (TRIAL_DIRECTORY, TRIAL_PREFIX) if trial else (DIRECTORY, PREFIX)
    place = paths.ROOT / directory
    files = sorted(place.glob(f"{prefix}*.network")) if place.is_dir() else []
    return [path.stem.removeprefix(prefix) for path in files]


def entries(link: str, config: Config) -> list[FileEntry]:
    """Return the confirmed files of a link, which are absent where nothing was decided."""
    make = texts(config).get(link)
    made = _is_made(link, config)
    return [
        FileEntry(file_name(link, "netdev"), partial(_netdev, make), when=made),
        FileEntry(file_name(link), partial(_network, make), when=make is not None),
    ]


def trial_entries(link: str, config: Config) -> list[FileEntry]:
    """Return the files of a link for a trial: a port on which nothing is decided gets what it would have without us."""
    make = texts(config).get(link)
    made = _is_made(link, config)
    # networkd complains of two files that make one link
    confirmed = (paths.ROOT / file_name(link, "netdev")).exists()
    port = re.fullmatch("[0-9a-f]{12}", link) is not None
    bare = partial(_undecided, ":".join(link[at : at + 2] for at in range(0, 12, 2)))
    return [
        FileEntry(file_name(link, "netdev", True), partial(_netdev, make), when=made and not confirmed, recorded=False),
        FileEntry(
            file_name(link, trial=True),
            partial(_network, make or bare),
            when=make is not None or port,
            recorded=False,
        ),
    ]


def no_trial_entries(link: str) -> list[FileEntry]:
    """Return the files of a trial as absent."""
    return [
        FileEntry(file_name(link, suffix, True), str, when=False, recorded=False) for suffix in ("netdev", "network")
    ]


def dns_entry(config: Config, trial: bool) -> FileEntry:
    """Return the file of the name servers. In a trial it is always there, since an empty list must win, too."""
    return _servers(TRIAL_DNS if trial else DNS, DNS, config, trial or bool(config.network.dns + config.network.search))


def ntp_entry(config: Config, trial: bool) -> FileEntry:
    """Return the file of the time servers; see `dns_entry`."""
    return _servers(TRIAL_NTP if trial else NTP, NTP, config, trial or bool(config.network.ntp))


def mtu_of(link: DesiredLink, config: Config) -> int | None:
    """Return the MTU that a link needs, in bytes: its own, else that of the VLANs on it; None is the driver's."""
    own = link.mac if isinstance(link, DesiredPort) else link.name
    return link.mtu or _mtu_of_vlans(own, config)


def _servers(path: str, template: str, config: Config, when: bool) -> FileEntry:
    return FileEntry(path, partial(_render, template, network=config.network), when=when, recorded=path[0] != "r")


def _is_made(link: str, config: Config) -> bool:
    return any(one.name == link for one in (*config.network.bonds, *config.network.vlans))


def _netdev(make: Callable[[], LinkTexts] | None) -> str:
    return (make().netdev if make else None) or ""


def _network(make: Callable[[], LinkTexts] | None) -> str:
    return make().network if make else ""


def _mtu_of_vlans(parent: str, config: Config) -> int | None:
    return max((one.mtu for one in config.network.vlans if one.parent == parent and one.mtu), default=None)


def _port(mac: str, config: Config) -> LinkTexts:
    vlans = [one.name for one in config.network.vlans if one.parent == mac]
    port = config.port(mac)
    mtu = mtu_of(port, config) if port else _mtu_of_vlans(mac, config)
    if port is None:
        return LinkTexts(_port_text(mac, None, mtu, vlans, rest=_rest(mac)))
    return LinkTexts(_port_text(mac, port, mtu, vlans, _routes(port, config)))


def _undecided(mac: str) -> LinkTexts:
    return LinkTexts(_port_text(mac, None, None, [], rest=_rest(mac)))


def _member(mac: str, bond: DesiredBond) -> LinkTexts:
    return LinkTexts(_render(f"{DIRECTORY}/40-millrace-member.network", mac=mac, bond=bond))


def _port_text(
    mac: str, link: DesiredPort | None, mtu: int | None, vlans: list[str], routes: object = (), rest: str = ""
) -> str:
    match = f"PermanentMACAddress={mac}\nType=ether\nKind=!*"
    return _link_text(match, link, mtu, vlans, routes, rest)


def _link_text(
    match: str, link: DesiredLink | None, mtu: int | None, vlans: list[str], routes: object, rest: str = ""
) -> str:
    return _render(
        f"{DIRECTORY}/40-millrace.network", match=match, link=link, mtu=mtu, vlans=vlans, routes=routes, rest=rest
    )


def _made(link: DesiredLink, config: Config) -> LinkTexts:
    vlans = [one.name for one in config.network.vlans if one.parent == link.name]
    kind = "bond" if isinstance(link, DesiredBond) else "vlan"
    network = _link_text(f"Name={link.name}\nKind={kind}", link, mtu_of(link, config), vlans, _routes(link, config))
    return LinkTexts(network, _render(f"{DIRECTORY}/40-millrace.netdev", link=link, kind=kind))


def _routes(link: DesiredLink, config: Config) -> list[Mapping[str, str]]:
    return [
        {"network": one.network, "gateway": one.gateway}
        for one in config.network.routes
        if any(ip_address(one.gateway) in subnet for subnet in networks(link))
    ]


def _rest(mac: str) -> str:
    """Return what networkd would read for a port without our file, except the section that matches it."""
    name = next((path.name for path in _interfaces() if sysfs.text(path / "address") == mac), "")
    directories = (paths.ROOT / each for each in (DIRECTORY, TRIAL_DIRECTORY, "usr/lib/systemd/network"))
    # the first directory counts for files of one name
    files: dict[str, Path] = {}
    for path in (path for directory in directories for path in directory.glob("*.network")):
        files.setdefault(path.name, path)
    for file in sorted(set(files) - {each for each in files if each.startswith((PREFIX, TRIAL_PREFIX))}):
        sections = _SECTION.split((sysfs.content(files[file]) or b"").decode(errors="replace"))
        pairs = list(zip(sections[1::2], sections[2::2], strict=True))
        if any(section == "Match" and _matches(body, mac, name) for section, body in pairs):
            return "".join(f"[{section}]\n{body.strip()}\n\n" for section, body in pairs if section != "Match")
    return _DEFAULT


def _matches(body: str, mac: str, name: str) -> bool:
    from fnmatch import fnmatchcase

    keys = dict(line.strip().split("=", 1) for line in body.splitlines() if "=" in line and not line.startswith("#"))
    macs = f"{keys.get('MACAddress', '')} {keys.get('PermanentMACAddress', '')}".lower().split()
    if macs:
        return mac in macs
    if "Name" in keys:
        return any(fnmatchcase(name, pattern) for pattern in keys["Name"].split())
    return keys.get("Type") == "ether"


def _interfaces() -> list[Path]:
    place = net.directory("")
    return sorted(place.iterdir()) if place.is_dir() else []


def _render(path: str, **values: object) -> str:
    # Here and not above: health imports this module every 30 s and renders nothing.
    from millrace.system.render import render

    return render(f"{path}.j2", **values)
