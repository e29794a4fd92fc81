# SPDX-License-Identifier: Apache-2.0
"""A PE file without its signatures is the one that was signed."""

import struct

import pytest

from millrace.errors import Failed
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
