# SPDX-License-Identifier: Apache-2.0
"""The kernel's table of TCP sockets over IPv4."""

from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path


def listen(root: Path, *sockets: str, established: Sequence[tuple[str, str]] = ()) -> None:
    """Write the table: sockets that listen, as `10.0.0.2:445`, then connections, each with this end and the other."""
    rows = [(_kernel(one), "00000000:0000", "0A") for one in sockets]
    rows += [(_kernel(here), _kernel(there), "01") for here, there in established]
    lines = [f"{number:4}: {here} {there} {state}" for number, (here, there, state) in enumerate(rows)]
    (root / "proc/net").mkdir(parents=True, exist_ok=True)
    (root / "proc/net/tcp").write_text("\n".join(["  sl  local_address rem_address   st", *lines]) + "\n")


def _kernel(socket: str) -> str:
    """As the kernel writes it: little-endian, in hexadecimal."""
    address, _, port = socket.rpartition(":")
    return f"{IPv4Address(address).packed[::-1].hex().upper()}:{int(port):04X}"
