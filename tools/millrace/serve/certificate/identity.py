# SPDX-License-Identifier: Apache-2.0
"""The names and addresses under which clients know this server."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from millrace.serve.certificate.model import Certificate, Current
from millrace.system import ages, net, paths
from millrace.system.errors import BadInput
from millrace.system.names import host_name
from millrace.system.net import Interface
from millrace.system.text import shown

# How a server reaches itself.
LOOPBACK_NAMES, LOOPBACK_ADDRESSES = ["localhost"], ["127.0.0.1", "::1"]

# Networks that no name of the Internet leads to (RFC 1918, 3927, 4193, 4291, 6598): a server that moves between them
# needs no other CA.
PRIVATE_NETWORKS = [
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
]

Ports = Callable[[], Sequence[Interface]]


@dataclass(frozen=True)
class ServerIdentity:
    """Names and addresses of a server, and their networks. The host name comes first, in full where it has a domain."""

    names: list[str]
    addresses: list[str]
    networks: list[str] = field(default_factory=list)

    @property
    def common_name(self) -> str:
        """The common name, which X.509 limits to 64 characters."""
        return self.names[0].partition(".")[0][:64]


def identity(further: Sequence[str], ports: Ports = net.serving) -> ServerIdentity:
    """Return the identity of this server now; `further` are additional names."""
    host = (paths.ROOT / "proc/sys/kernel/hostname").read_text().strip().lower()
    short = host.partition(".")[0]
    names = [host, short, f"{short}.local", *further]
    used = [address for port in ports() for address in port.addresses]
    addresses, networks = [str(address.ip) for address in used], [str(address.network) for address in used]
    return ServerIdentity(*(list(dict.fromkeys(texts)) for texts in (names, addresses, networks)))


def checked_name(name: str) -> str:
    """Return an additional name. BadInput: it is no host name."""
    problem = host_name.problem(name)
    if problem is None and name[-1].isdigit():
        problem = f"{shown(name)} is not a host name: it ends in a digit, as an address does"
    if problem is not None:
        raise BadInput(problem)
    return name.lower()


def missing(certificate: Certificate, server: ServerIdentity) -> list[str]:
    """Return the names and addresses of this server that the certificate lacks."""
    covered = covers(certificate, server)
    return [one for one in [*server.names, *server.addresses] if one not in covered]


def covers(certificate: Certificate, server: ServerIdentity) -> list[str]:
    """Return the names and addresses of this server that the certificate has."""
    names = [one for one in server.names if any(matches(pattern, one) for pattern in certificate.names)]
    return [*names, *(one for one in server.addresses if one in certificate.addresses)]


def names_host(certificate: Certificate, host: str) -> bool:
    """Whether a client that mounts from `host` accepts the certificate."""
    return host in certificate.addresses or any(matches(one, host) for one in certificate.names)


def matches(pattern: str, name: str) -> bool:
    """Whether a name of a certificate covers `name`; a star stands for one whole label, the first (RFC 6125)."""
    pattern, name = pattern.lower(), name.lower()
    if pattern.startswith("*."):
        return "." in name and name.partition(".")[2] == pattern[2:]
    return pattern == name


def days_left(certificate: Certificate, now: datetime | None = None) -> int:
    """Return whole days until the certificate ends; negative after it."""
    return ages.until(certificate.not_after, now).days


def is_early(certificate: Certificate, now: datetime | None = None) -> bool:
    """Whether it is not valid yet: it was made while the clock was ahead, and the clock was corrected."""
    return ages.until(certificate.not_before, now) > timedelta()


def not_named(used: Current, server: ServerIdentity, waiting: Collection[str] = ()) -> list[str]:
    """Return what clients will miss: all that an own certificate lacks, or another one that covers nothing any more.

    `waiting` is what the own CA may not certify: another certificate of it would lack it too.
    """
    if used.origin == "own":
        return [lacking for lacking in missing(used.certificate, server) if lacking not in waiting]
    still = covers(used.certificate, server)
    return missing(used.certificate, server) if used.covers and not still else []
