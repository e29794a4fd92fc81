# SPDX-License-Identifier: Apache-2.0
"""A file is had alone only while nobody else has it open; what is punched reads as zeros."""

import os
from pathlib import Path

from millrace.storage.scrub import remap


def test_file_that_is_open_elsewhere_is_not_had_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    mine = os.open(path, os.O_RDWR)
    with remap.alone(mine) as alone:
        assert alone
    other = os.open(path, os.O_RDONLY)
    with remap.alone(mine) as alone:
        assert not alone
    os.close(other)
    with remap.alone(mine) as alone:
        assert alone
    os.close(mine)


def test_punched_block_reads_as_zeros_and_the_size_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10000)
    with path.open("r+b") as file:
        remap.preallocate(file.fileno(), 12288, 4096)
        remap.punch(file.fileno(), 4096, 4096)
    assert path.read_bytes() == b"x" * 4096 + bytes(4096) + b"x" * 1808 + bytes(6384)
