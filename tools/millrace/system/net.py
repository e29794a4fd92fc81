# SPDX-License-Identifier: Apache-2.0
"""The addresses on which clients reach this server: those of its physical ports, also through a bond or a VLAN."""

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from pathlib import Path

from millrace import paths
from millrace.errors import Failed
from millrace.system.run import must, quickly

# As /proc/fs/nfsd/portlist has it.
RDMA_LISTENER = "rdma 20049"

Address = IPv4Interface | IPv6Interface


@dataclass(frozen=True)
class Interface:
    """One network interface with the addresses that a client can use, IPv4 first. `speed` in Mbit/s if known.

    `mac` is that of the port itself; none for a bond or a VLAN, which is no port. `leased` are the addresses that
    another host gave for a time: DHCP, or a router's advertisement.
    """

    name: str
    addresses: list[Address]
    carrier: bool
    speed: int | None
    mac: str | None = None
    leased: frozenset[Address] = frozenset()


def addresses_json() -> str:
    """Return the kernel's addresses as iproute2 prints them."""
    return must(quickly, ["ip", "-j", "addr"])


def serving(source: Callable[[], str] = addresses_json) -> list[Interface]:
    """Return interfaces of physical ports that carry a usable address, by name. Failed: they cannot be listed."""
    try:
        links = json.loads(source())
    except ValueError as error:
        raise Failed(f"ip -j addr printed something that is not JSON: {error}") from error
    found = [_interface(link) for link in links if _is_physical(link["ifname"])]
    return sorted((one for one in found if one.addresses), key=lambda one: one.name)


def for_clients(found: Iterable[Interface], management: Collection[str]) -> list[Interface]:
    """Return those that serve clients: all but the management ports, which are named by their MAC addresses."""
    return [one for one in found if one.mac not in management]


def has_rdma_device() -> bool:
    """Whether any RDMA device is registered, hardware or soft-RoCE."""
    directory = paths.ROOT / "sys/class/infiniband"
    return directory.is_dir() and any(directory.iterdir())


def _interface(link: dict[str, object]) -> Interface:
    name = str(link["ifname"])
    entries = link.get("addr_info")
    usable = [entry for entry in entries if _is_usable(entry)] if isinstance(entries, list) else []
    return Interface(
        name,
        sorted((_address(entry) for entry in usable), key=lambda address: (address.version, address)),
        _read(name, "carrier") == "1",
        _speed(name),
        # As in port/links.py: ports of a bond all show the same `address`.
        str(link.get("permaddr") or link.get("address", "")) if (_directory(name) / "device").exists() else None,
        # The kernel's flag for an address with an end (IFA_F_PERMANENT is not set); what networkd was given has none.
        frozenset(_address(entry) for entry in usable if entry.get("dynamic")),
    )


def _address(entry: dict[str, object]) -> Address:
    return ip_interface(f"{entry['local']}/{entry['prefixlen']}")


def _is_usable(entry: dict[str, object]) -> bool:
    # Deprecated and temporary addresses go away under a mount; tentative ones may turn out to be someone else's.
    gone_soon = any(entry.get(flag) for flag in ("deprecated", "temporary", "tentative"))
    return "local" in entry and entry.get("scope") == "global" and not gone_soon


def _is_physical(name: str) -> bool:
    """A port has a device; a bond, bridge or VLAN is physical where something below it is."""
    directory = _directory(name)
    if (directory / "device").exists():
        return True
    return any(_is_physical(link.name.removeprefix("lower_")) for link in directory.glob("lower_*"))


def _speed(name: str) -> int | None:
    text = _read(name, "speed")
    return int(text) if text.isdigit() and int(text) > 0 else None


def _read(name: str, attribute: str) -> str:
    # The kernel answers EINVAL where a port is down or its driver does not know.
    try:
        return (_directory(name) / attribute).read_text().strip()
    except OSError:
        return ""


def _directory(name: str) -> Path:
    return paths.ROOT / "sys/class/net" / name
