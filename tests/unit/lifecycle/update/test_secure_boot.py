# SPDX-License-Identifier: Apache-2.0
"""Where Secure Boot is on, a release whose kernel image firmware would not start is refused before it is written."""

import struct
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import Certificate

from host import efivars
from millrace.lifecycle.update import secure_boot, stage
from millrace.system.errors import Refused
from tests.unit.lifecycle.update.conftest import Server, make_release

OWNER = UUID(int=7)
SHA256_LIST = UUID("c1c41626-504c-4092-aca9-41f936934328")


def certificate(title: str) -> Certificate:
    name, key = (
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, title)]),
        ec.generate_private_key(ec.SECP256R1()),
    )
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(datetime(2026, 1, 1, tzinfo=UTC)).not_valid_after(datetime(2036, 1, 1, tzinfo=UTC))
    return made.sign(key, SHA256())


MINE, OTHER = certificate("Millrace image key 2026-11-01"), certificate("Millrace image key 2026-12-01")


def image(signer: Certificate | None) -> bytes:
    """A PE32+ file as firmware reads it; its signature has the certificate of the signer, as in PKCS #7."""
    signature = b"" if signer is None else b"\x30\x82" + signer.public_bytes(Encoding.DER) + b"signed"
    head = bytearray(1024)
    struct.pack_into("<I", head, 0x3C, 128)
    struct.pack_into("<4s20xH", head, 128, b"PE\0\0", 0x20B)
    struct.pack_into("<II", head, 128 + 24 + 144, len(head) if signature else 0, len(signature))
    return bytes(head) + signature


@pytest.fixture
def firmware(server: Server) -> Server:
    """A server whose firmware has Secure Boot on and one key in db."""
    variable(server, secure_boot.ENABLED, b"\1")
    variable(server, secure_boot.DATABASE, efivars.signature_list(OWNER, [OTHER, MINE]))
    return server


def variable(server: Server, name: str, content: bytes) -> None:
    server.file(f"{secure_boot.VARIABLES}/{name}", "").write_bytes(b"\6\0\0\0" + content)


def asked(server: Server, content: bytes) -> str | None:
    path = server.file("millrace_0.2.0.efi", "")
    path.write_bytes(content)
    return secure_boot.obstacle(path)


def test_image_that_an_enrolled_key_signed_is_taken(firmware: Server) -> None:
    assert asked(firmware, image(MINE)) is None


@pytest.mark.parametrize(
    "content", [image(None), b"kernel", b"MZ" + bytes(99), image(MINE).replace(b"PE\0\0", b"NE\0\0")]
)
def test_image_without_a_signature_is_refused(firmware: Server, content: bytes) -> None:
    found = asked(firmware, content)
    assert found is not None and "millrace_0.2.0.efi is not signed" in found and "--sign KEYDIR" in found


def test_image_of_a_key_that_is_not_enrolled_is_refused(firmware: Server) -> None:
    variable(firmware, secure_boot.DATABASE, efivars.signature_list(OWNER, [OTHER]))
    found = asked(firmware, image(MINE))
    assert found is not None and "not in db of the firmware" in found


@pytest.mark.parametrize(
    ("name", "content"),
    [
        # an image may be enrolled by its own checksum
        (secure_boot.DATABASE, SHA256_LIST.bytes_le + struct.pack("<III", 76, 0, 48) + bytes(48)),
        (secure_boot.DATABASE, efivars.signature_list(OWNER, [OTHER])[:-9]),
        (secure_boot.DATABASE, b"\0" * 5),
        (secure_boot.MORE_KEYS, b"a key of shim"),
    ],
)
def test_firmware_whose_keys_are_not_all_known_decides_itself(firmware: Server, name: str, content: bytes) -> None:
    variable(firmware, secure_boot.DATABASE, efivars.signature_list(OWNER, [OTHER]))
    variable(firmware, name, content)
    assert asked(firmware, image(MINE)) is None
    assert asked(firmware, image(None)) is not None


def test_without_secure_boot_nothing_is_asked(server: Server) -> None:
    assert asked(server, b"kernel") is None
    variable(server, secure_boot.ENABLED, b"\0")
    assert asked(server, b"kernel") is None


def test_release_is_refused_before_anything_is_written(firmware: Server, tmp_path: Path) -> None:
    made = make_release(tmp_path / "new")
    with stage.origin(made, firmware) as bring:
        found = stage.describe(bring, firmware)
        with pytest.raises(Refused, match=r"Secure Boot is on and millrace_0\.2\.0\.efi is not signed"):
            stage.fetch_files(found, bring, firmware)
    assert firmware.entries == ["millrace_0.1.0.efi"]


def test_certificate_of_another_version_says_nothing_of_what_firmware_accepts(firmware: Server) -> None:
    # X.509: the version, 2 for the third, is the first field
    odd = MINE.public_bytes(Encoding.DER).replace(bytes.fromhex("a003020102"), bytes.fromhex("a003020107"), 1)
    listed = secure_boot.X509.bytes_le + struct.pack("<III", 28 + 16 + len(odd), 0, 16 + len(odd)) + bytes(16) + odd
    variable(firmware, secure_boot.DATABASE, listed)
    assert asked(firmware, image(OTHER)) is None
