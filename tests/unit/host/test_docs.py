# SPDX-License-Identifier: Apache-2.0
"""The web site of the manual fetches nothing, has every page, and a complaint of mkdocs is a failure."""

import re
from pathlib import Path

import pytest

from host import docs, test
from host.layout import REPO, Caches


def program(directory: Path, script: str) -> Path:
    path = directory / "mkdocs"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_build_is_strict_and_goes_where_it_should(tmp_path: Path) -> None:
    mkdocs = program(tmp_path, 'echo "$@" > "$(dirname "$0")/asked"')
    assert docs.build(mkdocs, tmp_path / "site") == ""
    asked = (tmp_path / "asked").read_text().split()
    # with --quiet mkdocs counts no warning, and nothing is strict
    assert asked[:2] == ["build", "--strict"] and "--quiet" not in asked and f"--site-dir={tmp_path / 'site'}" in asked


def test_failed_build_has_the_message_of_mkdocs(tmp_path: Path) -> None:
    assert (
        docs.build(
            program(tmp_path, "echo 'INFO    -  Building' >&2; echo 'no such file' >&2; exit 1"), tmp_path / "site"
        )
        == "no such file"
    )
    assert docs.build(program(tmp_path, "exit 1"), tmp_path / "site") == "mkdocs failed"


def test_a_complaint_fails_the_part(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(docs, "check", lambda cache: "a broken link")
    assert test.tested_manual() == test.Count(failed=1)
    assert "a broken link" in capsys.readouterr().out
    monkeypatch.setattr(docs, "check", lambda cache: "")
    assert test.tested_manual() == test.Count(passed=1)


def test_the_generator_is_installed_once_and_by_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def create(place: Path, *, with_pip: bool) -> None:
        assert with_pip
        (place / "bin").mkdir(parents=True)
        pip = place / "bin/pip"
        pip.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
        pip.chmod(0o755)

    monkeypatch.setattr(docs.venv, "create", create)
    first, second = docs.generator(Caches(tmp_path)), docs.generator(Caches(tmp_path))
    assert first == second
    (asked,) = (tmp_path / "asked").read_text().splitlines()
    assert "--require-hashes" in asked and asked.endswith(f"-r {docs.LOCK}")


def test_every_page_is_in_the_navigation_and_nothing_is_fetched() -> None:
    config = docs.CONFIG.read_text()
    named = set(re.findall(r"^  - .+: (\S+\.md)$", config, re.MULTILINE))
    assert named == {page.name for page in (REPO / "docs").glob("*.md")}
    assert "  font: false\n" in config and "://" not in config
