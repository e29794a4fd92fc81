# SPDX-License-Identifier: Apache-2.0
"""The CAs whose certificates clients of an mtls share may use."""

from millrace.serve.certificate import files, pem, x509
from millrace.serve.certificate.identity import days_left
from millrace.serve.certificate.model import TrustedAuthorities
from millrace.system.errors import BadInput, Refused
from millrace.system.files import write_text
from millrace.system.text import shown
from millrace.system.users import only_root

# So many digits of a fingerprint identify a CA.
SHORTEST = 8


def trusted() -> TrustedAuthorities:
    """Return this server's own CA, then the others."""
    return TrustedAuthorities(trusted=[x509.describe(one) for one in _trusted_texts()])


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
    return trusted()


def _trusted_texts() -> list[str]:
    files.require_current()
    return pem.certificates(files.trusted().read_text())
