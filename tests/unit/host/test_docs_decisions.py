# SPDX-License-Identifier: Apache-2.0
"""A decision says when it was made, why, what follows and what would change it; the index and the web site have all."""

import re
from pathlib import Path

import pytest

from host.layout import REPO

DECISIONS = REPO / "docs/decisions"
PAGES = sorted(DECISIONS.glob("[0-9]*.md"))
HEADINGS = ["Status", "Context", "Decision", "Consequences", "What would make us decide again"]
STATUS = re.compile(r"(Accepted|Replaced by \[.+\]\(.+\)), \d{1,2} [A-Z][a-z]+ 20\d\d\b")


def faults(page: Path) -> list[str]:
    """Return what a page of a decision lacks."""
    title, *parts = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)
    sections = {part.splitlines()[0]: part.partition("\n")[2].strip() for part in parts}
    found = [] if title.startswith(f"# {int(page.name[:4])}. ") else ["number in the title"]
    found += ["headings"] if list(sections) != HEADINGS else []
    found += [f"text of {name}" for name, text in sections.items() if not text]
    return found + ([] if STATUS.match(sections.get("Status", "")) else ["date of the status"])


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_decision_is_complete(page: Path) -> None:
    assert faults(page) == []


def test_page_that_lacks_something_is_found(tmp_path: Path) -> None:
    page = tmp_path / "0001-log.md"
    page.write_text("# 2. The log\n\n## Status\n\nAccepted\n\n## Context\n\n## Decision\n\nYes.\n")
    assert faults(page) == ["number in the title", "headings", "text of Context", "date of the status"]


def test_numbers_have_no_gap_and_every_decision_is_in_both_lists() -> None:
    assert [int(page.name[:4]) for page in PAGES] == list(range(1, len(PAGES) + 1))
    index, site = (DECISIONS / "index.md").read_text(), (REPO / "tools/host/mkdocs.yml").read_text()
    titles = {page.name: page.read_text().splitlines()[0].split(". ", 1)[1] for page in PAGES}
    assert len(titles) >= 10
    assert [name for name, title in titles.items() if f"({name}) | {title} |" not in index] == []
    assert [name for name in titles if f"- decisions/{name}\n" not in site] == []
