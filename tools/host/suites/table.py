# SPDX-License-Identifier: Apache-2.0
"""The tables of known results: each test of a suite that does not succeed, with the reason; every other one must.

A table is a file `NAME.toml` in tests/vm/shares/known/:

    [suite]
    title = "smbtorture"
    from = "Where it comes from, with the release that the table is of."

    [[known]]
    why = "The reason, as a sentence."
    kind = "design"
    where = ["mixed"]               # patterns of places: types of a share, or parts of the suite; all without it
    ends = "skipped"                # "failed" without it
    tests = ["smb2.lease.*"]        # patterns of tests (fnmatch(3))

    [left-out.all]                  # patterns of groups of tests that are not run, at one place or at all
    "bench" = "It measures, and does not end by itself."
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from host.layout import REPO
from host.soak_rows import FAILED, PASSED, SKIPPED
from millrace.system.errors import Failed

TABLES: Final = REPO / "tests/vm/shares/known"
EVERYWHERE: Final = "all"
KINDS: Final = {
    "fault": "a fault of Millrace that is not mended yet",
    "limit": "a known limit of the kernel, of XFS or of Samba, which their own projects list or describe",
    "design": "a decision of Millrace",
    "suite": "a property of the test, or something that only the suite's own servers have",
    "emulation": "a matter of time, which an emulated server does not keep",
}
"""Whose matter it is that a test does not succeed."""


@dataclass(frozen=True)
class Known:
    """Tests that end in one way other than success, for one reason. `where` and `tests` are patterns."""

    why: str
    kind: str
    tests: tuple[str, ...]
    where: tuple[str, ...] = ("*",)
    ends: str = FAILED

    def covers(self, place: str, test: str, result: str) -> bool:
        """Whether this is the reason for a result of a test at a place."""
        if result != self.ends or not any(fnmatchcase(place, pattern) for pattern in self.where):
            return False
        return any(fnmatchcase(test, pattern) for pattern in self.tests)


@dataclass(frozen=True)
class Table:
    """What is known of one suite: its title, its source, the results, and by place the groups that are left out."""

    title: str
    source: str
    known: tuple[Known, ...]
    left_out: Mapping[str, Mapping[str, str]]

    def new(self, place: str, results: Mapping[str, str]) -> list[str]:
        """Return a line for each test at a place that did not succeed and has no reason in this table."""
        return [
            f"{test}: {result}"
            for test, result in results.items()
            if result != PASSED and not any(known.covers(place, test, result) for known in self.known)
        ]

    def not_run(self, place: str, groups: Iterable[str]) -> dict[str, str]:
        """Return those of some groups that are left out at a place, with the reason of each."""
        reasons = {**self.left_out.get(place, {}), **self.left_out.get(EVERYWHERE, {})}
        matches = ((group, pattern) for group in groups for pattern in reasons if fnmatchcase(group, pattern))
        return {group: reasons[pattern] for group, pattern in matches}


def names(directory: Path = TABLES) -> list[str]:
    """Return the names of all tables."""
    return sorted(path.stem for path in directory.glob("*.toml"))


def load(name: str, directory: Path = TABLES) -> Table:
    """Read a table. Failed: it has no such form, or names a kind or a result that does not exist."""
    path = directory / f"{name}.toml"
    try:
        document = tomllib.loads(path.read_text())
        suite = document.pop("suite")
        known = tuple(_known(document.pop("known", [])))
        left_out = document.pop("left-out", {})
        table = Table(suite.pop("title"), suite.pop("from"), known, left_out)
    except (KeyError, TypeError, ValueError) as error:
        raise Failed(f"{path.name} is not a table of known results: {error}") from None
    if more := [*document, *suite]:
        raise Failed(f"{path.name} has a word that is unknown: {more[0]}")
    return table


def _known(entries: list[dict[str, Any]]) -> Iterator[Known]:
    for entry in entries:
        lists: dict[str, Any] = {name: tuple(value) for name, value in entry.items() if isinstance(value, list)}
        known = Known(**{**entry, **lists})
        if known.kind not in KINDS or known.ends not in (FAILED, SKIPPED):
            raise ValueError(f"{known.why!r} has the kind {known.kind!r} and ends {known.ends!r}")
        if not known.why or not isinstance(known.tests, tuple) or not isinstance(known.where, tuple):
            raise ValueError(f"{entry} has no reason, or tests or places that are not lists")
        yield known
