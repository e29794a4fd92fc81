# SPDX-License-Identifier: Apache-2.0
"""Two names exchange what they lead to, or both stay."""

from pathlib import Path

import pytest

from millrace.system.trees import nofollow
from millrace.system.trees.exchange import exchange


def test_names_of_two_directories_are_exchanged(tmp_path: Path) -> None:
    for name in ("here/tree", "there/data"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text(name)
    with nofollow.directory(tmp_path / "here") as here, nofollow.directory(tmp_path / "there") as there:
        exchange("tree", here, "data", there)
    assert (tmp_path / "here/tree/file").read_text() == "there/data"
    assert (tmp_path / "there/data/file").read_text() == "here/tree"


def test_name_that_does_not_exist_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    with nofollow.directory(tmp_path) as top, pytest.raises(FileNotFoundError):
        exchange("tree", top, "data", top)
    assert (tmp_path / "tree").is_dir()
