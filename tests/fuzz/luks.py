# SPDX-License-Identifier: Apache-2.0
"""The header of an encrypted partition, and the keys that its tokens name."""

import struct
from pathlib import Path
from unittest.mock import patch

from millrace.lifecycle.encryption import luks, root
from millrace.lifecycle.update import root_signature
from tests.fuzz import scratch


def header(document: bytes) -> bytes:
    """The smallest header with this document."""
    head = luks.MAGIC + struct.pack(">HQ", 2, luks.HEADER + len(document) + 1)
    return head.ljust(luks.HEADER, b"\0") + document + b"\0"


def check(data: bytes) -> None:
    """Read the input as a header where it begins as one, and as the document in one otherwise."""
    device = scratch.file(data if data.startswith(luks.MAGIC) else header(data))
    with patch.object(root, "device", lambda: device):
        root_signature.obstacle(Path("/dev/null"))
    luks.read(device)
