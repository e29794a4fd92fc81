# SPDX-License-Identifier: Apache-2.0
"""Sections of a unified kernel image, which is a PE file (Microsoft PE/COFF specification).

By hand: build hosts with Debian 12 have no ukify.
"""

import struct
from pathlib import Path

from millrace.errors import Failed

HEADER_OFFSET = 0x3C
SECTION_SIZE = 40
PE32_PLUS = 0x20B
# In the optional header: the checksum, and the place of the signatures in the table of directories (PE32+).
CHECKSUM, SIGNATURES = 64, 144
# To which a file grows before signatures follow.
ALIGNED = 8


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


def unsigned(data: bytes) -> bytes:
    """Return a PE32+ file without its signatures, aligned as for signing. Failed: it is none, or is cut."""
    try:
        (header,) = struct.unpack_from("<I", data, HEADER_OFFSET)
        signature, magic = struct.unpack_from("<4s20xH", data, header)
        at, size = struct.unpack_from("<II", data, header + 24 + SIGNATURES)
    except struct.error as error:
        raise Failed("A file without a whole PE header.") from error
    if signature != b"PE\0\0" or magic != PE32_PLUS:
        raise Failed("A file that is not PE32+.")
    if size and at + size > len(data):
        raise Failed("A PE file that is cut in its signatures.")
    content = bytearray(data[:at] if size else data)
    content += bytes(-len(content) % ALIGNED)
    struct.pack_into("<I", content, header + 24 + CHECKSUM, 0)
    struct.pack_into("<II", content, header + 24 + SIGNATURES, 0, 0)
    return bytes(content)
