# SPDX-License-Identifier: Apache-2.0
"""Files are written completely or not at all, and secrets do not stay."""

import os
import stat
from pathlib import Path

import pytest

from millrace.system import paths
from millrace.system.files import append_line, describe, secret_file


def test_secret_file_is_for_root_alone_and_goes_also_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="seen"), secret_file("password = x\n", "smbpasswd-") as name:
        path = Path(name)
        assert path.parent == paths.run_dir() and path.name.startswith("smbpasswd-")
        assert path.read_text() == "password = x\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        raise ValueError("seen")
    assert list(paths.run_dir().iterdir()) == []


def test_line_of_which_a_full_disk_took_a_part_is_an_error_and_not_joined_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, whole = tmp_path / "lines", os.write
    append_line(path, "one")

    def full(descriptor: int, content: bytes) -> int:
        if content.startswith(b"tw"):
            return whole(descriptor, content[:2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            append_line(path, "two")
    append_line(path, "three")
    assert path.read_text() == "one\ntw\nthree\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [("/srv/pool/data", "/srv/pool/data fails"), (11, "an operation of this server fails")],
)
def test_number_of_an_open_file_is_no_name(name: object, words: str) -> None:
    assert describe(OSError(61, "No data available", name)).startswith(f"{words} (No data available)")
