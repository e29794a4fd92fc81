# SPDX-License-Identifier: Apache-2.0
"""A server whose root file system is encrypted, as the kernel and the header of its partition show it."""

import json
import struct
from base64 import b64encode
from pathlib import Path

from millrace.lifecycle.encryption import luks, root

SIGNER = b"-----BEGIN PUBLIC KEY-----\nowner\n-----END PUBLIC KEY-----\n"
SIZE = 16384
CIPHER = "aes-xts-plain64"
# 2026-11-20 09:30 UTC
MADE = 1795167000
TPM = "MSFT0101:00"


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
    document: dict[str, object] = {"keyslots": {}, "tokens": {str(n): token for n, token in enumerate(tokens)}}
    document["segments"] = {"0": {"type": "crypt", "offset": "16777216", "size": "dynamic", "encryption": CIPHER}}
    head = luks.MAGIC + struct.pack(">HQ", version, size)
    return head.ljust(luks.HEADER, b"\0") + json.dumps(document).encode().ljust(SIZE - luks.HEADER, b"\0")


def ext4(made: int = MADE) -> bytes:
    """The beginning of an ext4 file system that was made then, in seconds since 1970."""
    block = bytearray(2 * root.SUPERBLOCK)
    struct.pack_into("<H", block, root.SUPERBLOCK + 0x38, 0xEF53)
    struct.pack_into("<I", block, root.SUPERBLOCK + 0x108, made)
    return bytes(block)


def encrypted(server: Path, *tokens: dict[str, object], signer: bytes | None = SIGNER, tpm: bool = True) -> Path:
    """Let root of `server` be encrypted; return its partition."""
    block = server / "sys/dev/block/253:0"
    (block / "slaves/vda6").mkdir(parents=True, exist_ok=True)
    (block / "dm").mkdir(exist_ok=True)
    (block / "dm/uuid").write_text("CRYPT-LUKS2-0123456789abcdef-root\n")
    (server / "proc/1").mkdir(parents=True, exist_ok=True)
    (server / "proc/1/mountinfo").write_text("24 1 253:0 / / rw shared:1 - ext4 /dev/mapper/root rw\n")
    (block / "uevent").write_text("MAJOR=253\nMINOR=0\nDEVNAME=dm-0\nDEVTYPE=disk\n")
    (server / "dev").mkdir(exist_ok=True)
    (server / "dev/dm-0").write_bytes(ext4())
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
        _with_tpm(server)
    (server / root.SECURE_BOOT).parent.mkdir(parents=True, exist_ok=True)
    (server / root.SECURE_BOOT).write_bytes(b"\6\0\0\0" + bytes([secure_boot]))


def _with_tpm(server: Path) -> None:
    """The TPM as it is below the platform bus, with the driver that it is bound to."""
    parent, driver = server / f"sys/devices/platform/{TPM}", server / "sys/bus/acpi/drivers/tpm_crb"
    for directory in (parent, driver, server / "sys/class/tpmrm/tpmrm0"):
        directory.mkdir(parents=True, exist_ok=True)
    for link, target in ((parent / "driver", driver), (server / "sys/class/tpmrm/tpmrm0/device", parent)):
        if not link.is_symlink():
            link.symlink_to(target)
