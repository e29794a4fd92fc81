# SPDX-License-Identifier: Apache-2.0
"""Requirements of a client for a share that demands TLS."""

from dataclasses import dataclass

from millrace.measure.client import sources
from millrace.measure.client.model import ClientFile, Note, TrustedAuthority
from millrace.serve.certificate import files as certificate_files
from millrace.serve.certificate import pem
from millrace.serve.certificate.certificate_status import client_trust
from millrace.serve.certificate.identity import names_host
from millrace.serve.certificate.model import Certificate
from millrace.system.errors import Refused
from millrace.system.render import render

CONFIGURATION = "/etc/tlshd/config"
AUTHORITY = "/etc/tlshd/millrace-ca.pem"
CERTIFICATE, KEY = "/etc/tlshd/client.pem", "/etc/tlshd/client.key"
UNIT = "tlshd.service"

# The unit is wanted by remote-fs.target: after a boot it is there before the mounts. It counts as started before it
# listens to the kernel, and a mount that comes earlier fails with "No such process".
PREPARE = [f"systemctl enable {UNIT}", f"systemctl restart {UNIT}", "sleep 2"]


@dataclass(frozen=True)
class Tls:
    """How this server proves who it is. `trust` is what its clients must be given, as PEM; None: they have it.

    `takes_over` (ISO 8601) is when the last CA of `trust` replaces the one before; None: there is one.
    """

    certificate: Certificate
    trust: str | None
    takes_over: str | None = None


def of_this_server() -> Tls | None:
    """Return how this server proves its identity; None before its first certificate."""
    used = certificate_files.find_current()
    if used is None:
        return None
    succession = certificate_files.find_succession() if used.origin == "own" else None
    return Tls(used.certificate, client_trust(used), succession.takes_over if succession else None)


def refuse(tls: Tls | None, hosts: list[str], demand: str) -> None:
    """Verify that the client accepts the certificate for each of `hosts`. Refused: it would reject it for one."""
    if tls is None:
        raise Refused("this server has no certificate yet: systemctl start millrace-certificate.service")
    lacking = [host for host in hosts if not names_host(tls.certificate, host)]
    if lacking:
        present_names = ", ".join([*tls.certificate.names, *tls.certificate.addresses])
        raise Refused(
            f"the share takes xprtsec={demand} only, the certificate does not name {', '.join(lacking)}: use --host "
            f"with a name of it ({present_names}), or give it this one (millrace certificate renew --name)"
        )


def files(tls: Tls, demand: str) -> list[ClientFile]:
    """Return what goes to the client's /etc; a certificate of the client is added by its administrator."""
    mutual = demand == "mtls"
    values = {"certificate": CERTIFICATE if mutual else None, "key": KEY, "trust": AUTHORITY if tls.trust else None}
    found = [ClientFile(path=CONFIGURATION, mode="0644", text=render("client/tlshd.j2", **values))]
    if tls.trust:
        found.append(ClientFile(path=AUTHORITY, mode="0644", text=tls.trust))
    return found


def authorities(tls: Tls) -> list[TrustedAuthority]:
    """Return the CAs that the client must have; the next one of this server, too."""
    prints = [pem.fingerprint(text) for text in pem.certificates(tls.trust or "")]
    days = [None, tls.takes_over][: len(prints)]
    return [TrustedAuthority(fingerprint=each, needed_from=day) for each, day in zip(prints, days, strict=True)]


def notes(tls: Tls, demand: str) -> list[Note]:
    """Return the requirements beside the files."""
    remarks = [
        Note(
            text="TLS needs the package ktls-utils (Debian, Ubuntu, Fedora, RHEL, SUSE) and a kernel of 6.5 or later. "
            f"ktls-utils of Ubuntu 25.10 and earlier reads /etc/tlshd.conf instead of {CONFIGURATION}.",
            source=sources.TLSHD,
        ),
        Note(text="TLS uses CPU time on both sides and works over TCP only.", source=sources.TLS_TCP),
    ]
    if tls.takes_over:
        text = (
            f"{AUTHORITY} has two CAs: the server replaces its own CA on {tls.takes_over[:10]}. Copy the file to each "
            "client of this server before that day; check.pyz reports a client that has the old CA only."
        )
        remarks.append(Note(text=text, source=sources.TLSHD))
    if not tls.trust:
        text = f"The certificate was issued by {tls.certificate.issuer}: the client must trust that CA."
        remarks.append(Note(text=text, source=sources.TLSHD))
    if demand == "mtls":
        text = (
            f"mtls: install the certificate of the client as {CERTIFICATE} and its key as {KEY} (root, mode 0600). The "
            "server accepts certificates of trusted CAs only (millrace certificate trust add FILE), and none that "
            "such a CA has revoked (millrace certificate trust crl FILE)."
        )
        remarks.append(Note(text=text, source=sources.TLSHD))
    return remarks
