# SPDX-License-Identifier: Apache-2.0
"""The names in a share that SMB clients cannot see, open or tell apart: counted, and some of them named."""

import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from millrace.serve.share.smb_names import WORDS, Trouble, trouble
from millrace.system.errors import Failed
from millrace.system.text import printable_name
from millrace.system.trees import descend, nofollow
from millrace.system.trees.opener import Opener, Place

# Of each kind.
NAMED = 3
# A tree of a hundred million files is not walked to its end.
SECONDS = 60.0
# Names between two looks at the clock: one directory may have millions.
LOOK = 1000
# Names of one directory that are remembered to tell which differ only in case: some 30 MB.
COMPARED = 200_000

Clock = Callable[[], float]


class _SurveyOver(Exception):
    """The time for a survey is over."""


def survey(top: Path, folds_case: bool, clock: Clock = time.monotonic) -> list[str]:
    """Return which names below `top` are trouble for SMB clients, in sentences; none where all are fine.

    `folds_case`: the share takes names that differ only in case for one. It ends after SECONDS, with a sentence; what
    cannot be read is a sentence as well. Failed: `top` cannot be opened.
    """
    with nofollow.directory(top) as at, Opener(at) as opener:
        walk = _Survey(opener, folds_case, clock, clock() + SECONDS)
        try:
            descend.descend(walk, 1, lambda: None, walk.stop.set)
        except _SurveyOver:
            return [*walk.sentences(), f"only {walk.counted} names were examined, in {SECONDS:.0f} s"]
    return list(walk.sentences())


@dataclass
class _Examples:
    """What there is of a kind: how many, and the first of them."""

    number: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, path: Place, *name: str) -> None:
        self.number += 1
        if len(self.names) < NAMED:
            self.names.append(printable_name(os.fsencode("/".join((*path, *name)) or ".")))

    def __str__(self) -> str:
        more = f" and {self.number - len(self.names)} more" if self.number > len(self.names) else ""
        return f"({self.number}): {', '.join(self.names)}{more}"


@dataclass
class _Survey:
    top: Opener
    folds_case: bool
    clock: Clock
    end: float
    counted: int = 0
    troubles: dict[Trouble, _Examples] = field(default_factory=dict)
    unread: _Examples = field(default_factory=_Examples)
    large: _Examples = field(default_factory=_Examples)
    stop: Event = field(default_factory=Event)

    def __call__(self, path: Place) -> list[str]:
        inner: list[str] = []
        try:
            with self.top.below(path) as at:
                self._directory(path, at, inner)
        except (Failed, OSError) as error:
            if not descend.is_gone(error):
                self.unread.add(path)
        self._look()
        return inner

    def sentences(self) -> Iterator[str]:
        for kind, examples in self.troubles.items():
            fact, remedy = WORDS[kind]
            yield f"{fact} {examples}; {remedy}"
        if self.large.number:
            yield f"names that differ only in case were not compared beyond {COMPARED} of a directory {self.large}"
        if self.unread.number:
            yield f"directories cannot be read, and their names were not examined {self.unread}"

    def _directory(self, path: Place, at: int, inner: list[str]) -> None:
        first: dict[str, str] | None = {} if self.folds_case else None
        device = os.fstat(at).st_dev
        for name, status in descend.entries(at):
            self.counted += 1
            if self.counted % LOOK == 0:
                self._look()
            if stat.S_ISDIR(status.st_mode) and status.st_dev == device:
                inner.append(name)
            kind = trouble(os.fsencode(name))
            if kind is None and first is not None:
                # as Samba compares: letter by letter in upper case, without a normal form
                kind = "case" if first.setdefault(name.upper(), name) != name else None
                if len(first) > COMPARED:
                    first = None
                    self.large.add(path)
            if kind is not None:
                self.troubles.setdefault(kind, _Examples()).add(path, name)

    def _look(self) -> None:
        if self.stop.is_set() or self.clock() > self.end:
            raise _SurveyOver
