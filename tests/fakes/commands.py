# SPDX-License-Identifier: Apache-2.0
"""Tools of a fake server: they take the command lines of a table, and any other one fails the test and is named."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import ClassVar

from millrace.system.run import Result

GOOD = Result(0, "", "")
# What answers in the place of a tool: the words of a command line without its time limit, and standard input.
Answer = Callable[[Sequence[str], str], Result]


class UnknownCommand(AssertionError):
    """A command line that no tool of this server takes."""

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__(f"no tool of this server takes: {' '.join(argv)}")


def takes(pattern: str, words: Sequence[str]) -> bool:
    """Whether a pattern fits a command line word by word.

    `*` stands for any part of a word and `?` for one character. `[WORD]` may be missing, `WORD...` is there once or
    more often, and `...` alone stands for all words that follow.
    """
    return _expression(pattern).fullmatch("".join(f"\0{word}" for word in words)) is not None


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = []
    for word in pattern.split():
        if word == "...":
            parts.append("(?:\0[^\0]*)*")
            continue
        bare = word.removesuffix("...").removeprefix("[").removesuffix("]")
        one = re.escape(bare).replace(r"\*", "[^\0]*").replace(r"\?", "[^\0]")
        parts.append(f"(?:\0{one}){'+' if word.endswith('...') else '?' if word.startswith('[') else ''}")
    return re.compile("".join(parts))


def without_limit(argv: Sequence[str]) -> list[str]:
    """A command line without the time limit before it."""
    return list(argv[2:] if argv[0] == "timeout" else argv)


class Commands:
    """A runner of commands.

    `TAKEN` are patterns of the command lines that its tools take. A method `_tool(words, stdin)` answers for the tool
    of that name; a tool without one succeeds silently. A test plants a fault in `broken`: what a tool answers instead,
    by the longest beginning of its command line; `works` is what it would have answered. `before` runs first.
    """

    TAKEN: ClassVar[Iterable[str]] = ()

    def __init__(self) -> None:
        self.broken: dict[str, Result | Answer] = {}
        self.before: dict[str, Callable[[], None]] = {}
        self.calls: list[list[str]] = []
        self.stdin: list[str] = []

    def __call__(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        self.calls.append(list(argv))
        self.stdin.append(stdin or "")
        words = without_limit(argv)
        line = " ".join(words)
        for start, hook in self.before.items():
            if line.startswith(start):
                hook()
        return self.answer(words, stdin or "")

    def answer(self, words: Sequence[str], stdin: str) -> Result:
        """What a tool, or the fault planted in it, says to a command line without a time limit.

        Raises UnknownCommand for a command line that the tool does not take, also where it is broken.
        """
        if not any(takes(pattern, words) for pattern in self.TAKEN):
            raise UnknownCommand(words)
        line = " ".join(words)
        broken = max((start for start in self.broken if line.startswith(start)), key=len, default=None)
        if broken is None:
            return self.works(words, stdin)
        fault = self.broken[broken]
        return fault if isinstance(fault, Result) else fault(words, stdin)

    def works(self, words: Sequence[str], stdin: str) -> Result:
        """What a tool without a fault says to a command line that it takes."""
        tool = getattr(self, f"_{words[0].rpartition('/')[2].replace('-', '_').replace('.', '_')}", None)
        return tool(list(words[1:]), stdin) if tool else GOOD

    def called(self, start: str) -> list[str]:
        """The command lines so far with this beginning, with their time limits where the beginning has one."""
        lines = (argv if start.startswith("timeout ") else without_limit(argv) for argv in self.calls)
        return [line for line in map(" ".join, lines) if line.startswith(start)]
