# SPDX-License-Identifier: Apache-2.0
"""Mistakes in spelling are found; a word that is right all the same has a reason, and only while a file has it."""

from pathlib import Path

import pytest

from host import spelling
from millrace.system.errors import Failed

# In two parts: this file is read, too.
MISTAKE = "rec" + "ieve"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(f"Clients {MISTAKE} an answer.\n")
    return path


def test_mistake_is_found_with_its_line(page: Path) -> None:
    assert spelling.complaints([page], page.parent, []) == [f"page.md:1: {MISTAKE} ==> receive"]


def test_allowed_word_is_no_mistake(page: Path) -> None:
    assert spelling.complaints([page], page.parent, [MISTAKE]) == []
    page.write_text(f"{MISTAKE.upper()}\n")
    assert spelling.complaints([page], page.parent, [MISTAKE]) == []


def test_word_that_no_file_has_any_more_is_an_error(page: Path) -> None:
    page.write_text("Clients receive an answer.\n")
    assert spelling.complaints([page], page.parent, [MISTAKE]) == [f"spelling.txt: no file has '{MISTAKE}': remove it"]


def test_german_texts_and_lock_files_are_not_read(page: Path) -> None:
    for name in ("de.po", "requirements.lock", "package-lock.json"):
        page = page.rename(page.with_name(name))
        assert spelling.complaints([page], page.parent, []) == []


def test_hostile_input_is_not_read(page: Path) -> None:
    corpus = page.parent / "tests/fuzz/corpus/smart"
    corpus.mkdir(parents=True)
    (corpus / "not-text").write_bytes(f"{MISTAKE} ".encode() + b"\xff")
    assert spelling.complaints([corpus / "not-text"], page.parent, []) == []


def test_codespell_that_does_not_run_is_an_error(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling.sys, "executable", "/bin/false")
    with pytest.raises(Failed, match="codespell failed"):
        spelling.complaints([page], page.parent, [])


@pytest.mark.parametrize(
    ("text", "fault"),
    [("chage\n", "'chage' has no reason"), ("aer PCIe\naer PCIe\n", "stands twice"), ("AER PCIe\n", "lower case")],
)
def test_list_without_reasons_or_with_words_twice_is_refused(text: str, fault: str) -> None:
    with pytest.raises(Failed, match=fault):
        spelling.allowed(text)


def test_list_has_words_with_reasons() -> None:
    assert spelling.allowed("# why\n\nchage chage(1)\n") == {"chage": "chage(1)"}
