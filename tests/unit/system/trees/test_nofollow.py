# SPDX-License-Identifier: Apache-2.0
"""A file of another user is read as a file, or not at all."""

import os
from pathlib import Path

import pytest

from millrace.system.errors import Failed
from millrace.system.trees.nofollow import read_file


def test_plain_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_bytes(b"x" * 10)
    assert read_file(tmp_path / "report.json", 10) == b"x" * 10


def test_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(Failed, match=r"report\.json has more than 1 MiB$"):
        read_file(tmp_path / "report.json", 1 << 20)


def test_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "shadow").write_text("secret")
    (tmp_path / "report.json").symlink_to("shadow")
    with pytest.raises(Failed, match=r"report\.json cannot be read: Too many levels of symbolic links$"):
        read_file(tmp_path / "report.json", 10)


def test_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report.json")
    with pytest.raises(Failed, match=r"report\.json is no plain file$"):
        read_file(tmp_path / "report.json", 10)


def test_missing_file_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "report.json", 10)
