# SPDX-License-Identifier: Apache-2.0
"""Verbs of the benchmark."""

from pathlib import Path

import pytest

from millrace import cli, paths


def test_a_run_that_is_not_there_leaves_the_file_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path / "server")
    (tmp_path / "report.html").write_text("the report before")
    assert cli.run(["bench", "export", "20260101-000000", str(tmp_path / "report.html")]) == 2
    assert (tmp_path / "report.html").read_text() == "the report before"
