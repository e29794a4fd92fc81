# SPDX-License-Identifier: Apache-2.0
"""Rows of soak are read, written and shown; those of the tree are of stories that exist."""

from pathlib import Path

import pytest

from host import soak_rows
from host.soak_rows import FAILED, PASSED, Row, append, line, newest, page, parsed, read
from host.stories import Module, exists, modules
from millrace.system.errors import Failed

FILE = "tests/vm/test_a.py"
A, B = f"{FILE}::test_a", f"{FILE}::test_b"
ROWS = [
    Row(FILE, "2026-01-01", "c0ffee0", PASSED),
    Row(A, "2026-01-02", "c0ffee1", PASSED, 2.5, "a note"),
    Row(B, "2026-01-03", "c0ffee2", FAILED),
]


def test_written_rows_are_read_oldest_first_and_in_their_order_within_a_day(tmp_path: Path) -> None:
    path = tmp_path / "soak.jsonl"
    later, sooner = Row(A, "2026-01-02", "c1", PASSED, 1.0), Row(B, "2026-01-01", "c2", FAILED, note="„kaputt“")
    again = Row(A, "2026-01-02", "c3", FAILED)
    append([later, again], path)
    append([sooner], path)
    assert read(path) == [sooner, later, again]
    assert path.read_text().splitlines()[2] == (
        '{"story": "tests/vm/test_a.py::test_b", "date": "2026-01-01", "commit": "c2", "result": "failed", '
        '"note": "„kaputt“"}'
    )


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        '{"story": "a"}',
        line(Row(A, "yesterday", "c1", PASSED)),
        line(Row(A, "2026-01-01", "c1", "green")),
        line(Row(A, "2026-01-01", "", PASSED)),
        line(Row(A, "2026-01-01", "c1", PASSED)).replace("}", ', "minutes": "long"}'),
        line(Row(A, "2026-01-01", "c1", PASSED)).replace("}", ', "host": "x"}'),
    ],
)
def test_line_that_is_no_row_is_quoted(text: str) -> None:
    with pytest.raises(Failed, match=r"^soak\.jsonl has a .*") as error:
        parsed(text)
    assert str(error.value).endswith(text)


def test_row_of_a_file_is_one_of_each_of_its_stories_and_no_other() -> None:
    assert [newest(ROWS, node) for node in (A, B, f"{FILE}::test_new", "tests/vm/test_b.py::test_a")] == [1, 2, 0, None]
    assert [newest(ROWS, node, PASSED) for node in (A, B)] == [1, 0]
    assert newest(ROWS, A, FAILED) is None


def test_page_shows_what_passed_last_the_oldest_success_and_every_run() -> None:
    text = page(ROWS, [Module(FILE, ("test_a", "test_b")), Module("tests/vm/test_new.py", ("test_c",))])
    assert "| `vm/test_a.py` | 1 of 2 | 2026-01-01 |  |\n| `vm/test_new.py` | 0 of 1 | none | 1 |" in text
    runs = text.partition("## Runs")[2].splitlines()[4:]
    assert runs == [
        "| 2026-01-03 | c0ffee2 | `vm/test_a.py test_b` | failed |  |  |",
        "| 2026-01-02 | c0ffee1 | `vm/test_a.py test_a` | passed | 2.5 | a note |",
        "| 2026-01-01 | c0ffee0 | `vm/test_a.py` | passed |  |  |",
    ]


def test_page_of_the_tree_is_made_from_its_rows() -> None:
    assert soak_rows.PAGE.read_text() == page(read(), modules()), "tools/docs --write writes it"


def test_every_row_is_of_a_story_that_exists() -> None:
    assert len(read()) > 100
    assert [row.story for row in read() if not exists(row.story)] == []
