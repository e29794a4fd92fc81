# SPDX-License-Identifier: Apache-2.0
"""The header of an encrypted partition with the keys to it (LUKS2 on-disk format specification 1.1.3).

No program of the image prints it in a form to be read, and a health check reads it every 30 seconds.
"""

import json
import struct
from base64 import b64decode
from binascii import Error
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.system.errors import Failed

MAGIC = b"LUKS\xba\xbe"
HEADER = 4096
# The specification allows 4 MiB; systemd-repart writes 16 KiB.
LARGEST = 4 << 20
TPM2, RECOVERY = "systemd-tpm2", "systemd-recovery"
CRYPT = "crypt"


@dataclass(frozen=True)
class TpmSlot:
    """A key that a TPM sealed: the registers it asks for by value, and the PEM of the key that signs register 11."""

    registers: tuple[int, ...]
    signer: bytes


@dataclass(frozen=True)
class Header:
    """The keys to a partition, and the cipher of its content as dm-crypt names it."""

    tpm: tuple[TpmSlot, ...]
    recovery_keys: int
    cipher: str | None


def read(device: Path) -> Header:
    """Return what the header of `device` says. Failed: it is no LUKS2 header. OSError: it cannot be read."""
    with device.open("rb") as file:
        head = file.read(HEADER)
        if len(head) < HEADER or head[:6] != MAGIC:
            raise Failed(f"{device} has no LUKS2 header.")
        version, size = struct.unpack_from(">HQ", head, 6)
        if version != 2 or not HEADER < size <= LARGEST:
            raise Failed(f"{device} has no LUKS2 header.")
        text = file.read(size - HEADER)
    try:
        document = json.loads(text.split(b"\0", 1)[0])
        tokens = document["tokens"].values()
        tpm = tuple(_slot(token) for token in tokens if token["type"] == TPM2)
        ciphers = [str(segment["encryption"]) for segment in document["segments"].values() if segment["type"] == CRYPT]
        return Header(tpm, sum(token["type"] == RECOVERY for token in tokens), ciphers[0] if ciphers else None)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, Error) as error:
        raise Failed(f"The LUKS2 header of {device} cannot be parsed.") from error


def _slot(token: dict[str, Any]) -> TpmSlot:
    return TpmSlot(tuple(token.get("tpm2-pcrs", ())), b64decode(token.get("tpm2_pubkey", "")))
