# SPDX-License-Identifier: Apache-2.0
"""What every target of tests/fuzz asserts: a parser of hostile input returns, or raises an error of Millrace's own.

A target is a file beside this one with a function `check(data)`, and a directory of inputs in corpus/.
"""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from millrace.system.errors import MillraceError

CORPUS = Path(__file__).parent / "corpus"
SECONDS = 10
"""For one input, on a busy host."""
MEMORY = 1 << 30
"""Bytes of the process; 512 MiB of them are what the parsers of archives may take."""

Check = Callable[[bytes], None]


def targets() -> list[str]:
    """Return the names of all targets."""
    return sorted(path.name for path in CORPUS.iterdir())


def load(name: str) -> Check:
    """Import a target and return its check."""
    check: Check = import_module(f"tests.fuzz.{name}").check
    return check


def hold(check: Check, data: bytes) -> None:
    """Check one input; what is raised breaks the contract."""
    with suppress(MillraceError):
        check(data)


def inputs(name: str) -> list[Path]:
    """Return the kept inputs of a target."""
    return sorted((CORPUS / name).iterdir())
