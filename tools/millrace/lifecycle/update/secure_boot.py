# SPDX-License-Identifier: Apache-2.0
"""Whether firmware with Secure Boot would start the kernel image of a release: it is asked before anything is written.

UEFI specification 2.10: 3.3 (variables), 32.4.1 (EFI_SIGNATURE_LIST); Microsoft PE/COFF specification.
"""

import struct
from pathlib import Path
from uuid import UUID

from millrace.system import paths

VARIABLES = "sys/firmware/efi/efivars"
ENABLED = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
DATABASE = "db-d719b2cb-3d3a-4596-a3bc-dad00e67656f"
# Of shim, which accepts keys beside those of the firmware.
MORE_KEYS = "MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23"

X509 = UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072")
# In front of the content of each variable, in efivarfs.
ATTRIBUTES = 4
# A list of signatures, and in front of each one its owner.
LIST, OWNER = 28, 16
PE32_PLUS = 0x20B
# In a PE file: where its header is, and in that the place of the signatures.
HEADER, SIGNATURES = 0x3C, 24 + 144
BEGINNING, LARGEST = 4096, 1 << 20


def obstacle(kernel: Path) -> str | None:
    """Return why firmware would not start a kernel image, with the remedy; None where nothing is known against it."""
    if _variable(ENABLED) != b"\1":
        return None
    signed = _signatures(kernel)
    if not signed:
        return (
            f"Secure Boot is on and {kernel.name} is not signed, so firmware would not start it; "
            "make the release with tools/build --sign KEYDIR --release KEYDIR DIR"
        )
    issuers = _issuers(_variable(DATABASE) or b"")
    if _variable(MORE_KEYS) or not issuers or any(name in signed for name in issuers):
        return None
    return (
        f"Secure Boot is on and {kernel.name} is signed by a key that is not in db of the firmware; "
        "enrol that key, or make the release with one that is enrolled"
    )


def _variable(name: str) -> bytes | None:
    try:
        return (paths.ROOT / VARIABLES / name).read_bytes()[ATTRIBUTES:]
    except OSError:
        return None


def _signatures(kernel: Path) -> bytes:
    """Return the signatures of a PE32+ file; empty where it has none, or is no such file."""
    with kernel.open("rb") as file:
        beginning = file.read(BEGINNING)
        try:
            (header,) = struct.unpack_from("<I", beginning, HEADER)
            signature, magic = struct.unpack_from("<4s20xH", beginning, header)
            at, size = struct.unpack_from("<II", beginning, header + SIGNATURES)
        except struct.error:
            return b""
        if signature != b"PE\0\0" or magic != PE32_PLUS or not size:
            return b""
        file.seek(at)
        return file.read(min(size, LARGEST))


def _issuers(content: bytes) -> list[bytes]:
    """Return the names of the certificates in a signature database, in DER.

    A signature has the name of what issued its certificate, which is its own one where that is in the database itself.
    Empty where the database has anything but certificates: what firmware accepts is not known then.
    """
    # nobody without Secure Boot waits for the import
    from cryptography import x509

    names = []
    while content:
        try:
            kind = UUID(bytes_le=content[:16])
            whole, header, size = struct.unpack_from("<III", content, 16)
            if kind != X509 or not LIST + header + size <= whole <= len(content):
                return []
            # a certificate has a list of its own, as their sizes differ; equal ones may share one
            for at in range(LIST + header, whole - size + 1, max(size, 1)):
                names.append(x509.load_der_x509_certificate(content[at + OWNER : at + size]).subject.public_bytes())
        except (struct.error, ValueError, x509.InvalidVersion):
            return []
        content = content[whole:]
    return names
