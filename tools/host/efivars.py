# SPDX-License-Identifier: Apache-2.0
"""Secure Boot variables as systemd-boot enrols them: signature lists, and the signed writes around them.

UEFI specification 2.10: 32.4.1 (EFI_SIGNATURE_LIST), 8.2.2 (EFI_VARIABLE_AUTHENTICATION_2).
"""

import struct
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs7 import PKCS7Options, PKCS7SignatureBuilder
from cryptography.x509 import Certificate

GLOBAL = UUID("8be4df61-93ca-11d2-aa0d-00e098032b8c")
DATABASE = UUID("d719b2cb-3d3a-4596-a3bc-dad00e67656f")
VENDORS = {"PK": GLOBAL, "KEK": GLOBAL, "db": DATABASE}

X509 = UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072")
PKCS7 = UUID("4aafd29d-68df-49ee-8aa9-347d375665a7")
# non-volatile, boot services, run time, time-based authenticated write
ATTRIBUTES = 0x27
REVISION, TYPE = 0x0200, 0x0EF1
# DER: from here on a length says how many bytes have the length
LONG = 0x80
OPTIONS = [PKCS7Options.DetachedSignature, PKCS7Options.NoAttributes, PKCS7Options.Binary]


def signature_list(owner: UUID, certificates: Sequence[Certificate]) -> bytes:
    """Return a variable's content: one list for each certificate, as their sizes differ."""
    found = b""
    for certificate in certificates:
        entry = owner.bytes_le + certificate.public_bytes(Encoding.DER)
        found += X509.bytes_le + struct.pack("<III", 28 + len(entry), 0, len(entry)) + entry
    return found


def certificates_in(content: bytes) -> list[bytes]:
    """Return the certificates of a variable's content, in DER. ValueError: it is cut, or has other signatures."""
    certificates = []
    while content:
        if len(content) < 28 or UUID(bytes_le=content[:16]) != X509:
            raise ValueError("no list of X.509 certificates")
        whole, header, size = struct.unpack_from("<III", content, 16)
        if header != 0 or whole != 28 + size or whole > len(content):
            raise ValueError("a list of another size than it says")
        certificates.append(content[44:whole])
        content = content[whole:]
    return certificates


def _time(moment: datetime) -> bytes:
    day = (moment.year, moment.month, moment.day)
    return struct.pack("<HBBBBBBIhBB", *day, moment.hour, moment.minute, moment.second, 0, 0, 0, 0, 0)


def signed_write(name: str, content: bytes, moment: datetime, key: RSAPrivateKey, signer: Certificate) -> bytes:
    """Return the content of `<name>.auth`: firmware takes it where it trusts `signer` and holds an older `moment`."""
    time = _time(moment)
    covered = name.encode("utf-16-le") + VENDORS[name].bytes_le + struct.pack("<I", ATTRIBUTES) + time + content
    builder = PKCS7SignatureBuilder().set_data(covered).add_signer(signer, key, SHA256())
    signature = _signed_data(builder.sign(Encoding.DER, OPTIONS))
    head = struct.pack("<IHH", 24 + len(signature), REVISION, TYPE) + PKCS7.bytes_le
    return time + head + signature + content


def _signed_data(message: bytes) -> bytes:
    """Return the SignedData of a PKCS #7 message without the ContentInfo around it.

    The specification has it bare, and firmware looks for the digest's name 13 bytes behind its beginning (EDK2 2022.11,
    AuthService.c, VerifyTimeBasedPayload).
    """
    at = 0
    # into the sequence, over the name of the content's type, into its explicit tag
    for enters in (True, False, True):
        length, size = message[at + 1], 0
        if length >= LONG:
            size = length - LONG
            length = int.from_bytes(message[at + 2 : at + 2 + size])
        at += 2 + size + (0 if enters else length)
    return message[at:]


def content_of(auth: bytes) -> bytes:
    """Return what a signed write sets a variable to. ValueError: it is cut, or no signed write."""
    if len(auth) < 40:
        raise ValueError("a signed write of less than its header")
    length, revision, kind = struct.unpack_from("<IHH", auth, 16)
    if (revision, kind) != (REVISION, TYPE) or 16 + length > len(auth):
        raise ValueError("no signed write")
    return auth[16 + length :]
