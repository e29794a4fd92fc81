# SPDX-License-Identifier: Apache-2.0
"""The CAs whose certificates clients of an mtls share may use."""

from datetime import timedelta

from millrace.serve.certificate import files, pem, x509
from millrace.serve.certificate.authority import pair as own_pair
from millrace.serve.certificate.identity import days_left
from millrace.serve.certificate.model import TrustedAuthorities
from millrace.system import ages
from millrace.system.errors import BadInput, Refused
from millrace.system.files import write_text
from millrace.system.text import shown
from millrace.system.users import only_root

# So many digits of a fingerprint identify a CA.
SHORTEST = 8


def trusted() -> TrustedAuthorities:
    """Return this server's own CA, then the others, and what they have revoked."""
    return TrustedAuthorities(
        trusted=[x509.describe(text) for text in _trusted_texts()],
        revocations=[x509.describe_revocations(text) for text in _revocation_texts()[1:]],
    )


def revoke(text: str) -> TrustedAuthorities:
    """Use the revocation lists in a PEM text; each replaces the one before of its CA.

    BadInput: there is no list, or no trusted CA signed it. Refused: a list has ended or is older than the one in use.
    """
    only_root()
    lists = pem.revocation_lists(text)
    if not lists:
        raise BadInput("no revocation list in the input; PEM text begins with -----BEGIN X509 CRL-----")
    with files.certificate_lock():
        own, *kept = _revocation_texts()
        for added in lists:
            described = x509.describe_revocations(added)
            if not any(x509.revoked_by(added, authority) for authority in _trusted_texts()[1:]):
                raise BadInput(f"no trusted CA signed the revocation list of {described.issuer}: trust its CA first")
            if described.next_update is not None and ages.until(described.next_update) < timedelta():
                raise Refused(f"the revocation list of {described.issuer} ended on {described.next_update[:10]}")
            before = [text for text in kept if x509.describe_revocations(text).issuer == described.issuer]
            if any(
                ages.when(x509.describe_revocations(text).updated) > ages.when(described.updated) for text in before
            ):
                raise Refused(f"the revocation list of {described.issuer} is older than the one in use")
            kept = [text for text in kept if text not in before] + [added]
        write_text(files.revoked(), "".join([own, *kept]))
    return trusted()


def add(text: str) -> TrustedAuthorities:
    """Trust the CAs in a PEM text. BadInput: one is no CA. Refused: one has ended."""
    only_root()
    bundle = pem.split(text)
    if bundle.keys:
        raise BadInput("private key in the input; provide only the CA certificate and keep the key safe")
    for certificate in bundle.certificates:
        description = x509.describe(certificate)
        if not description.authority:
            raise BadInput(
                f"{description.subject} is not a CA certificate (CA:TRUE); "
                "provide the CA that signs the client certificates"
            )
        if days_left(description) < 0:
            raise Refused(f"{description.subject} ended on {description.not_after[:10]}: nothing was changed")
    with files.certificate_lock():
        kept = _trusted_texts()
        known = {x509.describe(certificate).fingerprint for certificate in kept}
        kept += [
            certificate for certificate in bundle.certificates if x509.describe(certificate).fingerprint not in known
        ]
        write_text(files.trusted(), "".join(kept))
    return trusted()


def remove(fingerprint: str) -> TrustedAuthorities:
    """Remove a trusted CA by the first digits of its SHA-256; clients stay connected until they connect again.

    BadInput: not the fingerprint of exactly one CA. Refused: it is the server's own CA.
    """
    only_root()
    wanted = fingerprint.replace(":", "").lower()
    with files.certificate_lock():
        kept = _trusted_texts()
        matches = [
            certificate
            for certificate in kept
            if x509.describe(certificate).fingerprint.replace(":", "").lower().startswith(wanted)
        ]
        if len(wanted) < SHORTEST or len(matches) != 1:
            raise BadInput(
                f"{shown(fingerprint)} is not the fingerprint of exactly one CA: millrace certificate trust list"
            )
        if matches[0] == kept[0]:
            raise Refused("this server's own CA cannot be removed: the server uses it to verify its shares")
        kept.remove(matches[0])
        write_text(files.trusted(), "".join(kept))
        own, *lists = _revocation_texts()
        signed = [text for text in lists if any(x509.revoked_by(text, authority) for authority in kept)]
        write_text(files.revoked(), "".join([own, *signed]))
    return trusted()


def _trusted_texts() -> list[str]:
    files.require_current()
    return pem.certificates(files.trusted().read_text())


def _revocation_texts() -> list[str]:
    """That of the own CA first, which a release before revocation lists did not write."""
    if not files.revoked().exists():
        return [x509.no_revocations(own_pair())]
    return pem.revocation_lists(files.revoked().read_text())
