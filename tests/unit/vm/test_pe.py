# SPDX-License-Identifier: Apache-2.0
"""A PE file without its signatures is the one that was signed; sections are added where a loader finds them."""

import struct

import pytest

from millrace.system.errors import Failed
from vm import pe

HEADER = 0x80


def program(content: bytes, checksum: int = 0, signature: bytes = b"") -> bytes:
    data = bytearray(0x200)
    struct.pack_into("<I", data, pe.HEADER_OFFSET, HEADER)
    struct.pack_into("<4s20xH", data, HEADER, b"PE\0\0", pe.PE32_PLUS)
    data += content
    if signature:
        data += bytes(-len(data) % 8)
        struct.pack_into("<II", data, HEADER + 24 + pe.SIGNATURES, len(data), len(signature))
        struct.pack_into("<I", data, HEADER + 24 + pe.CHECKSUM, checksum)
    return bytes(data + signature)


@pytest.mark.parametrize("content", [b"kernel", b"kernel 2"])
def test_signature_and_checksum_are_taken_away(content: bytes) -> None:
    assert pe.unsigned(program(content, 7, b"s" * 24)) == pe.unsigned(program(content))


def test_an_altered_byte_stays_altered() -> None:
    assert pe.unsigned(program(b"kernel", 7, b"s" * 24)) != pe.unsigned(program(b"kennel"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"MZ", "without a whole PE header"),
        (bytes(0x200), "not PE32"),
        (program(b"kernel", 7, b"s" * 24)[:-1], "cut in its signatures"),
    ],
)
def test_what_is_no_program_is_one_sentence(data: bytes, words: str) -> None:
    with pytest.raises(Failed, match=words):
        pe.unsigned(data)


ALIGN, FILE_ALIGN = 0x1000, 0x200


def image(sections: dict[str, bytes] | list[tuple[str, bytes]], headers: int = 0x400) -> bytes:
    """A PE32+ file as a boot stub is: the sections one after another, in memory each on a page of its own."""
    data = bytearray(headers)
    struct.pack_into("<I", data, pe.HEADER_OFFSET, HEADER)
    struct.pack_into("<4s2xH12xH", data, HEADER, b"PE\0\0", len(sections), 240)
    optional = HEADER + 24
    struct.pack_into("<H", data, optional, pe.PE32_PLUS)
    struct.pack_into("<II", data, optional + pe.ALIGNMENTS, ALIGN, FILE_ALIGN)
    address, initialised = ALIGN, 0
    for number, (name, content) in enumerate(sections.items() if isinstance(sections, dict) else sections):
        stored = -(-len(content) // FILE_ALIGN) * FILE_ALIGN
        entry = struct.pack("<8sIIII", name.encode(), len(content), address, stored, len(data))
        data[optional + 240 + number * 40 : optional + 240 + number * 40 + 20] = entry[:20]
        struct.pack_into("<I", data, optional + 240 + number * 40 + 20, len(data))
        data += content + bytes(stored - len(content))
        address += -(-len(content) // ALIGN) * ALIGN
        initialised += stored
    struct.pack_into("<I", data, optional + pe.DATA_SIZE, initialised)
    struct.pack_into("<II", data, optional + pe.IMAGE_SIZES, address, headers)
    return bytes(data)


STUB = {".text": b"t" * 700, ".linux": b"l" * 5000}
ADDED = {".pcrpkey": b"p" * 451, ".pcrsig": b"s" * 4097}


def test_added_sections_follow_those_that_were_there() -> None:
    made = pe.with_sections(image(STUB), ADDED)
    assert pe.sections(made) == list((STUB | ADDED).items())
    # as if the image had been built with them, down to the byte
    whole = bytearray(image(STUB | ADDED))
    for number in (2, 3):
        struct.pack_into("<I", whole, HEADER + 24 + 240 + number * 40 + 36, pe.READ_ONLY_DATA)
    assert made == bytes(whole)


PROFILES = [(".profile", b"ID=main"), (".profile", b"ID=install"), (".cmdline", b"c" * 600)]


def test_sections_are_added_in_front_of_the_profiles() -> None:
    made = pe.with_sections(image([*STUB.items(), *PROFILES]), ADDED, before=".profile")
    assert pe.sections(made) == [*STUB.items(), *ADDED.items(), *PROFILES]
    whole = bytearray(image([*STUB.items(), *ADDED.items(), *PROFILES]))
    for number in range(2, 7):
        struct.pack_into("<I", whole, HEADER + 24 + 240 + number * 40 + 36, pe.READ_ONLY_DATA)
    assert made == bytes(whole)


def test_image_that_is_cut_is_one_that_never_had_more() -> None:
    assert pe.cut(image([*STUB.items(), *PROFILES]), ".profile") == image(STUB)
    with pytest.raises(Failed, match=r"without a section \.initrd"):
        pe.cut(image(STUB), ".initrd")


def test_section_that_is_not_at_the_end_is_not_moved() -> None:
    data = bytearray(image([*STUB.items(), *PROFILES]))
    # the content of the first section behind that of all others
    struct.pack_into("<I", data, HEADER + 24 + 240 + 20, len(data))
    with pytest.raises(Failed, match=r"section \.profile is not at its end"):
        pe.with_sections(bytes(data) + bytes(0x400), ADDED, before=".profile")


def test_a_signature_does_not_stay_before_added_sections() -> None:
    data = bytearray(image(STUB) + b"s" * 24)
    struct.pack_into("<II", data, HEADER + 24 + pe.SIGNATURES, len(data) - 24, 24)
    assert pe.with_sections(bytes(data), ADDED) == pe.with_sections(image(STUB), ADDED)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (image(STUB | {".pcrsig": b"x"}), "has a section .pcrsig already"),
        (image({f".s{n}": b"x" for n in range(14)}), "no room for more sections"),
        (b"MZ", "without a whole PE header"),
        (bytes(0x200), "not PE"),
    ],
)
def test_sections_that_cannot_be_added_are_one_sentence(data: bytes, words: str) -> None:
    with pytest.raises(Failed, match=words):
        pe.with_sections(data, ADDED)
