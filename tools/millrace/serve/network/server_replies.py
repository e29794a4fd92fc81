# SPDX-License-Identifier: Apache-2.0
"""Whether name servers and time servers respond: one datagram to each, and nothing of the reply is used."""

import socket
from collections.abc import Callable

Answers = Callable[[str], bool]

SECONDS = 2.0
DNS_PORT, NTP_PORT = 53, 123

# RFC 1035: a query with recursion for the name servers of the root. RFC 5905: version 4, mode 3 (client).
_QUERY = bytes.fromhex("4d52 0100 0001 0000 0000 0000 00 0002 0001")
_TIME = bytes([0x23]) + bytes(47)


def dns(address: str) -> bool:
    """Whether a name server responds."""
    return _responds(address, DNS_PORT, _QUERY)


def ntp(host: str) -> bool:
    """Whether a time server responds; one whose name is not known does not."""
    return _responds(host, NTP_PORT, _TIME)


def _responds(host: str, port: int, question: bytes) -> bool:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as asked:
            asked.settimeout(SECONDS)
            # connected: the kernel drops what another host sends
            asked.connect(address)
            asked.send(question)
            return len(asked.recv(1)) == 1
    except OSError:
        return False
