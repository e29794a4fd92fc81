# SPDX-License-Identifier: Apache-2.0
"""Tools of a fake server: they take the command lines of a table, and any other one fails the test and is named."""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import ClassVar

from millrace.system.run import Result

GOOD = Result(0, "", "")


class UnknownCommand(AssertionError):
    """A command line that no tool of this server takes."""

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__(f"no tool of this server takes: {' '.join(argv)}")


def takes(pattern: str, words: Sequence[str]) -> bool:
    """Whether a pattern fits a command line word by word: `*` stands for any part of one, `...` for all that follow."""
    wanted = pattern.split()
    if wanted[-1] == "...":
        wanted, words = wanted[:-1], words[: len(wanted) - 1]
    return len(wanted) == len(words) and all(map(fnmatchcase, words, wanted))


def without_limit(argv: Sequence[str]) -> list[str]:
    """A command line without the time limit before it."""
    return list(argv[2:] if argv[0] == "timeout" else argv)


class Commands:
    """A runner of commands. `broken` answers instead of a tool, by the longest beginning of its command line.

    `TAKEN` are patterns of the command lines that its tools take. A method `_tool(words, stdin)` answers for the tool
    of that name; a tool without one succeeds silently.
    """

    TAKEN: ClassVar[Iterable[str]] = ()

    def __init__(self) -> None:
        self.broken: dict[str, Result] = {}
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
        broken = max((start for start in self.broken if line.startswith(start)), key=len, default=None)
        if broken is not None:
            return self.broken[broken]
        return self.answer(words, stdin or "")

    def answer(self, words: Sequence[str], stdin: str) -> Result:
        """What a tool says to a command line without a time limit. Raises UnknownCommand."""
        if not any(takes(pattern, words) for pattern in self.TAKEN):
            raise UnknownCommand(words)
        tool = getattr(self, f"_{words[0].rpartition('/')[2].replace('-', '_').replace('.', '_')}", None)
        return tool(list(words[1:]), stdin) if tool else GOOD

    def called(self, start: str) -> list[str]:
        """The command lines so far with this beginning, with their time limits where the beginning has one."""
        lines = (argv if start.startswith("timeout ") else without_limit(argv) for argv in self.calls)
        return [line for line in map(" ".join, lines) if line.startswith(start)]
