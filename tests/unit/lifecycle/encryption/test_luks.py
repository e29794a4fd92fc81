# SPDX-License-Identifier: Apache-2.0
"""A header of an encrypted partition that cannot be parsed is one sentence, whoever wrote it."""

import struct
from pathlib import Path

import pytest

from millrace.lifecycle.encryption import luks
from millrace.system.errors import Failed
from tests.unit.lifecycle.encryption.partitions import SIZE, header, recovery_token


@pytest.mark.parametrize("document", [b"[" * 3000, b"{}", b'{"tokens": 5, "segments": {}}', b"\xff", b""])
def test_document_that_is_none_fails_in_one_sentence(tmp_path: Path, document: bytes) -> None:
    device = tmp_path / "root"
    head = luks.MAGIC + struct.pack(">HQ", 2, SIZE)
    device.write_bytes(head.ljust(luks.HEADER, b"\0") + document)
    with pytest.raises(Failed, match=r"^The LUKS2 header of \S+ cannot be parsed\.$"):
        luks.read(device)


def test_document_of_the_tools_is_read(tmp_path: Path) -> None:
    device = tmp_path / "root"
    device.write_bytes(header(recovery_token()))
    assert luks.read(device).recovery_keys == 1
