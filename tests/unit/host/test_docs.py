# SPDX-License-Identifier: Apache-2.0
"""The web site of the manual fetches nothing, has every page, and a complaint of mkdocs is a failure."""

import re
from pathlib import Path

import pytest

from host import docs, test
from host.layout import REPO, Caches

# A day, a month of a year, or a commit: hexadecimal with a letter and a digit, and not a part of a UUID.
DATED = re.compile(
    r"\b20\d\d-[01]\d-[0-3]\d\b"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December) 20\d\d\b"
    r"|(?<![-\w])(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40}(?![-\w])"
)


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


def test_page_of_the_manual_has_no_date_and_no_commit() -> None:
    """What was measured, and when, is in docs/evidence/."""
    pages = [REPO / "README.md", *(REPO / "docs").glob("*.md")]
    assert {page.name: found for page in pages if (found := DATED.findall(page.read_text()))} == {}
    assert DATED.findall((REPO / "docs/evidence/settings.md").read_text())


@pytest.mark.parametrize("text", ["on 2026-11-24", "28 November 2026", "the image of e02c7ff5", "commit 64556ea"])
def test_date_or_commit_is_found(text: str) -> None:
    assert DATED.search(text)


@pytest.mark.parametrize(
    "text", ["1074741823", "0.2.0.20261124.1456", "nvme-uuid.5a1f4c1e-0d0b-4c8e-9b0e-6f3f6d1c2b3a"]
)
def test_number_version_or_uuid_is_neither(text: str) -> None:
    assert not DATED.search(text)
