# SPDX-License-Identifier: Apache-2.0
"""The archive of a capture, unpacked from zstd: members that leave the directory, links, sizes."""

import io
from pathlib import Path

from host.captures import unpack
from tests.fuzz import scratch


def check(data: bytes) -> None:
    """Extract the input, and verify that no way leads out of the directory."""
    with scratch.empty_root() as root:
        inside = root / "inside"
        inside.mkdir()
        try:
            unpack.extract(io.BytesIO(data), inside, Path("capture"))
            unpack.confine(inside, "capture")
        finally:
            assert [path.name for path in root.iterdir()] == ["inside"]
