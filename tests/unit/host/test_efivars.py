# SPDX-License-Identifier: Apache-2.0
"""What firmware is asked to enrol has the form of the UEFI specification."""

import struct
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from host import efivars, keys

NOW = datetime(2026, 11, 23, 10, 40, 7, tzinfo=UTC)
OWNER = UUID("12345678-1234-5678-9abc-def012345678")
# object identifier of SHA-256
SHA256 = bytes.fromhex("608648016503040201")
# object identifier of PKCS #7 signed data, in DER
SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> keys.Keys:
    directory = tmp_path_factory.mktemp("keys")
    for name in ("KEK", "db"):
        keys._make_pair(directory, name, NOW)
    return keys.Keys(directory)


def test_list_has_each_certificate_with_its_owner(made: keys.Keys) -> None:
    chosen = [made.certificate("db"), made.certificate("KEK")]
    content = efivars.signature_list(OWNER, chosen)
    assert efivars.certificates_in(content) == [one.public_bytes(Encoding.DER) for one in chosen]
    # GUIDs are little-endian in their first three fields
    assert content[:4] == bytes.fromhex("a159c0a5")
    assert content[28:32] == bytes.fromhex("78563412")


def test_write_is_signed_by_the_key_over_name_vendor_attributes_time_and_content(
    made: keys.Keys, tmp_path: Path
) -> None:
    content = efivars.signature_list(OWNER, [made.certificate("db")])
    auth = efivars.signed_write("db", content, NOW, made.key("KEK"), made.certificate("KEK"))
    assert struct.unpack_from("<HBBBBB", auth) == (2026, 11, 23, 10, 40, 7)
    assert efivars.content_of(auth) == content
    (length,) = struct.unpack_from("<I", auth, 16)
    signature = auth[40 : 16 + length]
    # Without a ContentInfo: AuthVariableLib of EDK2 wants the digest at this place, and refuses everything else.
    assert signature[0] == 0x30 and signature[13:22] == SHA256
    inner = b"\xa0\x82" + struct.pack(">H", len(signature)) + signature
    typed = SIGNED_DATA + inner
    (tmp_path / "signature").write_bytes(b"\x30\x82" + struct.pack(">H", len(typed)) + typed)
    vendor = bytes.fromhex("cbb219d73a3d9645a3bcdad00e67656f")
    (tmp_path / "covered").write_bytes(b"d\0b\0" + vendor + b"\x27\0\0\0" + auth[:16] + content)
    argv = ["openssl", "smime", "-verify", "-binary", "-inform", "DER", "-in", str(tmp_path / "signature")]
    argv += ["-content", str(tmp_path / "covered"), "-noverify", "-certfile", str(made.directory / "KEK.crt")]
    assert subprocess.run(argv, capture_output=True, check=False).returncode == 0
    (tmp_path / "covered").write_bytes(b"d\0b\0" + vendor + b"\x07\0\0\0" + auth[:16] + content)
    assert subprocess.run(argv, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("cut", [1, 30, 60])
def test_a_cut_list_or_write_is_refused(made: keys.Keys, cut: int) -> None:
    content = efivars.signature_list(OWNER, [made.certificate("db")])
    with pytest.raises(ValueError, match="list"):
        efivars.certificates_in(content[:-cut])
    with pytest.raises(ValueError, match="signed write"):
        efivars.content_of(b"\0" * cut)
