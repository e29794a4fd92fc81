# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel image of a release would open the encrypted root file system of this server by its TPM.

It is asked before anything is written: a server without an operator would ask for a recovery key in its next boot.
systemd-stub(7), systemd-measure(1); Microsoft PE/COFF specification.
"""

import hashlib
import json
import struct
from pathlib import Path

from millrace.lifecycle.encryption import luks, root
from millrace.system.errors import Failed

HEADER, SECTION, BEGINNING = 0x3C, 40, 1 << 16
SIGNATURES, LARGEST = b".pcrsig", 1 << 20


def obstacle(kernel: Path) -> str | None:
    """Return why the TPM would not open root for a kernel image, with the remedy; None where nothing is known so."""
    bound = _bound()
    if not bound:
        return None
    signed = _signers(kernel)
    if any(signed & fingerprints for fingerprints in bound):
        return None
    lacks = "is signed with another pcr.key" if signed else "is not signed for the TPM"
    return (
        f"{kernel.name} {lacks}, so the TPM would not open the encrypted root file system and each start would ask for "
        "the recovery key; make the release with tools/build --sign KEYDIR, where the pcr.key that root is bound to "
        "is in KEYDIR or below KEYDIR/old"
    )


def _bound() -> list[set[str]]:
    """The keys that the TPM accepts, each by its fingerprints; none where root needs none, or nothing is known."""
    try:
        partition = root.device()
        slots = luks.read(partition).tpm if partition else ()
    except (Failed, OSError):
        return []
    found = [_fingerprints(one.signer) for one in slots]
    # a key to root that asks for no signature, or for one that is not known, decides itself
    return found if all(found) else []


def _fingerprints(pem: bytes) -> set[str]:
    """The sha256 of a public key in both forms of DER; systemd 262 writes that of the bare key (i2d_PublicKey(3))."""
    # nobody whose root is not encrypted waits for the import
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        return set()
    if not isinstance(key, RSAPublicKey):
        return set()
    forms = (PublicFormat.PKCS1, PublicFormat.SubjectPublicKeyInfo)
    return {hashlib.sha256(key.public_bytes(Encoding.DER, form)).hexdigest() for form in forms}


def _signers(kernel: Path) -> set[str]:
    """The fingerprints of the keys that signed what is measured of a kernel image; none where it is not signed so."""
    try:
        document = json.loads(_section(kernel, SIGNATURES).rstrip(b"\0"))
        return {str(one["pkfp"]).lower() for bank in document.values() for one in bank}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, struct.error):
        return set()


def _section(path: Path, wanted: bytes) -> bytes:
    """The content of the first section of a name in a PE file; empty where there is none."""
    with path.open("rb") as file:
        head = file.read(BEGINNING)
        (header,) = struct.unpack_from("<I", head, HEADER)
        signature, count, optional = struct.unpack_from("<4s2xH12xH", head, header)
        if signature != b"PE\0\0":
            return b""
        for number in range(count):
            at = header + 24 + optional + number * SECTION
            name, size, _, stored, start = struct.unpack_from("<8sIIII", head, at)
            if name.rstrip(b"\0") == wanted:
                file.seek(start)
                return file.read(min(size, stored, LARGEST))
    return b""
