# SPDX-License-Identifier: Apache-2.0
"""This server's own CA, and the next one: clients are given both for months before the next one takes over."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

from millrace.serve.certificate import files, pem, x509
from millrace.serve.certificate.identity import (
    LOOPBACK_ADDRESSES,
    LOOPBACK_NAMES,
    PRIVATE_NETWORKS,
    ServerIdentity,
    days_left,
    is_early,
)
from millrace.serve.certificate.model import Succession
from millrace.system import ages
from millrace.system.documents import write_model
from millrace.system.errors import Refused
from millrace.system.files import write_text

VALIDITY = timedelta(days=730)
# The next CA is made so many days before the end of the present one, and takes over so many days before it: later
# than that a certificate would end with its CA before it is renewed.
SUCCESSOR_DAYS, TAKEOVER_DAYS = 180, 45
# Clients have this time to import the next CA.
OVERLAP = timedelta(days=SUCCESSOR_DAYS - TAKEOVER_DAYS)
# No client relies on a CA that is this new: it is replaced at once when the server gets its name.
NEW = timedelta(days=1)

Pair = tuple[Path, Path]


def ensure(server: ServerIdentity, replace: bool = False) -> bool:
    """Create the CA, its successor in time, and the certificate for verification; return whether another CA is in use.

    `replace` makes another CA without a successor: the keys of before count as stolen. A CA that is not valid yet, made
    by a clock that was ahead, counts as missing: no client trusts it.
    """
    certificate = files.authority()[0]
    before = certificate.read_text() if certificate.exists() else None
    if replace:
        _remove(files.successor(), files.previous())
        _create(files.authority(), server)
    else:
        _recover()
        if not _is_usable(files.authority()) or _is_new_and_elsewhere(server):
            if _has_ended(files.authority()):
                # or the clock is years ahead: it returns then
                _copy(files.authority(), files.previous())
            _remove(files.successor())
            _create(files.authority(), server)
        _succeed(server)
    changed = certificate.read_text() != before
    _certify_verification(server, changed)
    _trust()
    return changed


def take_over_now() -> None:
    """Let the next CA take over before its day. Refused: there is none."""
    if not _is_usable(files.successor()):
        raise Refused("there is no next CA: it is made half a year before the present one ends, or with --authority")
    _take_over()


def pair() -> tuple[str, str]:
    """Return certificate and key of the CA in use."""
    certificate, key = files.authority()
    return certificate.read_text(), key.read_text()


def certifiable(server: ServerIdentity) -> ServerIdentity:
    """Return the names and addresses of a server that the CA in use may certify; the others wait for the next CA."""
    foreign = _foreign(files.authority()[0].read_text(), server)
    names = [name for name in server.names if name not in foreign]
    return ServerIdentity(names, [address for address in server.addresses if address not in foreign], server.networks)


def _create(target: Pair, server: ServerIdentity) -> None:
    certificate, key = target
    # Every server's CA has a name of its own: clients distinguish the CAs of several servers by it.
    name = f"Millrace authority {server.common_name[:36]} {secrets.token_hex(4)}"
    made = x509.new_key()
    private = [ip_network(text) for text in PRIVATE_NETWORKS]
    public = [text for text in server.networks if not any(_is_within(text, network) for network in private)]
    domains = list(dict.fromkeys([*server.names, *LOOPBACK_NAMES]))
    made_text = x509.issue("authority", made, name, domains, [*PRIVATE_NETWORKS, *public], VALIDITY, None)
    # The certificate last: without it all is made again after a power cut.
    _unlink(certificate)
    write_text(key, made, mode=files.PRIVATE)
    write_text(certificate, made_text)


def _is_within(text: str, network: "x509.Network") -> bool:
    inner = ip_network(text)
    return inner.version == network.version and inner.network_address in network


def _is_usable(target: Pair) -> bool:
    certificate, key = target
    if not certificate.exists() or not key.exists():
        return False
    described = x509.describe(certificate.read_text())
    return not is_early(described) and days_left(described) >= 0


def _has_ended(target: Pair) -> bool:
    return all(path.exists() for path in target) and days_left(x509.describe(target[0].read_text())) < 0


def _recover() -> None:
    """Finish a takeover that a power cut interrupted; return to the CA before one of a clock that was ahead."""
    certificate, successor = files.authority()[0], files.successor()[0]
    if successor.exists() and not certificate.exists():
        _take_over()
    elif successor.exists() and successor.read_text() == certificate.read_text():
        _remove(files.successor())
    if not _is_usable(files.authority()) and _is_usable(files.previous()):
        _copy(files.previous(), files.authority())
        _remove(files.successor())


def _is_new_and_elsewhere(server: ServerIdentity) -> bool:
    text = files.authority()[0].read_text()
    made = ages.when(x509.describe(text).not_before) + x509.EARLIER
    return bool(_foreign(text, server)) and ages.is_recent(made, NEW)


def _succeed(server: ServerIdentity) -> None:
    """Make the next CA where the present one ends soon, may certify everything, or not what this server is called."""
    text, now = files.authority()[0].read_text(), datetime.now(UTC)
    present, foreign = x509.describe(text), _foreign(text, server)
    last = ages.when(present.not_after) - timedelta(days=TAKEOVER_DAYS)
    # Releases before constraints made a CA for 20 years.
    if not foreign and x509.is_constrained(text) and last - now > OVERLAP:
        _remove(files.successor())
        return
    # Later than that clients could not import another one in time: what it may not certify waits for the one after it.
    is_early_enough = last - now > OVERLAP
    if not _is_usable(files.successor()) or (is_early_enough and _foreign(files.successor()[0].read_text(), server)):
        _create(files.successor(), server)
    text = files.successor()[0].read_text()
    succeeding, later = x509.describe(text), _foreign(text, server)
    waiting = [name for name in foreign if name not in later]
    day = min(last, ages.when(succeeding.not_before) + x509.EARLIER + OVERLAP)
    if day <= now:
        _take_over()
        return
    stamp = day.isoformat(timespec="seconds")
    write_model(files.succession_file(), Succession(takes_over=stamp, authority=succeeding, waiting=waiting))


def _take_over() -> None:
    if files.authority()[0].exists():
        _copy(files.authority(), files.previous())
    # Without it the next start takes over again.
    _unlink(files.authority()[0])
    _copy(files.successor(), files.authority())
    _remove(files.successor())


def _copy(source: Pair, target: Pair) -> None:
    """The certificate last: a pair without it counts as missing."""
    _unlink(target[0])
    write_text(target[1], source[1].read_text(), mode=files.PRIVATE)
    write_text(target[0], source[0].read_text())


def _remove(*pairs: Pair) -> None:
    for certificate, key in pairs:
        _unlink(certificate, key)
    if not files.successor()[0].exists():
        _unlink(files.succession_file())


def _unlink(*paths: Path) -> None:
    # A boot drive that is read-only refuses even what is not there.
    for path in paths:
        if path.exists():
            path.unlink()


def _foreign(text: str, server: ServerIdentity) -> Sequence[str]:
    return x509.outside(text, server.names, server.addresses)


def _certify_verification(server: ServerIdentity, changed: bool) -> None:
    certificate, key = files.loopback_pair()
    if not changed and certificate.exists() and key.exists():
        described = x509.describe(certificate.read_text())
        if not is_early(described) and described.issuer == x509.describe(pair()[0]).subject:
            return
    made = x509.new_key()
    # A name that the CA may certify: GnuTLS compares the common name where there is none.
    issued = x509.issue(
        "look",
        made,
        f"Millrace look {server.common_name[:48]}",
        LOOPBACK_NAMES,
        LOOPBACK_ADDRESSES,
        VALIDITY,
        pair(),
    )
    _unlink(certificate)
    write_text(key, made, mode=files.PRIVATE)
    write_text(certificate, issued)


def _trust() -> None:
    """tlshd takes every authority of the system where its own file is missing or empty: it never is."""
    others = pem.certificates(files.trusted().read_text())[1:] if files.trusted().exists() else []
    write_text(files.trusted(), pair()[0] + "".join(others))
    lists = pem.revocation_lists(files.revoked().read_text()) if files.revoked().exists() else []
    if not lists or not x509.revoked_by(lists[0], pair()[0]):
        write_text(files.revoked(), "".join([x509.no_revocations(pair()), *lists[1:]]))
