# SPDX-License-Identifier: Apache-2.0
"""A partition table that a power cut left incomplete is recognised by its GUIDs."""

import uuid
from pathlib import Path

import pytest

from millrace.storage.array import gpt

DISK = "11111111-2222-4333-8444-555555555555"
PARTITION = "aaaaaaaa-2222-4333-8444-555555555555"
SIZE = 4 << 20


def header() -> bytes:
    return gpt.SIGNATURE + bytes(48) + uuid.UUID(DISK).bytes_le


def entries() -> bytes:
    return uuid.uuid4().bytes_le + uuid.UUID(PARTITION).bytes_le


@pytest.mark.parametrize("block", [512, 4096])
@pytest.mark.parametrize(
    ("written", "ids"),
    [
        ([], set()),
        (["backup entries"], {PARTITION}),
        (["backup entries", "backup header"], {PARTITION, DISK}),
        (["header"], {DISK}),
        (["entries", "header", "backup entries", "backup header"], {PARTITION, DISK}),
    ],
)
def test_every_part_gives_it_away(tmp_path: Path, block: int, written: list[str], ids: set[str]) -> None:
    places = {
        "header": (block, header()),
        "entries": (2 * block, entries()),
        "backup entries": (SIZE - block - gpt.ENTRY_AREA, entries()),
        "backup header": (SIZE - block, header()),
    }
    device = tmp_path / "disk"
    with device.open("wb") as file:
        file.truncate(SIZE)
        for part in written:
            at, content = places[part]
            file.seek(at)
            file.write(content)
    assert gpt.read_ids(device, block) == ids


def test_every_entry_of_a_table_is_read() -> None:
    guids = [str(uuid.uuid4()) for _ in range(3)]
    entry = [uuid.uuid4().bytes_le + uuid.UUID(guid).bytes_le + bytes(96) for guid in guids]
    # the first, the third and the last of 128 entries of 128 bytes
    table = entry[0] + bytes(128) + entry[1] + bytes(124 * 128) + entry[2]
    assert len(table) == gpt.ENTRY_AREA
    assert gpt.ids(bytes(1024) + table, b"", 512) == set(guids)
    assert gpt.ids(b"", table, 512) == set(guids)


@pytest.mark.parametrize("cut", [1, 16, 100, 111, 112, 127])
def test_entry_that_is_cut_off_is_none(cut: int) -> None:
    head = bytes(1024) + entries().ljust(128, b"\0") + entries().ljust(128, b"\0")[: 128 - cut]
    assert gpt.ids(head, b"", 512) == {PARTITION}
    assert gpt.ids(bytes(512) + header()[:60], gpt.SIGNATURE, 512) == frozenset()
