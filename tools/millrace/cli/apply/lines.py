# SPDX-License-Identifier: Apache-2.0
"""The line of each key in a TOML text: tomllib says what the values are, and not where they stand.

The text has been parsed by tomllib before, so that nothing is verified here a second time. Grammar: toml.io, v1.0.0.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Sequence

Place = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = (
    re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


def lines_of(text: str) -> dict[Place, int]:
    """Return the line of each table, key and entry of a list by its place, such as ("shares", "data", "size")."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._breaks = [index for index, each in enumerate(text) if each == "\n"]
        self._lines: dict[Place, int] = {}
        # how many tables of an array of tables there are so far
        self._counts: dict[Place, int] = {}

    def scan(self) -> dict[Place, int]:
        """Return the lines of the whole text."""
        table: Place = ()
        self._skip()
        while self._at < len(self._text):
            if self._taken("["):
                table = self._header()
            else:
                self._pair(table)
            self._skip()
        return self._lines

    def _header(self) -> Place:
        repeated = self._taken("[")
        table = self._in_arrays(self._keys())
        self._taken("]")
        if not repeated:
            return table
        self._taken("]")
        number = self._counts.get(table, 0)
        self._counts[table] = number + 1
        self._note((*table, number))
        return (*table, number)

    def _in_arrays(self, keys: Sequence[str]) -> Place:
        place: Place = ()
        for index, key in enumerate(keys):
            place = (*place, key)
            self._note(place)
            if index < len(keys) - 1 and place in self._counts:
                place = (*place, self._counts[place] - 1)
        return place

    def _pair(self, table: Place) -> None:
        place = table
        for key in self._keys():
            place = (*place, key)
            self._note(place)
        self._taken("=")
        self._skip()
        self._value(place)

    def _keys(self) -> list[str]:
        keys = [self._key()]
        while self._taken("."):
            keys.append(self._key())
        return keys

    def _key(self) -> str:
        self._skip()
        key = self._word()
        self._skip()
        return key

    def _word(self) -> str:
        bare = _BARE.match(self._text, self._at)
        if bare:
            self._at = bare.end()
            return bare[0]
        return str(tomllib.loads(f"key = {self._string()}")["key"])

    def _string(self) -> str:
        for pattern in _STRINGS:
            match = pattern.match(self._text, self._at)
            if match:
                self._at = match.end()
                return match[0]
        raise ValueError(f"line {self._line()} has no string where one is expected")

    def _value(self, place: Place) -> None:
        first = self._text[self._at : self._at + 1]
        if first in ('"', "'"):
            self._string()
        elif self._taken("["):
            self._list(place)
        elif self._taken("{"):
            self._inline(place)
        else:
            match = _SCALAR.match(self._text, self._at)
            self._at = match.end() if match else len(self._text)

    def _list(self, place: Place) -> None:
        number = 0
        self._skip()
        while not self._taken("]"):
            self._note((*place, number))
            self._value((*place, number))
            self._separator()
            number += 1

    def _inline(self, place: Place) -> None:
        self._skip()
        while not self._taken("}"):
            self._pair(place)
            self._separator()

    def _separator(self) -> None:
        self._skip()
        self._taken(",")
        self._skip()

    def _skip(self) -> None:
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _taken(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._at):
            return False
        self._at += 1
        return True

    def _note(self, place: Place) -> None:
        self._lines.setdefault(place, self._line())

    def _line(self) -> int:
        return bisect_right(self._breaks, self._at - 1) + 1
