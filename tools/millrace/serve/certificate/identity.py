# SPDX-License-Identifier: Apache-2.0
"""The names and addresses under which clients know this server."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from millrace.serve.certificate.model import Certificate, Current
from millrace.system import ages, net, paths
from millrace.system.errors import BadInput
from millrace.system.names import host_name
from millrace.system.net import Interface
from millrace.system.text import shown

# How a server reaches itself.
LOOPBACK_NAMES, LOOPBACK_ADDRESSES = ["localhost"], ["127.0.0.1", "::1"]

Ports = Callable[[], Sequence[Interface]]


@dataclass(frozen=True)
class ServerIdentity:
    """Names and addresses of a server. The host name comes first, in full where it has a domain."""

    names: list[str]
    addresses: list[str]

    @property
    def common_name(self) -> str:
        """The common name, which X.509 limits to 64 characters."""
        return self.names[0].partition(".")[0][:64]


def identity(further: Sequence[str], ports: Ports = net.serving) -> ServerIdentity:
    """Return the identity of this server now; `further` are additional names."""
    host = (paths.ROOT / "proc/sys/kernel/hostname").read_text().strip().lower()
    short = host.partition(".")[0]
    names = [host, short, f"{short}.local", *further]
    addresses = [str(address.ip) for port in ports() for address in port.addresses]
    return ServerIdentity(list(dict.fromkeys(names)), list(dict.fromkeys(addresses)))


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


def not_named(used: Current, server: ServerIdentity) -> list[str]:
    """Return what clients will miss: all that an own certificate lacks, or another one that covers nothing any more."""
    if used.origin == "own":
        return missing(used.certificate, server)
    still = covers(used.certificate, server)
    return missing(used.certificate, server) if used.covers and not still else []
