# SPDX-License-Identifier: Apache-2.0
"""Links of the manual resolve, and the files and commands that it names exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.layout import REPO

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
PAGES = ("*.md", ".github/**/*.md", "cockpit-plugin/*.md", "docs/**/*.md", "examples/**/*.md", "tests/**/*.md")
TOOL = re.compile(r"\btools/[a-z]+\b")


def pages() -> list[Path]:
    """Return every Markdown page that is written by hand."""
    return sorted(page for pattern in PAGES for page in REPO.glob(pattern))


def links(page: Path) -> Iterator[str]:
    """Yield the targets of all links and pictures, but those in code."""
    yield from LINK.findall(FENCE.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings get."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def wrong(page: Path) -> list[str]:
    """Return the links of a page that lead nowhere."""
    dead_links = []
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead_links.append(link)
    return dead_links


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    assert {str(page.relative_to(REPO)): wrong(page) for page in pages() if wrong(page)} == {}


def test_a_broken_link_and_a_broken_anchor_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One page\n\n[a](absent.md) [b](#one-page) [c](#two) ![d](page.md) [e](https://example.com/)\n")
    assert wrong(page) == ["absent.md", "#two"]


def test_every_page_of_the_manual_can_be_reached() -> None:
    manual = {page for page in pages() if page.parent == REPO / "docs"}
    linked = {(page.parent / link.partition("#")[0]).resolve() for page in manual for link in links(page)}
    assert len(manual) > 10
    assert manual - linked == {REPO / "docs/index.md"}


def test_every_picture_of_the_manual_is_shown() -> None:
    shown = {(page.parent / link).resolve() for page in pages() for link in links(page)}
    pictures = set((REPO / "docs/pictures").iterdir())
    assert pictures and pictures <= shown


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/development.md"])
def test_tools_that_are_named_exist(name: str) -> None:
    named = set(TOOL.findall((REPO / name).read_text()))
    assert named
    assert [tool for tool in sorted(named) if not (REPO / tool).exists()] == []


def test_the_readme_is_short_and_begins_with_the_two_commands() -> None:
    lines = (REPO / "README.md").read_text().splitlines()
    assert len(lines) <= 110
    assert [line.strip() for line in lines if line.strip() in {"tools/run", "tools/test"}] == [
        "tools/run",
        "tools/test",
    ]
