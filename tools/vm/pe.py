# SPDX-License-Identifier: Apache-2.0
"""Sections of a unified kernel image, which is a PE file (Microsoft PE/COFF specification).

By hand: build hosts with Debian 12 have no ukify.
"""

import struct
from collections.abc import Mapping
from pathlib import Path

from millrace.system.errors import Failed

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
        contents = []
        for number in range(count):
            at = header + 24 + optional + number * SECTION_SIZE
            title, size, _, stored, start = struct.unpack_from("<8sIIII", data, at)
            contents.append((title.rstrip(b"\0").decode("ascii", "replace"), data[start : start + min(size, stored)]))
        return contents
    except struct.error as error:
        raise Failed("A file without a whole PE header.") from error


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def with_sections(data: bytes, added: Mapping[str, bytes], before: str | None = None) -> bytes:
    """Return a PE32+ file without its signatures and with more sections of data behind those that it has.

    They come in front of the first section `before`, if there is one: that and what follows moves, as only data can.
    Failed: it is no such file, has a section of such a name, its header has no room, or `before` is not at its end.
    """
    present = sections(data)
    names = [name for name, _ in present]
    if again := sorted(set(names) & added.keys()):
        raise Failed(f"A kernel image that has a section {again[0]} already.")
    moved = present[names.index(before) :] if before in names else []
    content = bytearray(cut(data, moved[0][0]) if moved else unsigned(data))
    (header,) = struct.unpack_from("<I", content, HEADER_OFFSET)
    count, size = struct.unpack_from("<H12xH", content, header + 6)
    optional = header + 24
    table = optional + size
    in_memory, in_file = struct.unpack_from("<II", content, optional + ALIGNMENTS)
    end, headers = struct.unpack_from("<II", content, optional + IMAGE_SIZES)
    (initialised,) = struct.unpack_from("<I", content, optional + DATA_SIZE)
    starts = [place[2] for place in _places(content)]
    # the first section's content follows the headers in the file
    if table + (count + len(added) + len(moved)) * SECTION_SIZE > min([headers, *starts]):
        raise Failed("A kernel image whose header has no room for more sections.")
    for number, (name, text) in enumerate([*added.items(), *moved], count):
        content += bytes(-len(content) % in_file)
        stored = _up(len(text), in_file)
        entry = struct.pack("<8sIIII", name.encode(), len(text), _up(end, in_memory), stored, len(content))
        at = table + number * SECTION_SIZE
        content[at : at + SECTION_SIZE] = entry + struct.pack("<12xI", READ_ONLY_DATA)
        content += text + bytes(stored - len(text))
        end = _up(end, in_memory) + _up(len(text), in_memory)
        initialised += stored
    struct.pack_into("<H", content, header + 6, count + len(added) + len(moved))
    struct.pack_into("<I", content, optional + IMAGE_SIZES, end)
    struct.pack_into("<I", content, optional + DATA_SIZE, initialised)
    return bytes(content)


def cut(data: bytes, name: str) -> bytes:
    """Return a PE32+ file without its signatures, its first section `name`, and what is behind that.

    Failed: it is no such file, or has no such section at its end.
    """
    names = [title for title, _ in sections(data)]
    if name not in names:
        raise Failed(f"A kernel image without a section {name}.")
    content, kept = bytearray(unsigned(data)), names.index(name)
    places = _places(content)
    end, _, start = places[kept]
    if any(place[0] >= end or place[2] >= start for place in places[:kept]):
        raise Failed(f"A kernel image whose section {name} is not at its end.")
    (header,) = struct.unpack_from("<I", content, HEADER_OFFSET)
    optional = header + 24
    (size,) = struct.unpack_from("<H", content, header + 20)
    (initialised,) = struct.unpack_from("<I", content, optional + DATA_SIZE)
    for number in range(kept, len(places)):
        at = optional + size + number * SECTION_SIZE
        content[at : at + SECTION_SIZE] = bytes(SECTION_SIZE)
    struct.pack_into("<H", content, header + 6, kept)
    struct.pack_into("<I", content, optional + IMAGE_SIZES, end)
    struct.pack_into("<I", content, optional + DATA_SIZE, initialised - sum(stored for _, stored, _ in places[kept:]))
    return bytes(content[:start])


def _places(data: bytes | bytearray) -> list[tuple[int, int, int]]:
    """Return where each section begins in memory, its bytes in the file, and where it begins there."""
    (header,) = struct.unpack_from("<I", data, HEADER_OFFSET)
    count, size = struct.unpack_from("<H12xH", data, header + 6)
    table = header + 24 + size
    return [struct.unpack_from("<III", data, table + n * SECTION_SIZE + 12) for n in range(count)]


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
