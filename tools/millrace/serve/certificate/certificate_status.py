# SPDX-License-Identifier: Apache-2.0
"""The certificate in use, and what clients need of it."""

from millrace.serve.certificate import files, pem
from millrace.serve.certificate.identity import days_left
from millrace.serve.certificate.model import CertificateReport, Current
from millrace.system.errors import Refused
from millrace.system.printing import fields, table


def show() -> CertificateReport:
    """Return the certificate in use and the trusted CAs. Refused: there is no certificate yet."""
    from millrace.serve.certificate import trust, x509

    used = files.require_current()
    return CertificateReport(
        origin=used.origin,
        certificate=used.certificate,
        chain=used.chain,
        days_left=days_left(used.certificate),
        settings=files.settings(),
        authority=x509.describe(files.authority()[0].read_text()),
        trusted=trust.trusted().trusted,
        client_trust=client_trust(used),
        succession=files.find_succession(),
    )


def client_trust(used: Current) -> str | None:
    """Return what clients must trust, as PEM: the own CA and the next, or the root of an installed certificate."""
    if used.origin == "own":
        return files.own_authorities()
    from millrace.serve.certificate import x509

    last = pem.certificates((files.current() / files.CHAIN).read_text())[-1]
    found = x509.describe(last)
    return last if found.subject == found.issuer else None


def authority_for_clients() -> str:
    """Return what clients must trust, as PEM. Refused: they have it from elsewhere."""
    used = files.require_current()
    text = client_trust(used)
    if text is None:
        raise Refused(
            f"the certificate is from {used.certificate.issuer}: clients get the CA certificate from the issuer"
        )
    return text


def rows(shown: CertificateReport) -> list[str]:
    """Return text for a terminal."""
    certificate = shown.certificate
    whose = "this server's own CA" if shown.origin == "own" else "installed"
    trusted = [
        (authority.subject, f"{authority.fingerprint[:23]}…", authority.not_after[:10]) for authority in shown.trusted
    ]
    return [
        *fields(
            [
                ("Subject", certificate.subject),
                ("Names", ", ".join(certificate.names)),
                ("Addresses", ", ".join(certificate.addresses) or "none"),
                ("Issuer", f"{certificate.issuer} ({whose})"),
                ("Valid", f"{certificate.not_before} to {certificate.not_after} ({shown.days_left} days left)"),
                ("Fingerprint", f"{certificate.fingerprint} (SHA-256)"),
                *_own(shown),
            ]
        ),
        "",
        "Clients of mtls shares may show certificates of:",
        *table(("Subject", "Fingerprint", "Valid until"), trusted, indent=2),
    ]


def _own(shown: CertificateReport) -> list[tuple[str, str]]:
    if shown.origin != "own":
        return []
    found, named = shown.succession, [("Own CA", f"until {shown.authority.not_after[:10]}")]
    if found is None:
        return named
    named.append(("Next CA", f"takes over on {found.takes_over[:10]}; clients need it by then (certificate show --ca)"))
    return [*named, ("Not certified", ", ".join(found.waiting))] if found.waiting else named
