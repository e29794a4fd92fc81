# SPDX-License-Identifier: Apache-2.0
"""A server whose root file system is encrypted, as the kernel and the header of its partition show it."""

import json
import struct
from base64 import b64encode
from pathlib import Path

from millrace.encryption import luks, root

SIGNER = b"-----BEGIN PUBLIC KEY-----\nowner\n-----END PUBLIC KEY-----\n"
SIZE = 16384


def tpm_token(slot: str = "0", registers: tuple[int, ...] = (7,), signer: bytes = SIGNER) -> dict[str, object]:
    """A key that systemd-repart 262 had a TPM seal, with a signed policy."""
    return {
        "type": luks.TPM2,
        "keyslots": [slot],
        "tpm2-blob": "AJ4AIK",
        "tpm2-pcrs": list(registers),
        "tpm2-pcr-bank": "sha256",
        "tpm2_pubkey_pcrs": [11],
        "tpm2_pubkey": b64encode(signer).decode(),
    }


def recovery_token(slot: str = "1") -> dict[str, object]:
    """A recovery key."""
    return {"type": luks.RECOVERY, "keyslots": [slot]}


def header(*tokens: dict[str, object], version: int = 2, size: int = SIZE) -> bytes:
    """The first of the two headers of a LUKS2 partition."""
    document = {"keyslots": {}, "tokens": {str(n): token for n, token in enumerate(tokens)}, "segments": {}}
    head = luks.MAGIC + struct.pack(">HQ", version, size)
    return head.ljust(luks.HEADER, b"\0") + json.dumps(document).encode().ljust(SIZE - luks.HEADER, b"\0")


def encrypted(server: Path, *tokens: dict[str, object], signer: bytes | None = SIGNER, tpm: bool = True) -> Path:
    """Let root of `server` be encrypted; return its partition."""
    block = server / "sys/dev/block/253:0"
    (block / "slaves/vda6").mkdir(parents=True, exist_ok=True)
    (block / "dm").mkdir(exist_ok=True)
    (block / "dm/uuid").write_text("CRYPT-LUKS2-0123456789abcdef-root\n")
    (server / "proc/1").mkdir(parents=True, exist_ok=True)
    (server / "proc/1/mountinfo").write_text("24 1 253:0 / / rw shared:1 - ext4 /dev/mapper/root rw\n")
    (server / "dev").mkdir(exist_ok=True)
    partition = server / "dev/vda6"
    partition.write_bytes(header(*tokens))
    started(server, signer, tpm)
    return partition


def started(server: Path, signer: bytes | None = SIGNER, tpm: bool = True, secure_boot: bool = True) -> None:
    """Let the running system be signed with the key `signer`, and have a TPM."""
    if signer is not None:
        (server / root.SIGNER).parent.mkdir(parents=True, exist_ok=True)
        (server / root.SIGNER).write_bytes(signer)
    if tpm:
        (server / "sys/class/tpmrm/tpmrm0").mkdir(parents=True, exist_ok=True)
    (server / root.SECURE_BOOT).parent.mkdir(parents=True, exist_ok=True)
    (server / root.SECURE_BOOT).write_bytes(b"\6\0\0\0" + bytes([secure_boot]))
