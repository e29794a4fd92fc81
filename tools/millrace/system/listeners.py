# SPDX-License-Identifier: Apache-2.0
"""Addresses with a listener, from the kernel's table of sockets."""

from collections import Counter
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address

from millrace.system import paths

NFS_PORT, SMB_PORT = 2049, 445

_LISTEN, _ESTABLISHED = "0A", "01"  # TCP_LISTEN and TCP_ESTABLISHED in /proc/net/tcp

Address = IPv4Address | IPv6Address


def not_listening(addresses: Iterable[Address], port: int) -> list[Address]:
    """Return those of `addresses` that have no listener on a TCP port."""
    found = _listening_on(port)
    # A socket on :: takes IPv4 as well, unless it says otherwise; nfsd and smbd open one of each kind.
    everywhere = {4: ip_address("0.0.0.0"), 6: ip_address("::")}
    return [one for one in addresses if one not in found and everywhere[one.version] not in found]


def connected(port: int) -> Counter[Address]:
    """Return the addresses that have connections to a TCP port of this server, with how many they have."""
    return Counter(_address(remote.partition(":")[0]) for own, remote in _sockets(_ESTABLISHED) if _port(own) == port)


def served_on(port: int) -> set[Address]:
    """Return the own addresses on which connections to a TCP port of this server are established."""
    return {_plain(_address(own.partition(":")[0])) for own, _ in _sockets(_ESTABLISHED) if _port(own) == port}


def _plain(address: Address) -> Address:
    """A socket on :: has IPv4 addresses in those of IPv6."""
    return getattr(address, "ipv4_mapped", None) or address


def _listening_on(port: int) -> set[Address]:
    return {_address(own.partition(":")[0]) for own, _ in _sockets(_LISTEN) if _port(own) == port}


def _sockets(state: str) -> Iterator[tuple[str, str]]:
    """The own and the remote end of each socket in a state, as the kernel writes them."""
    for name in ("tcp", "tcp6"):
        path = paths.ROOT / "proc/net" / name
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            fields = line.split()
            if fields[3] == state:
                yield fields[1], fields[2]


def _port(end: str) -> int:
    return int(end.partition(":")[2], 16)


def _address(text: str) -> Address:
    """The kernel writes 32-bit words in the order of the CPU, which is little-endian."""
    words = [bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8)]
    return ip_address(b"".join(words))
