# SPDX-License-Identifier: Apache-2.0
"""Is the certificate of the web console and of NFS over TLS good for some time, and for this server?"""

import os
from datetime import timedelta

from millrace.observe.health.checks import nfs
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.policy import policy_in_force
from millrace.serve.certificate import cockpit, files, pem
from millrace.serve.certificate.identity import days_left, identity, is_early, not_named
from millrace.serve.certificate.model import Current
from millrace.serve.certificate.renew import RENEW_DAYS
from millrace.system import ages, paths
from millrace.system.names import several

NAME = "certificate"

_MAKE = "systemctl start millrace-certificate.service"
# The unit renews an own one before this.
SOON_DAYS = RENEW_DAYS - 3
# Days before another CA is used, from which on clients are reported that may lack it.
ANNOUNCE_DAYS = 30
NFS_CLIENTS = "clients of NFS over TLS"
# The first list is that of the own CA.
OTHERS = 2


def check(host: Host) -> list[HealthFinding]:
    """Check the certificate in use, with or without a pool."""
    used = files.find_current()
    if used is None:
        sentence = "This server has made no certificate: the web console makes one for localhost, NFS over TLS fails."
        return [HealthFinding(check=NAME, level=Level.WARN, sentence=sentence, todo=_MAKE)]
    findings = [*_end(used), *_mismatch(used, host), *_succession(used), *_revocations(), *_others()]
    fine = f"The certificate is good until {used.certificate.not_after[:10]}."
    return findings or [HealthFinding(check=NAME, level=Level.OK, sentence=fine)]


def _end(used: Current) -> list[HealthFinding]:
    if is_early(used.certificate):
        day = used.certificate.not_before[:10]
        todo = "Is the clock right (timedatectl)? If so: "
        todo += "millrace certificate install FILE…" if used.origin == "installed" else _MAKE
        sentence = f"The certificate is not valid before {day}: browsers warn, and NFS over TLS does not mount."
        return [HealthFinding(check=NAME, level=Level.FAIL, sentence=sentence, todo=todo)]
    left = days_left(used.certificate)
    if left >= SOON_DAYS:
        return []
    todo = "millrace certificate install FILE…" if used.origin == "installed" else "millrace certificate renew"
    day = used.certificate.not_after[:10]
    if left < 0:
        sentence = f"The certificate ended on {day}: browsers warn, and NFS over TLS does not mount."
        return [HealthFinding(check=NAME, level=Level.FAIL, sentence=sentence, todo=todo)]
    return [HealthFinding(check=NAME, level=Level.WARN, sentence=f"The certificate ends on {day}.", todo=todo)]


def _mismatch(used: Current, host: Host) -> list[HealthFinding]:
    chain = files.current() / files.CHAIN
    if not chain.exists() or pem.digest(chain.read_text()) != used.sha256 or not (files.current() / files.KEY).exists():
        sentence = f"{files.current()} was changed by hand: the certificate may not fit its key."
        todo = "millrace certificate renew --own"
        return [HealthFinding(check=NAME, kind="edited", level=Level.FAIL, sentence=sentence, todo=todo)]
    # only root reads a key
    if os.access(files.current() / files.KEY, os.R_OK) and not pem.fits(chain, files.current() / files.KEY):
        sentence = f"The key in {files.current()} does not fit the certificate: the web console and NFS over TLS fail."
        todo = "millrace certificate renew --own"
        return [HealthFinding(check=NAME, kind="edited", level=Level.FAIL, sentence=sentence, todo=todo)]
    succession = files.find_succession()
    waiting = succession.waiting if succession else ()
    lacking = not_named(used, identity(files.settings().names, lambda: host.ports), waiting)
    if not lacking:
        return []
    todo = "millrace certificate install FILE…" if used.origin == "installed" else _MAKE
    sentence = f"The certificate does not name {', '.join(lacking)}."
    return [HealthFinding(check=NAME, kind="names", level=Level.WARN, sentence=sentence, todo=todo)]


def _succession(used: Current) -> list[HealthFinding]:
    succession = files.find_succession()
    if succession is None or used.origin != "own":
        return []
    day, findings = succession.takes_over[:10], []
    if succession.waiting:
        sentence = (
            f"The CA of this server may not certify {', '.join(succession.waiting)}; the next CA does from {day} on."
        )
        todo = "If all clients have it (millrace certificate show --ca): millrace certificate renew --successor"
        findings.append(HealthFinding(check=NAME, kind="waiting", level=Level.WARN, sentence=sentence, todo=todo))
    relying = _relying() if ages.until(succession.takes_over).days < ANNOUNCE_DAYS else []
    if relying:
        sentence = f"This server replaces its CA on {day}: {several(relying)} that have the old CA only fail then."
        todo = (
            "Copy /etc/tlshd/millrace-ca.pem of the recipe to each client; check.pyz reports who lacks it"
            if relying == [NFS_CLIENTS]
            else "Give each of them both CAs: millrace certificate show --ca"
        )
        findings.append(HealthFinding(check=NAME, kind="authority", level=Level.WARN, sentence=sentence, todo=todo))
    return findings


def _relying() -> list[str]:
    """Others that verify this server by its CA."""
    found = [NFS_CLIENTS] if nfs.asks_for_tls() else []
    # only root enters the directory
    if os.access(paths.metrics_dir() / "endpoint.json", os.F_OK):
        found.append("readers of the metrics")
    if policy_in_force.find().policy.journal.forward is not None:
        found.append("receivers of the journal")
    return found


def _revocations() -> list[HealthFinding]:
    """Revocation lists that are out of date: newer revocations are not known, and GnuTLS does not refuse them."""
    if not files.revoked().exists() or len(pem.revocation_lists(files.revoked().read_text())) < OTHERS:
        return []
    # The import takes 50 ms, and few servers have lists.
    from millrace.serve.certificate import trust

    return [
        HealthFinding(
            check=NAME,
            kind="revoked",
            subject=known.issuer,
            level=Level.WARN,
            sentence=f"The revocation list of {known.issuer} ended on {known.next_update[:10]}.",
            todo="Get the present list from that CA: millrace certificate trust crl FILE",
        )
        for known in trust.trusted().revocations
        if known.next_update is not None and ages.until(known.next_update) < timedelta()
    ]


def _others() -> list[HealthFinding]:
    todo = "Install it with millrace certificate install, and delete it there: NFS has another one now"
    return [
        HealthFinding(
            check=NAME,
            kind="others",
            subject=name,
            level=Level.WARN,
            sentence=f"The web console uses {cockpit.directory()}/{name}.",
            todo=todo,
        )
        for name in cockpit.in_the_way()
    ]
