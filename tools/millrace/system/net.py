# SPDX-License-Identifier: Apache-2.0
"""The addresses on which clients reach this server: those of its physical ports, also through a bond or a VLAN."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from pathlib import Path
from typing import Any

from millrace.system import paths, sysfs
from millrace.system.errors import Failed
from millrace.system.run import Runner, must, quickly

# As /proc/fs/nfsd/portlist has it.
RDMA_LISTENER = "rdma 20049"

Address = IPv4Interface | IPv6Interface
# An interface as iproute2 describes it, with its addresses in `addr_info`.
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Interface:
    """One network interface with the addresses that a client can use, IPv4 first. `speed` in Mbit/s if known.

    `mac` is that of the port itself; none for a bond or a VLAN, which is no port. `leased` are the addresses that
    another host gave for a time: DHCP, or a router's advertisement. `rdma`: an RDMA device answers on these addresses.
    """

    name: str
    addresses: list[Address]
    carrier: bool
    speed: int | None
    mac: str | None = None
    leased: frozenset[Address] = frozenset()
    rdma: bool = False


def entries(run: Runner = quickly) -> list[Entry]:
    """Return every interface with its addresses. Failed: iproute2 does not list them."""
    try:
        found: list[Entry] = json.loads(must(run, ["ip", "-j", "addr"]))
    except ValueError as error:
        raise Failed(f"ip -j addr printed something that is not JSON: {error}") from error
    return found


def serving(found: Sequence[Entry] | None = None) -> list[Interface]:
    """Return the interfaces of physical ports that carry a usable address, by name. Failed: see `entries`."""
    every = entries() if found is None else found
    over_rdma = _of_rdma_devices()
    usable = [_interface(entry, over_rdma) for entry in every if _is_physical(entry["ifname"])]
    return sorted((one for one in usable if one.addresses), key=lambda one: one.name)


def for_clients(found: Iterable[Interface], management: Collection[str]) -> list[Interface]:
    """Return those that serve clients: all but the management ports, which are named by their MAC addresses."""
    return [one for one in found if one.mac not in management]


def has_rdma_device() -> bool:
    """Whether any RDMA device is registered, hardware or soft-RoCE."""
    directory = paths.ROOT / "sys/class/infiniband"
    return directory.is_dir() and any(directory.iterdir())


def rdma_devices() -> dict[str, frozenset[str]]:
    """Return each RDMA device with its interfaces: those of the same card, below soft-RoCE, or with a GID."""
    return {device.name: _interfaces(device) for device in sorted((paths.ROOT / "sys/class/infiniband").glob("*"))}


def directory(name: str) -> Path:
    """Return the directory of an interface in sysfs."""
    return paths.ROOT / "sys/class/net" / name


def is_port(name: str) -> bool:
    """Whether an interface is a port; a bond or a VLAN has no device."""
    return (directory(name) / "device").exists()


def has_carrier(name: str) -> bool:
    """Whether the link of an interface is up."""
    return sysfs.text(directory(name) / "carrier") == "1"


def speed(name: str) -> int | None:
    """Return the speed of an interface in Mbit/s; None where it is down or its driver does not know."""
    found = sysfs.number(directory(name) / "speed")
    return found if found and found > 0 else None


def own_mac(entry: Entry) -> str:
    """Return the MAC address that a port was made with: ports of a bond all show the same `address`."""
    return str(entry.get("permaddr") or entry.get("address", ""))


def _of_rdma_devices() -> frozenset[str]:
    return frozenset(name for one in rdma_devices().values() for name in one)


def _interfaces(device: Path) -> frozenset[str]:
    known = [device / "parent", *device.glob("ports/*/gid_attrs/ndevs/*")]
    return frozenset([*sysfs.names(device / "device/net"), *filter(None, map(sysfs.text, known))])


def _has_rdma(name: str, over_rdma: Collection[str]) -> bool:
    """A bond or a VLAN has RDMA where something below it has."""
    return name in over_rdma or any(_has_rdma(one, over_rdma) for one in _below(name))


def _interface(entry: Entry, over_rdma: Collection[str]) -> Interface:
    name = str(entry["ifname"])
    usable = [address for address in entry.get("addr_info", []) if _is_usable(address)]
    return Interface(
        name,
        sorted((_address(address) for address in usable), key=lambda address: (address.version, address)),
        has_carrier(name),
        speed(name),
        own_mac(entry) if is_port(name) else None,
        # The kernel's flag for an address with an end (IFA_F_PERMANENT is not set); what networkd was given has none.
        frozenset(_address(address) for address in usable if address.get("dynamic")),
        _has_rdma(name, over_rdma),
    )


def _address(entry: Entry) -> Address:
    return ip_interface(f"{entry['local']}/{entry['prefixlen']}")


def _is_usable(entry: Entry) -> bool:
    # Deprecated and temporary addresses go away under a mount; tentative ones may turn out to be someone else's.
    gone_soon = any(entry.get(flag) for flag in ("deprecated", "temporary", "tentative"))
    return "local" in entry and entry.get("scope") == "global" and not gone_soon


def _is_physical(name: str) -> bool:
    """A port has a device; a bond, bridge or VLAN is physical where something below it is."""
    if is_port(name):
        return True
    return any(_is_physical(one) for one in _below(name))


def _below(name: str) -> list[str]:
    """Return the interfaces that a bond, bridge or VLAN is made of."""
    return [link.name.removeprefix("lower_") for link in directory(name).glob("lower_*")]


def most_mtu(name: str, run: Runner = quickly) -> int | None:
    """Return the largest MTU that the driver of an interface takes, in bytes; None where it does not say."""
    result = run(["ip", "-d", "-j", "link", "show", "dev", name])
    try:
        found = json.loads(result.out or "[]")
        return int(found[0]["max_mtu"]) or None
    except (ValueError, LookupError, TypeError):
        return None


def set_mtu(name: str, size: int, run: Runner) -> None:
    """Set the MTU of an interface now, in bytes. Failed: the driver refuses it."""
    must(run, ["ip", "link", "set", "dev", name, "mtu", str(size)])


def link_to(address: str, run: Runner = quickly) -> str | None:
    """Return the interface through which packets to an address leave; None where no route leads to it."""
    result = run(["ip", "-j", "route", "get", address])
    try:
        found = json.loads(result.out or "[]")
        return str(found[0]["dev"])
    except (ValueError, LookupError, TypeError):
        return None
