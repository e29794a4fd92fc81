# SPDX-License-Identifier: Apache-2.0
"""Checks read the files of the tree, and none that a tool has made."""

import subprocess
from pathlib import Path

import pytest

from host import tree
from millrace.system.errors import Failed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("docs/new.md", "tools/run", "mkosi.output/image.raw", "tools/__pycache__/run.pyc", ".ruff_cache/x"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
    return tmp_path


def test_copy_without_git_has_what_no_tool_makes(root: Path) -> None:
    assert [str(path.relative_to(root)) for path in tree.files(root)] == ["docs/new.md", "tools/run"]


def test_clone_has_what_git_does_not_ignore(root: Path) -> None:
    (root / ".gitignore").write_text("/mkosi.output/\n__pycache__/\n.ruff_cache/\n")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    subprocess.run(["git", "-C", root, "add", "docs"], check=True)
    found = [str(path.relative_to(root)) for path in tree.files(root)]
    assert found == [".gitignore", "docs/new.md", "tools/run"]
    (root / "docs/new.md").unlink()
    assert [path.name for path in tree.files(root)] == [".gitignore", "run"]


def test_clone_that_git_cannot_read_is_an_error(root: Path) -> None:
    (root / ".git").write_text("gitdir: nowhere\n")
    with pytest.raises(Failed, match="git cannot list the files of"):
        tree.files(root)
