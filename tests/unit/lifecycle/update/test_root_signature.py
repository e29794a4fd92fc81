# SPDX-License-Identifier: Apache-2.0
"""A release whose kernel image the TPM would not open the encrypted root for is refused before it is written."""

import hashlib
import json
import struct
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from millrace.lifecycle.update import root_signature, stage
from millrace.system.errors import Refused
from tests.unit.lifecycle.encryption.partitions import encrypted, recovery_token, started, tpm_token
from tests.unit.lifecycle.update.conftest import Server, make_release
from tests.unit.vm.test_pe import image
from vm import pe

MINE, OTHER = (rsa.generate_private_key(65537, 2048).public_key() for _ in range(2))
NAME = "millrace_0.2.0.efi"
# a key of an algorithm that nobody has
UNKNOWN = b"""-----BEGIN PUBLIC KEY-----
MBIwDAYIKoZIzj0CB3cFAAMCAAE=
-----END PUBLIC KEY-----
"""


def pem(key: rsa.RSAPublicKey) -> bytes:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def kernel(*signers: rsa.RSAPublicKey) -> bytes:
    """A kernel image as tools/build signs it: systemd-measure names each key by the digest of its bare form."""
    names = [hashlib.sha256(one.public_bytes(Encoding.DER, PublicFormat.PKCS1)).hexdigest() for one in signers]
    signed = {"sha256": [{"pcrs": [11], "pkfp": name, "pol": "00", "sig": ""} for name in names]}
    return pe.with_sections(image({".linux": b"kernel"}), {".pcrsig": json.dumps(signed).encode()})


def asked(server: Server, content: bytes) -> str | None:
    path = server.file(NAME, "")
    path.write_bytes(content)
    return root_signature.obstacle(path)


@pytest.mark.parametrize("signers", [(MINE,), (OTHER, MINE)], ids=["alone", "rotated"])
def test_image_that_the_bound_key_signed_is_taken(server: Server, signers: tuple[rsa.RSAPublicKey, ...]) -> None:
    encrypted(server.root, tpm_token(signer=pem(MINE)), recovery_token())
    assert asked(server, kernel(*signers)) is None


def test_image_of_another_key_is_refused_with_what_to_do(server: Server) -> None:
    encrypted(server.root, tpm_token(signer=pem(MINE)), recovery_token())
    found = asked(server, kernel(OTHER)) or ""
    assert f"{NAME} is signed with another pcr.key" in found and "--sign KEYDIR" in found and "KEYDIR/old" in found


@pytest.mark.parametrize(
    "content",
    [
        image({".linux": b"kernel"}),
        b"kernel",
        struct.pack("<64xI", 1 << 30),
        pe.with_sections(image({".linux": b"kernel"}), {".pcrsig": b"[" * 9000}),
        pe.with_sections(image({".linux": b"kernel"}), {".pcrsig": b'{"sha256": 7}'}),
    ],
)
def test_image_without_a_signature_for_the_tpm_is_refused(server: Server, content: bytes) -> None:
    encrypted(server.root, tpm_token(signer=pem(MINE)))
    assert f"{NAME} is not signed for the TPM" in (asked(server, content) or "")


@pytest.mark.parametrize(
    "tokens",
    [[recovery_token()], [tpm_token(signer=b"")], [tpm_token(signer=b"no key")], [tpm_token(signer=UNKNOWN)]],
)
def test_root_that_asks_for_no_known_key_decides_itself(server: Server, tokens: list[dict[str, object]]) -> None:
    encrypted(server.root, *tokens)
    assert asked(server, kernel(OTHER)) is None


def test_root_that_is_not_encrypted_asks_for_nothing(server: Server) -> None:
    assert asked(server, b"kernel") is None
    encrypted(server.root).write_bytes(b"no header")
    assert asked(server, b"kernel") is None


def test_release_is_refused_before_anything_is_written(server: Server, tmp_path: Path) -> None:
    encrypted(server.root, tpm_token(signer=pem(MINE)))
    started(server.root, secure_boot=False)
    with stage.origin(make_release(tmp_path / "new"), server) as bring:
        found = stage.describe(bring, server)
        with pytest.raises(Refused, match=r"millrace_0\.2\.0\.efi is not signed for the TPM"):
            stage.fetch_files(found, bring, server)
    assert server.entries == ["millrace_0.1.0.efi"]
