# SPDX-License-Identifier: Apache-2.0
"""How this room runs the tools of the system."""

from collections.abc import Sequence
from typing import Protocol

from millrace.command import Result
from millrace.errors import Failed

# How names in /run/millrace begin of what exists for the seconds of a look: mount points, credentials.
LOOK = "look-"


class Runner(Protocol):
    """Runs a tool; secrets go through `stdin` only."""

    def __call__(self, argv: Sequence[str], stdin: str | None = None) -> Result: ...


def last_words(result: Result) -> str:
    """The last line that a tool said, for a sentence."""
    return (result.err.strip() or result.out.strip() or "no message").splitlines()[-1].rstrip(".")


def must(run: Runner, argv: Sequence[str], stdin: str | None = None) -> str:
    """Run a tool that must succeed and return its output; Failed carries its last words."""
    result = run(argv, stdin)
    if result.status != 0:
        raise Failed(f"{' '.join(argv[:3])} failed with status {result.status}: {last_words(result)}")
    return result.out


def is_active(unit: str, run: Runner) -> bool:
    """Whether systemd has the unit up."""
    return run(["systemctl", "is-active", "--quiet", unit]).status == 0


def trouble(error: OSError) -> str:
    """What the operating system said of a file, for a sentence: of the pool's, whose file system may have shut down."""
    where = f"{error.filename} fails" if error.filename else "a file of this server fails"
    return f"{where} ({error.strerror or error}): millrace health says what is wrong"
