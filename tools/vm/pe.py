# SPDX-License-Identifier: Apache-2.0
"""Sections of a unified kernel image, which is a PE file (Microsoft PE/COFF specification).

By hand: build hosts with Debian 12 have no ukify.
"""

import struct
from collections.abc import Mapping
from pathlib import Path

from millrace.errors import Failed

HEADER_OFFSET = 0x3C
SECTION_SIZE = 40
PE32_PLUS = 0x20B
# In the optional header: the checksum, and the place of the signatures in the table of directories (PE32+).
CHECKSUM, SIGNATURES = 64, 144
# There, too: the size of initialised data, alignments in memory and in the file, sizes of the image and of its headers.
DATA_SIZE, ALIGNMENTS, IMAGE_SIZES = 8, 32, 56
# To which a file grows before signatures follow.
ALIGNED = 8
# A section of read-only data: IMAGE_SCN_CNT_INITIALIZED_DATA, IMAGE_SCN_MEM_READ.
READ_ONLY_DATA = 0x40000040


def section(path: Path, name: str) -> bytes:
    """Return the content of section `name` (".linux", ".initrd", …); raise Failed where there is none."""
    try:
        found = sections(path.read_bytes())
    except Failed as error:
        raise Failed(f"{path} is not a unified kernel image.") from error
    for title, content in found:
        if title == name:
            return content
    raise Failed(f"{path} has no section {name}.")


def sections(data: bytes) -> list[tuple[str, bytes]]:
    """Return names and contents of all sections in their order. Failed: it is no PE file."""
    try:
        (header,) = struct.unpack_from("<I", data, HEADER_OFFSET)
        signature, count, optional = struct.unpack_from("<4s2xH12xH", data, header)
        if signature != b"PE\0\0":
            raise Failed("A file that is not PE.")
        found = []
        for number in range(count):
            at = header + 24 + optional + number * SECTION_SIZE
            title, size, _, stored, start = struct.unpack_from("<8sIIII", data, at)
            found.append((title.rstrip(b"\0").decode("ascii", "replace"), data[start : start + min(size, stored)]))
        return found
    except struct.error as error:
        raise Failed("A file without a whole PE header.") from error


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def with_sections(data: bytes, added: Mapping[str, bytes], before: str | None = None) -> bytes:
    """Return a PE32+ file without its signatures and with more sections of data behind those that it has.

    They come in front of the first section `before`, if there is one: that and what follows moves, as only data can.
    Failed: it is no such file, has a section of such a name, its header has no room, or `before` is not at its end.
    """
    names = [name for name, _ in sections(data)]
    if again := sorted(set(names) & added.keys()):
        raise Failed(f"A kernel image that has a section {again[0]} already.")
    content = bytearray(unsigned(data))
    (header,) = struct.unpack_from("<I", content, HEADER_OFFSET)
    count, size = struct.unpack_from("<H12xH", content, header + 6)
    optional = header + 24
    table = optional + size
    in_memory, in_file = struct.unpack_from("<II", content, optional + ALIGNMENTS)
    end, headers = struct.unpack_from("<II", content, optional + IMAGE_SIZES)
    (initialised,) = struct.unpack_from("<I", content, optional + DATA_SIZE)
    places = [struct.unpack_from("<III", content, table + n * SECTION_SIZE + 12) for n in range(count)]
    # the first section's content follows the headers in the file
    if table + (count + len(added)) * SECTION_SIZE > min(headers, *(start for _, _, start in places)):
        raise Failed("A kernel image whose header has no room for more sections.")
    kept = names.index(before) if before in names else count
    moved = sections(data)[kept:]
    if moved:
        end, _, cut = places[kept]
        if any(place[0] >= end or place[2] >= cut for place in places[:kept]):
            raise Failed(f"A kernel image whose section {before} is not at its end.")
        initialised -= sum(stored for _, stored, _ in places[kept:])
        del content[cut:]
    for number, (name, text) in enumerate([*added.items(), *moved], kept):
        content += bytes(-len(content) % in_file)
        stored = _up(len(text), in_file)
        entry = struct.pack("<8sIIII", name.encode(), len(text), _up(end, in_memory), stored, len(content))
        at = table + number * SECTION_SIZE
        content[at : at + SECTION_SIZE] = entry + struct.pack("<12xI", READ_ONLY_DATA)
        content += text + bytes(stored - len(text))
        end = _up(end, in_memory) + _up(len(text), in_memory)
        initialised += stored
    struct.pack_into("<H", content, header + 6, count + len(added))
    struct.pack_into("<I", content, optional + IMAGE_SIZES, end)
    struct.pack_into("<I", content, optional + DATA_SIZE, initialised)
    return bytes(content)


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
