# SPDX-License-Identifier: Apache-2.0
"""Verbs of the benchmark."""

import os
from pathlib import Path

import pytest

from millrace.cli import program
from millrace.measure.bench.plan import site as measured
from millrace.measure.bench.result import store
from millrace.system import paths
from tests.unit.measure.bench.sites import site


def test_a_run_that_is_not_there_leaves_the_file_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path / "server")
    (tmp_path / "report.html").write_text("the report before")
    assert program.run(["bench", "export", "20260101-000000", str(tmp_path / "report.html")]) == 2
    assert (tmp_path / "report.html").read_text() == "the report before"


@pytest.mark.parametrize(
    ("model", "content", "words"),
    [
        (
            "unet3d",
            '{"metric": {"train_au": [93.0]}}',
            "is no summary.json of mlpstorage 3.0: it has no metric.train_au_m",
        ),
        ("kvcache", "[]", "is no summary.json of mlpstorage 3.0: it is no object"),
        ("resnet50", "{}", "'resnet50' is not one of 'unet3d'"),
    ],
)
def test_summary_that_is_none_is_one_sentence_and_no_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    model: str,
    content: str,
    words: str,
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path / "server")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(measured, "site", site)
    file = tmp_path / "summary.json"
    file.write_text(content)
    assert program.run(["bench", "import", "--model", model, "--accelerator", "b200", str(file)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and words in said.err and said.err.count("\n") == 1
    assert store.ids() == []
