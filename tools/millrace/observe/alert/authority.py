# SPDX-License-Identifier: Apache-2.0
"""The private authority that a route trusts: PEM text that is kept with the route, and the TLS settings it makes.

A route with one trusts that alone; nothing switches the verification off.
"""

import ssl
from datetime import timedelta

from millrace.serve.certificate import pem
from millrace.system import ages
from millrace.system.documents import Contract

LARGEST = 1 << 15
"""Characters of one: the routes are a credential of their service, and systemd passes 1 MiB of these in all."""

LONGEST_INPUT = 1 << 20
"""Characters of a file: certificates have text for people around them."""


class Authority(Contract):
    """A certificate that a route trusts. `not_after` is ISO 8601 in UTC."""

    subject: str
    not_after: str


def normal(text: str) -> str:
    """Return the certificates of a PEM text, without what is around them. ValueError, BadInput: it holds none."""
    if len(text) > LONGEST_INPUT:
        raise ValueError("larger than 1 MiB; not a certificate")
    bundle = pem.split(text)
    if bundle.keys:
        raise ValueError("private key in the input; provide only the CA certificate and keep the key safe")
    certificates = "".join(bundle.certificates)
    if len(certificates) > LARGEST:
        raise ValueError("more than 32 KiB of certificates: provide the CA that signs the certificate of the receiver")
    described(certificates)
    return certificates


def described(text: str) -> list[Authority]:
    """Return subject and end of each certificate. BadInput: one cannot be read."""
    # Its import takes 50 ms, and most servers have no such route.
    from millrace.serve.certificate import x509

    found = [x509.describe(one) for one in pem.certificates(text)]
    return [Authority(subject=one.subject, not_after=one.not_after) for one in found]


def in_time(text: str) -> None:
    """Raise ValueError where a certificate has ended; one that ends later makes the deliveries fail with that error."""
    for one in described(text):
        if ages.until(one.not_after) < timedelta():
            raise ValueError(f"{one.subject} ended on {one.not_after[:10]}: provide the CA that is in use")


def context(text: str | None) -> ssl.SSLContext:
    """Return how a certificate is verified: against these authorities, or without a text against the public ones."""
    made = ssl.create_default_context(cadata=text)
    if text is not None:
        # Python 3.13 wants all of RFC 5280: identifiers of keys, which openssl left out for years, a use of the key, a
        # critical field. An owner cannot replace a CA and all its certificates for one client; the others accept them.
        # Signatures, times, the name, and that the CA is one are verified without the flag, too.
        made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made
