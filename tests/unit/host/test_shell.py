# SPDX-License-Identifier: Apache-2.0
"""Every shell script of the tree is read by ShellCheck."""

from pathlib import Path

import pytest

from host import shell
from host.layout import REPO
from millrace.system.errors import Failed


@pytest.mark.parametrize(
    ("name", "first", "expected"),
    [
        ("enter", "#!/bin/sh", True),
        ("run", "#!/usr/bin/env bash", True),
        ("run", "#! /bin/bash -eu", True),
        ("library.sh", "# sourced by others", True),
        ("millrace", "#!/usr/bin/python3", False),
        ("shares", "#!/bin/shares", False),
        ("notes.md", "#!/usr/bin/env of a shell", False),
        ("empty", "", False),
    ],
)
def test_script_is_found_by_its_first_line_or_its_name(tmp_path: Path, name: str, first: str, expected: bool) -> None:
    (tmp_path / name).write_text(first)
    assert [path.name for path in shell.scripts(tmp_path)] == [name] * expected


def test_scripts_of_the_tools_and_of_the_image_are_among_them() -> None:
    found = {str(path.relative_to(REPO)) for path in shell.scripts(REPO)}
    assert {".ci/run", "tools/host/enter", "mkosi.finalize", "mkosi.extra/usr/lib/millrace/md-event"} <= found


def test_fault_in_a_script_is_found(tmp_path: Path) -> None:
    script = tmp_path / "clean"
    script.write_text('#!/bin/sh\nrm -rf "$1"\n')
    assert shell.check([script], tmp_path) == ""
    script.write_text("#!/bin/sh\nrm -rf $1\n")
    assert "SC2086" in shell.check([script], tmp_path)


def test_script_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="missing"):
        shell.check([tmp_path / "missing"], tmp_path)


def test_tree_without_scripts_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "REPO", tmp_path)
    with pytest.raises(Failed, match="no shell script"):
        shell.main([])
