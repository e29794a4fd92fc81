# SPDX-License-Identifier: Apache-2.0
"""A kept state is restored: every file of it is read by a parser."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from millrace.lifecycle.adopt import restore
from millrace.system.run import Result
from tests.fuzz import scratch
from tests.fuzz.states import state


def run(argv: Sequence[str], stdin: str | None = None) -> Result:
    """A tool that does what it is asked to; tdbrestore makes its file."""
    if argv[0] == "tdbrestore":
        Path(argv[1]).write_text(stdin or "")
    return Result(0, "", "")


def check(data: bytes) -> None:
    """Adopt the state in the input; an error of the file system is one sentence, too (adopt.finish)."""
    found = state(data)
    with scratch.empty_root() as root, suppress(OSError):
        (root / "etc").mkdir()
        restore.restore(found.manifest, found.readable(), {}, run)
