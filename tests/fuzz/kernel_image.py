# SPDX-License-Identifier: Apache-2.0
"""The kernel image of a release: who signed it for the firmware and for the TPM."""

from base64 import b64encode
from functools import cache
from json import dumps
from pathlib import Path
from unittest.mock import patch

from millrace.lifecycle.encryption import root
from millrace.lifecycle.update import root_signature, secure_boot
from tests.fuzz import scratch
from tests.fuzz.luks import header

KEY = b"""-----BEGIN PUBLIC KEY-----
MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAMVxb5j3XoNzq0XKrBhKsQWFiL6tXnqr
yNXGYFHcGv4C0jvWnfwXRL2GFXcnWnZ0kzAo7sOPyBDTzs1vQKJXNscCAwEAAQ==
-----END PUBLIC KEY-----
"""


@cache
def partition() -> bytes:
    """The header of a root file system that a TPM opens for KEY."""
    token = {"type": "systemd-tpm2", "tpm2-pcrs": [11], "tpm2_pubkey": b64encode(KEY).decode()}
    return header(dumps({"tokens": {"0": token}, "segments": {}}).encode())


def check(data: bytes) -> None:
    """Read the input as a kernel image, and as the signature database of the firmware."""
    with scratch.empty_root() as directory:
        variables = directory / secure_boot.VARIABLES
        variables.mkdir(parents=True)
        (variables / secure_boot.ENABLED).write_bytes(b"\6\0\0\0\1")
        (variables / secure_boot.DATABASE).write_bytes(b"\6\0\0\0" + data)
        device, kernel = directory / "device", directory / "millrace.efi"
        device.write_bytes(partition())
        kernel.write_bytes(data)
        secure_boot.obstacle(kernel)
        secure_boot.obstacle(_signed(directory))
        with patch.object(root, "device", lambda: device):
            root_signature.obstacle(kernel)


def _signed(directory: Path) -> Path:
    """A file that is long enough to have a signature: with it the database is read."""
    path = directory / "signed.efi"
    if not path.exists():
        head = bytearray(secure_boot.BEGINNING)
        head[0x3C:0x40] = (0x40).to_bytes(4, "little")
        head[0x40:0x44] = b"PE\0\0"
        head[0x58:0x5A] = secure_boot.PE32_PLUS.to_bytes(2, "little")
        at = 0x40 + secure_boot.SIGNATURES
        head[at : at + 8] = (16).to_bytes(4, "little") * 2
        path.write_bytes(head)
    return path
