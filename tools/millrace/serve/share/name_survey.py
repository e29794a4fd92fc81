# SPDX-License-Identifier: Apache-2.0
"""The names in a share that SMB clients cannot see, open or tell apart: counted, and some of them named."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from millrace.serve.share.smb_names import WORDS, Trouble, trouble
from millrace.system.text import printable_name

# Of each kind.
NAMED = 3
# A tree of a hundred million files is not walked to its end.
SECONDS = 60.0


def survey(top: Path, folds_case: bool, clock: Callable[[], float] = time.monotonic) -> list[str]:
    """Return which names below `top` are trouble for SMB clients, in sentences; none where all are fine.

    `folds_case`: the share takes names that differ only in case for one. It ends after SECONDS, with a sentence.
    """
    end, counted = clock() + SECONDS, 0
    examples: dict[Trouble, list[str]] = {}
    numbers = dict.fromkeys(WORDS, 0)
    for directory, inner, files, _ in os.fwalk(top):
        names = [os.fsencode(name) for name in (*inner, *files)]
        counted += len(names)
        for kind, name in _troubles(names, folds_case):
            numbers[kind] += 1
            if len(examples.setdefault(kind, [])) < NAMED:
                path = os.path.relpath(os.path.join(os.fsencode(directory), name), os.fsencode(top))
                examples[kind].append(printable_name(path))
        if clock() > end:
            return [*_sentences(numbers, examples), f"only {counted} names were examined, in {SECONDS:.0f} s"]
    return list(_sentences(numbers, examples))


def _troubles(names: Iterable[bytes], folds_case: bool) -> Iterator[tuple[Trouble, bytes]]:
    first: dict[str, bytes] = {}
    for name in names:
        kind = trouble(name)
        if kind is not None:
            yield kind, name
        elif folds_case:
            # as Samba compares: letter by letter in upper case, without a normal form
            other = first.setdefault(name.decode().upper(), name)
            if other != name:
                yield "case", name


def _sentences(numbers: dict[Trouble, int], examples: dict[Trouble, list[str]]) -> Iterator[str]:
    for kind, names in examples.items():
        fact, remedy = WORDS[kind]
        more = f" and {numbers[kind] - len(names)} more" if numbers[kind] > len(names) else ""
        yield f"{fact} ({numbers[kind]}): {', '.join(names)}{more}; {remedy}"
