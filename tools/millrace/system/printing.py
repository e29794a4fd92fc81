# SPDX-License-Identifier: Apache-2.0
"""The text of verbs: tables under headers, fields with their titles, indented notes.

Widths are those that a terminal shows: two columns for a CJK character, none for a combining one. Lines fit a
terminal: the last column wraps, then the widest ones. Files and pipes get whole lines. Foreign text, such as serial
numbers and names of files, reaches no terminal as control characters.
"""

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from millrace.system.text import printable

Style = Literal["", "bold", "dim", "red", "green", "yellow", "cyan"]

GAP = "  "
LEAST = 6
"""Columns that a cell keeps, however narrow the terminal is."""
LAST_LEAST = 24
"""Columns of the last cell below which other cells wrap, too."""
NOTHING = "-"
CODES: dict[Style, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(frozen=True)
class Terminal:
    """Where text is printed: its columns, None where no line wraps; `colour` is whether it shows colours."""

    columns: int | None = None
    colour: bool = False


@dataclass(frozen=True)
class Styled:
    """Text with a style, which is shown where there are colours."""

    text: str
    style: Style


Cell = str | int | None | Styled | Sequence[str]
"""A cell of a table, or the value of a field. None is a dash, a list has a line for each entry."""


class Line(str):
    """A line that is printed as it is: foreign text in it is harmless already, its escapes are styles."""

    __slots__ = ()


@dataclass(frozen=True)
class _Block:
    """A cell as its lines."""

    lines: list[str]
    style: Style = ""


def terminal() -> Terminal:
    """Return what standard output is. COLUMNS is the width where it is set, as for other programs."""
    shown, given = sys.stdout.isatty(), os.environ.get("COLUMNS", "")
    columns = 0
    if given.isascii() and given.isdigit():
        columns = int(given)
    elif shown:
        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns
        except (OSError, ValueError):
            # a stream of a test
            columns = 0
    # 0: a serial console does not know its width
    return Terminal(columns or None, shown and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb")


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    right: Collection[str] = (),
    *,
    cut: bool = False,
    indent: int = 0,
    on: Terminal | None = None,
) -> Iterator[Line]:
    """Yield the lines of a table; columns of the headers in `right` are aligned to the right. No rows, no lines.

    `cut`: where it does not fit the terminal, the last column is cut with … instead of wrapped.
    """
    blocks = [[_block(cell) for cell in row] for row in rows]
    if not blocks:
        return
    on = on or terminal()
    blocks.insert(0, [_block(title) for title in headers])
    columns = [[line for row in blocks for line in row[number].lines] for number in range(len(headers))]
    widths = [max(map(width, column)) for column in columns]
    if on.columns is not None:
        words = [max((width(word) for line in column for word in line.split()), default=0) for column in columns]
        # the first names the row: it is what is searched for and copied
        widths = fitted(widths, [widths[0], *words[1:]], on.columns - indent - len(GAP) * (len(headers) - 1))
    aligned = [title in right for title in headers]
    for row in blocks:
        parts = [wrapped(block.lines, most) for block, most in zip(row, widths, strict=True)]
        if cut:
            parts[-1] = [shortened(each, widths[-1]) for each in row[-1].lines]
        for cells in zip_longest(*parts, fillvalue=""):
            texts = [padded(*each) for each in zip(cells, widths, aligned, strict=True)]
            # blanks at the end of a line would wrap, and be copied
            last = max((place for place, cell in enumerate(cells) if cell), default=0)
            texts[last] = texts[last].rstrip()
            styled = (_styled(text, block.style, on) for text, block in zip(texts[: last + 1], row, strict=False))
            yield Line(" " * indent + GAP.join(styled))


def fields(pairs: Iterable[tuple[str, Cell]], *, indent: int = 0, on: Terminal | None = None) -> Iterator[Line]:
    """Yield `Title:  value` with all values in one column; a value that is a list has a line for each entry."""
    found = [(printable(f"{title}:") if title else "", _block(value)) for title, value in pairs]
    on = on or terminal()
    first = max((width(title) for title, _ in found), default=0)
    most = None if on.columns is None else max(on.columns - indent - first - len(GAP), LEAST)
    for title, block in found:
        for number, part in enumerate(wrapped(block.lines, most)):
            before = " " * indent + padded("" if number else title, first)
            yield Line(f"{before}{GAP}{_styled(part, block.style, on)}" if part else before.rstrip())


def notes(lines: Iterable[str], *, indent: int = 2, style: Style = "", on: Terminal | None = None) -> Iterator[Line]:
    """Yield sentences, indented and as wide as the terminal at most."""
    on = on or terminal()
    most = None if on.columns is None else max(on.columns - indent, LEAST)
    for each in lines:
        for part in wrapped([printable(each)], most):
            yield Line(" " * indent + _styled(part, style, on))


def line(text: str, style: Style, on: Terminal | None = None) -> Line:
    """Return one line in a style; nothing is wrapped, so that it can be copied."""
    return Line(_styled(printable(text), style, on or terminal()))


def safe(text: str) -> str:
    """Return text of a verb for the terminal: control characters become escapes, except line breaks and tabs."""
    if isinstance(text, Line):
        return text
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def width(text: str) -> int:
    """Return the columns that a terminal needs for text without control characters."""
    if text.isascii():
        return len(text)
    # only where it is needed: it is a library of its own
    from unicodedata import category, east_asian_width

    def columns(one: str) -> int:
        # vowels and finals of Hangul join the character before them, as macOS names files
        if category(one) in ("Mn", "Me") or "\u1160" <= one <= "\u11ff":
            return 0
        return 2 if east_asian_width(one) in "WF" else 1

    return sum(map(columns, text))


def padded(text: str, columns: int, right: bool = False) -> str:
    """Return text with blanks up to a width."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def fitted(widths: Sequence[int], words: Sequence[int], room: int) -> list[int]:
    """Return widths of columns that fit: the last one gives first, then all that are wider than the others.

    `words` are the longest words of each column, which are broken where nothing else helps.
    """
    columns = list(widths)
    if sum(columns) <= room:
        return columns
    last = max(room - sum(columns[:-1]), min(LAST_LEAST, columns[-1]))
    if sum(columns[:-1]) + last <= room:
        return [*columns[:-1], last]
    for least in (words, [LEAST] * len(columns)):
        for most in range(max(columns), LEAST - 1, -1):
            narrow = [min(each, max(most, word)) for each, word in zip(columns, least, strict=True)]
            if sum(narrow) <= room:
                return narrow
    return [min(each, LEAST) for each in columns]


def wrapped(lines: Iterable[str], columns: int | None) -> list[str]:
    """Return lines of at most `columns` columns, broken at blanks and inside words that are longer."""
    return [part for each in lines for part in (_parts(each, columns) if columns is not None else [each])] or [""]


def shortened(text: str, columns: int) -> str:
    """Return text that fits, the end cut with … where it must be."""
    return text if width(text) <= columns else f"{_head(text, columns - 1)}…"


def _parts(text: str, columns: int) -> Iterator[str]:
    while width(text) > columns:
        head = _head(text, columns)
        # the blank at which it breaks may be the one behind
        place = (head + text[len(head)]).rfind(" ")
        cut = place if place > 0 and head[:place].strip() else len(head)
        yield text[:cut].rstrip()
        text = text[cut:].lstrip()
    yield text


def _head(text: str, columns: int) -> str:
    """As many characters as fit, one at least."""
    end = min(len(text), max(columns, 1))
    while end < len(text) and width(text[: end + 1]) <= columns:
        end += 1
    while end > 1 and width(text[:end]) > columns:
        end -= 1
    return text[:end]


def _block(cell: Cell) -> _Block:
    if cell is None:
        return _Block([NOTHING])
    if isinstance(cell, Styled):
        return _Block([printable(cell.text)], cell.style)
    if isinstance(cell, str | int):
        return _Block([printable(str(cell))])
    return _Block([printable(each) for each in cell] or [""])


def _styled(text: str, style: Style, on: Terminal) -> str:
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if style and text and on.colour else text
