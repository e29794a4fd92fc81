# SPDX-License-Identifier: Apache-2.0
"""Addresses with a listener, from the kernel's table of sockets."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from millrace import paths

NFS_PORT, SMB_PORT = 2049, 445

_LISTEN = "0A"  # TCP_LISTEN in /proc/net/tcp

Address = IPv4Address | IPv6Address


def not_listening(addresses: Iterable[Address], port: int) -> list[Address]:
    """Return those of `addresses` that have no listener on a TCP port."""
    found = _listening_on(port)
    # A socket on :: takes IPv4 as well, unless it says otherwise; nfsd and smbd open one of each kind.
    everywhere = {4: ip_address("0.0.0.0"), 6: ip_address("::")}
    return [one for one in addresses if one not in found and everywhere[one.version] not in found]


def _listening_on(port: int) -> set[Address]:
    found: set[Address] = set()
    for name in ("tcp", "tcp6"):
        path = paths.ROOT / "proc/net" / name
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            fields = line.split()
            address, _, number = fields[1].partition(":")
            if fields[3] == _LISTEN and int(number, 16) == port:
                found.add(_address(address))
    return found


def _address(text: str) -> Address:
    """The kernel writes 32-bit words in the order of the CPU, which is little-endian."""
    words = [bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8)]
    return ip_address(b"".join(words))
