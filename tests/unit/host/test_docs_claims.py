# SPDX-License-Identifier: Apache-2.0
"""The pages for readers who choose or search say what is so: quotes are in the program, rows have sources."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from host.layout import REPO, SERVERS

DOCS = REPO / "docs"
GAP = "…"
RIVALS = ("TrueNAS", "45Drives", "xiNAS", "by hand")
LINK = re.compile(r"\]\((https://[^)]+|[a-z-]+\.md[^)]*)\)")


def rows(text: str) -> list[list[str]]:
    """Return the cells of each row of the tables in a text, without headings."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    heads = {number - 1 for number, line in enumerate(lines) if set(line) <= set("|- ")}
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for number, line in enumerate(lines)
        if number not in heads and not set(line) <= set("|- ")
    ]


@cache
def sentences() -> str:
    """Return every text of the program, one a line; a gap stands for the values in it."""
    lines = "\n".join(text for path in (REPO / "tools/millrace").rglob("*.py") for text in texts(path.read_text()))
    return re.sub(f"{GAP}+", GAP, lines)


def texts(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def symptoms() -> list[str]:
    page = (DOCS / "troubleshooting.md").read_text()
    return [quoted[0] for cells in rows(page) if (quoted := re.findall(r"^`([^`]+)`", cells[0]))]


@pytest.mark.parametrize("symptom", symptoms())
def test_symptom_is_a_sentence_of_the_program(symptom: str) -> None:
    assert symptom in sentences()


def test_each_row_of_troubleshooting_has_a_symptom_and_a_remedy() -> None:
    table = rows((DOCS / "troubleshooting.md").read_text())
    assert len(table) == len(symptoms()) > 30
    assert [cells for cells in table if len(cells) != 2 or len(cells[1]) < 5] == []


def test_sentence_that_the_program_does_not_have_is_found() -> None:
    assert "The pool is on fire: …." not in sentences()
    assert "The value is …." in set(texts('x = f"The value is {x}."'))


def test_each_line_of_the_comparison_has_a_source() -> None:
    page = (DOCS / "why.md").read_text()
    ahead, _, behind = page.partition("## Where others are ahead")
    assert all(rival in ahead and rival in behind for rival in RIVALS)
    assert len(rows(ahead)) >= 8 and len(rows(behind)) >= 8
    assert [cells[0] for cells in rows(page) if not LINK.search(" ".join(cells))] == []
    assert "## Who should not use it" in page


def test_page_of_the_hardware_has_each_server_that_is_booted() -> None:
    page = (DOCS / "hardware.md").read_text()
    tried = {cells[0].strip("`") for cells in rows(page.partition("## Expected to work")[0])}
    assert tried == {path.stem for path in SERVERS.glob("*.toml")}


def test_readme_leads_to_what_a_reader_chooses_by() -> None:
    text = (REPO / "README.md").read_text()
    for page in ("why", "sizing", "hardware", "troubleshooting", "faq", "roadmap", "release"):
        assert f"(docs/{page}.md)" in text
    assert "**No physical server has been measured yet**" in text
