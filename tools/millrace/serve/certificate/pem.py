# SPDX-License-Identifier: Apache-2.0
"""PEM text, block by block.

By hand: cryptography loads certificates and keys each from a text of their own, and this shows which block is what, in
which order.
"""

import base64
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from millrace.system.errors import BadInput

# A chain with everything around it has some 20 kB.
LARGEST = 1 << 20

_BLOCK = re.compile(r"-----BEGIN (?P<kind>[A-Z0-9 ]+)-----\r?\n(?P<body>.*?)-----END (?P=kind)-----", re.DOTALL)


@dataclass(frozen=True)
class Bundle:
    """The certificates and the private keys of a text, in its order."""

    certificates: list[str]
    keys: list[str]


def split(text: str) -> Bundle:
    """Return the blocks of PEM input. BadInput: it is no PEM, or its key is locked with a password."""
    certificates, keys = [], []
    for block in _BLOCK.finditer(text):
        pem = "\n".join(line.strip() for line in block.group(0).splitlines()) + "\n"
        kind = block["kind"]
        if kind.endswith("PRIVATE KEY"):
            if kind.startswith("ENCRYPTED") or "Proc-Type: 4,ENCRYPTED" in pem:
                raise BadInput("the key is encrypted; provide it unencrypted (openssl pkey -in FILE)")
            keys.append(pem)
        elif kind == "TRUSTED CERTIFICATE":
            raise BadInput("only openssl reads a TRUSTED CERTIFICATE: provide a plain one (openssl x509 -in FILE)")
        elif kind in ("CERTIFICATE", "X509 CERTIFICATE"):
            # the old name of the same thing
            certificates.append(pem.replace(" X509 CERTIFICATE-", " CERTIFICATE-"))
    if not certificates and not keys:
        raise BadInput("no certificate and no key in the input; PEM text begins with -----BEGIN CERTIFICATE-----")
    return Bundle(certificates, keys)


def certificates(text: str) -> list[str]:
    """Return the certificates of a file of ours, in its order."""
    return [match.group(0) + "\n" for match in _BLOCK.finditer(text) if match["kind"] == "CERTIFICATE"]


def revocation_lists(text: str) -> list[str]:
    """Return the revocation lists of a text, in its order."""
    return [match.group(0).replace("\r", "") + "\n" for match in _BLOCK.finditer(text) if match["kind"] == "X509 CRL"]


def digest(text: str) -> str:
    """Return the sha256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(text: str) -> str:
    """Return the SHA-256 of a certificate as browsers show it."""
    return hashlib.sha256(first_der(text)).digest().hex(":").upper()


def first_der(text: str) -> bytes:
    """Return the first certificate of a file of ours in DER, as a server shows it; empty where there is none."""
    return next(
        (base64.b64decode(match["body"]) for match in _BLOCK.finditer(text) if match["kind"] == "CERTIFICATE"), b""
    )


def fits(chain: Path, key: Path) -> bool:
    """Whether a server can use the files of a certificate and of its key together. OSError: they cannot be read."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(chain, key)
    except ssl.SSLError:
        return False
    return True
