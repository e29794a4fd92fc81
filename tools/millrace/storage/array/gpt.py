# SPDX-License-Identifier: Apache-2.0
"""Traces of a GPT, complete or torn.

A power cut inside sfdisk leaves any part of: backup entries, backup header, entries, header, protective MBR. The
partition tools then report a broken table; the GUIDs in it still identify the owner.
"""

import os
import uuid
from pathlib import Path

SIGNATURE = b"EFI PART"
GUID = 16
ENTRY_AREA = 128 * 128
"""Size in bytes of the table of partition entries (UEFI: at least 16 KiB, and sfdisk makes just that)."""


def read_ids(device: Path, block: int) -> frozenset[str]:
    """Read the GUIDs at both ends of a disk; `block` is its logical block size in bytes. OSError: it cannot be read."""
    span = 2 * block + ENTRY_AREA
    descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        head = os.pread(descriptor, span, 0)
        tail = os.pread(descriptor, block + ENTRY_AREA, size - block - ENTRY_AREA)
    finally:
        os.close(descriptor)
    return ids(head, tail, block)


def ids(head: bytes, tail: bytes, block: int) -> frozenset[str]:
    """Return disk and partition GUIDs in lower case. `head` is block 0 to the end of the entries, `tail` the backup."""
    headers = (head[block : 2 * block], tail[ENTRY_AREA:])
    entries = (head[2 * block : 2 * block + ENTRY_AREA], tail[:ENTRY_AREA])
    # a file that is taken for a drive may end anywhere
    found = {_guid(header, 56) for header in headers if header.startswith(SIGNATURE) and len(header) >= 56 + GUID}
    for table in entries:
        whole = range(0, len(table) - 2 * GUID + 1, 128)
        found |= {_guid(table, at + GUID) for at in whole if any(table[at : at + GUID])}
    return frozenset(found)


def _guid(raw: bytes, at: int) -> str:
    return str(uuid.UUID(bytes_le=raw[at : at + GUID]))
