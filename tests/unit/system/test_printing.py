# SPDX-License-Identifier: Apache-2.0
"""Tables and fields: widths as a terminal shows them, lines that fit it, and no control characters of strangers."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from host.layout import REPO
from millrace.system import printing
from millrace.system.printing import Cell, Line, Styled, Terminal, fields, fitted, line, notes, safe, table, width

PACKAGE = REPO / "tools/millrace"
FILE = Terminal()
COLOURS = Terminal(None, colour=True)
NAMES: list[list[Cell]] = [["data", "7.68 TB", "NFS"], ["a", "960 GB", None]]


def test_column_is_as_wide_as_its_widest_cell_and_nothing_follows_the_last() -> None:
    assert list(table(("Name", "Size", "Served"), NAMES, right=("Size",), on=FILE)) == [
        "Name     Size  Served",
        "data  7.68 TB  NFS",
        "a      960 GB  -",
    ]


def test_table_without_rows_has_no_headers() -> None:
    assert list(table(("Name", "Size"), [], on=FILE)) == []


def test_empty_cells_at_the_end_leave_no_blanks() -> None:
    assert list(table(("A", "Wide header"), [["x", ""], ["", ""]], indent=2, on=FILE)) == [
        "  A  Wide header",
        "  x",
        "  ",
    ]


def test_cell_with_several_lines_stays_in_its_column() -> None:
    rows: list[list[Cell]] = [["a", ["one", "two"], "x"], ["b", [], "y"]]
    assert list(table(("N", "Found", "Z"), rows, on=FILE)) == ["N  Found  Z", "a  one    x", "   two", "b         y"]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("data", 4),
        ("数据", 4),
        ("e\u0301te\u0301", 3),
        ("\u1112\u1161\u11ab", 2),
        ("\uff46\uff55", 4),
        ("", 0),
    ],
)
def test_width_is_what_a_terminal_shows(text: str, columns: int) -> None:
    assert width(text) == columns
    (head, row) = table(("Name", "Z"), [[text, "end"]], on=FILE)
    before = row.removesuffix("end")
    assert width(before) == width(head.removesuffix("Z")) == max(columns, 4) + 2


@pytest.mark.parametrize(
    "evil", ["\x1b]0;title\x07", "a\nb", "a\rb", "\u202edesrever", "\x9b2J", "tab\there", "\udc80"]
)
def test_control_characters_of_strangers_become_escapes(evil: str) -> None:
    lines = [
        *table((evil,), [[evil], [[evil, evil]], [Styled(evil, "red")]], on=FILE),
        *fields([(evil, evil)], on=FILE),
        *notes([evil], on=FILE),
        line(evil, "bold", FILE),
    ]
    assert len(lines) == 8
    assert all(one.isprintable() for one in lines)


def test_line_break_and_tab_of_a_text_are_kept_and_other_control_characters_are_not() -> None:
    assert safe("a:\n\tb\x1b[2J\r") == "a:\n\tb\\x1b[2J\\r"
    assert safe(Line("\x1b[1mbold\x1b[0m")) == "\x1b[1mbold\x1b[0m"


def test_style_is_shown_where_there_are_colours_only() -> None:
    rows: list[list[Cell]] = [[Styled("bad", "red"), "x"]]
    assert list(table(("State", "Z"), rows, on=FILE))[1] == "bad    x"
    assert list(table(("State", "Z"), rows, on=COLOURS))[1] == "\x1b[31mbad  \x1b[0m  x"
    assert line("sum", "bold", COLOURS) == "\x1b[1msum\x1b[0m"
    assert list(fields([("State", Styled("bad", "red"))], on=COLOURS)) == ["State:  \x1b[31mbad\x1b[0m"]


def test_fields_have_their_values_in_one_column() -> None:
    pairs: list[tuple[str, Cell]] = [("Serial", "S1"), ("Size", 4), ("Bay", None), ("Shares", ["a", "b"])]
    assert list(fields(pairs, indent=2, on=FILE)) == [
        "  Serial:  S1",
        "  Size:    4",
        "  Bay:     -",
        "  Shares:  a",
        "           b",
    ]


LONG = "one two three four five six seven eight nine ten eleven twelve"


@pytest.mark.parametrize("columns", [30, 40, 60, 80])
def test_every_line_fits_the_terminal(columns: int) -> None:
    on = Terminal(columns)
    lines = [
        *table(("Name", "Why"), [["data", LONG]], on=on),
        *table(("Where", "Found", "Remedy"), [[LONG, LONG, LONG * 4]], on=on),
        *fields([("Title", LONG), ("Word", "#" * 200), ("数", "数据" * 60)], on=on),
        *notes([LONG, "数据" * 60], on=on),
    ]
    assert all(width(one) <= columns for one in lines)
    assert "".join("".join(lines).split()).count("#") == 200


def test_last_column_wraps_first_and_between_words() -> None:
    rows = [["S6XYZ1234567890", LONG]]
    assert list(table(("Serial", "Why"), rows, on=Terminal(50)))[1:] == [
        "S6XYZ1234567890  one two three four five six seven",
        "                 eight nine ten eleven twelve",
    ]


def test_last_column_is_cut_where_that_is_wanted() -> None:
    rows = [["layout", LONG], ["md", "short"]]
    assert list(table(("Decision", "Why"), rows, cut=True, on=Terminal(30)))[1:] == [
        "layout    one two three four …",
        "md        short",
    ]
    assert list(table(("Decision", "Why"), rows, cut=True, on=FILE))[1] == f"layout    {LONG}"


def test_widest_columns_give_their_room_and_narrow_ones_keep_it() -> None:
    words = [4, 4, 4]
    assert fitted([10, 20, 30], words, 60) == [10, 20, 30]
    assert fitted([10, 20, 80], words, 60) == [10, 20, 30]
    assert fitted([10, 80, 80], words, 60) == [10, 25, 25]
    # a terminal of no use: cells keep what can be read
    assert fitted([10, 80, 80], words, 5) == [6, 6, 6]


def test_words_are_broken_where_nothing_else_helps() -> None:
    assert fitted([31, 80, 80], [31, 10, 10], 81) == [31, 25, 25]
    assert fitted([31, 80, 80], [31, 80, 80], 81) == [27, 27, 27]


def test_columns_of_the_environment_are_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert printing.terminal() == Terminal(100)
    for given in ("0", "", "wide", "-5", "²"):
        monkeypatch.setenv("COLUMNS", given)
        assert printing.terminal() == Terminal(None)


@pytest.mark.parametrize(("environment", "colour"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_terminal_has_its_width_and_its_colours(environment: dict[str, str], colour: bool) -> None:
    """A process on a terminal of 72 columns."""
    controller, side = os.openpty()
    program = (
        "import fcntl, struct, sys, termios;"
        "fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 72, 0, 0));"
        "from millrace.system.printing import terminal; print(terminal(), file=sys.stderr)"
    )
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPO / "tools"), "TERM": "linux", **environment}
    try:
        done = subprocess.run(
            [sys.executable, "-B", "-c", program], stdout=side, stderr=subprocess.PIPE, text=True, env=clean, check=True
        )
    finally:
        os.close(side)
        os.close(controller)
    assert done.stderr == f"Terminal(columns=72, colour={colour})\n"


def padding(tree: ast.AST) -> list[int]:
    """Lines of a module that pad text: str.ljust and its like, and format specifications with a width."""
    lines = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="ljust" | "rjust" | "center")):
                lines.append(node.lineno)
            case ast.FormattedValue(format_spec=ast.JoinedStr(values=[first, *_])):
                spec = first.value if isinstance(first, ast.Constant) else ""
                wide = re.match(r"(?:.?[<>^])|[1-9]", spec) if spec else isinstance(first, ast.FormattedValue)
                if wide:
                    lines.append(node.lineno)
    return lines


def test_no_module_pads_columns_by_itself() -> None:
    """It would not know what a terminal needs for a character; `padded` of the printer does."""
    modules = sorted(PACKAGE.rglob("*.py"))
    found = {str(path.relative_to(PACKAGE)): padding(ast.parse(path.read_text())) for path in modules}
    assert len(found) > 300
    assert {name: lines for name, lines in found.items() if lines} == {}


# What draws bars on stderr while something goes on; it is imported when that begins.
BARS = {
    "measure/bench/report/text.py",
    "storage/drive_test/testing_text.py",
    "storage/provision/provision_verbs.py",
    "system/progress_bar.py",
}


def test_rich_draws_bars_only() -> None:
    imports = {
        str(path.relative_to(PACKAGE)): set(
            re.findall(r"^( *)from (rich[.\w]*) import", path.read_text(), re.MULTILINE)
        )
        for path in PACKAGE.rglob("*.py")
    }
    users = {name: found for name, found in imports.items() if found}
    assert set(users) == BARS
    assert set.union(*users.values()) == {("    ", "rich.console"), ("    ", "rich.progress")}


@pytest.mark.parametrize(
    ("text", "is_padding"),
    [
        ('f"{name:<20}"', True),
        ('f"{name:>{width}}"', True),
        ('f"{name:{width}}"', True),
        ('f"{number:4}"', True),
        ('f"{name:·^20}"', True),
        ("name.ljust(width)", True),
        ('f"{number:04}"', False),
        ('f"{number:.3g}"', False),
        ('f"{number:,.0f}"', False),
        ('f"{number:+.1%}"', False),
        ('f"{number:%Y-%m}"', False),
        ('f"{number}"', False),
    ],
)
def test_padding_is_found(text: str, is_padding: bool) -> None:
    assert bool(padding(ast.parse(text))) is is_padding


def test_no_library_of_terminals_is_imported(tmp_path: Path) -> None:
    program = (
        "import sys; import millrace.system.printing; "
        "print(sorted({'rich', 'unicodedata', 'textwrap', 'shutil'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-S", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(REPO / "tools")},
    )
    assert done.stdout == "[]\n"
