# SPDX-License-Identifier: Apache-2.0
"""Sections of a unified kernel image, which is a PE file (Microsoft PE/COFF specification).

By hand: build hosts with Debian 12 have no ukify.
"""

import struct
from pathlib import Path

from millrace.errors import Failed

HEADER_OFFSET = 0x3C
SECTION_SIZE = 40


def section(path: Path, name: str) -> bytes:
    """Return the content of section `name` (".linux", ".initrd", …); raise Failed where there is none."""
    data = path.read_bytes()
    try:
        (header,) = struct.unpack_from("<I", data, HEADER_OFFSET)
        signature, count, optional = struct.unpack_from("<4s2xH12xH", data, header)
        if signature != b"PE\0\0":
            raise Failed(f"{path} is not a unified kernel image.")
        first = header + 24 + optional
        for number in range(count):
            title, size, _, stored, start = struct.unpack_from("<8sIIII", data, first + number * SECTION_SIZE)
            if title.rstrip(b"\0").decode("ascii", "replace") == name:
                return data[start : start + min(size, stored)]
    except struct.error as error:
        raise Failed(f"{path} is not a unified kernel image.") from error
    raise Failed(f"{path} has no section {name}.")
