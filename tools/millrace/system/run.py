# SPDX-License-Identifier: Apache-2.0
"""Running the system's own tools: always an argument list, never a shell, never waiting for input."""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from millrace.system.errors import Failed


@dataclass(frozen=True)
class Result:
    """The result of a tool: exit status, standard output and standard error as text."""

    status: int
    out: str
    err: str


class Runner(Protocol):
    """Runs a tool; secrets go through `stdin` only."""

    def __call__(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        """Run a tool; return what it printed, whatever its exit status."""
        ...


def attempt(argv: Sequence[str], stdin: str | None = None, timeout: float | None = None) -> Result:
    """Run a tool and return its output, whatever its exit status; a missing tool is status 127.

    `stdin` is how secrets are passed. `timeout` in seconds; a tool that exceeds it is status 124.
    """
    try:
        done = subprocess.run(
            list(argv),
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except FileNotFoundError:
        return Result(127, "", f"{argv[0]} is not installed")
    except subprocess.TimeoutExpired:
        return Result(124, "", f"{argv[0]} did not finish in {timeout:g} s")
    return Result(done.returncode, done.stdout, done.stderr)


def follow(argv: Sequence[str], line: Callable[[str], None], is_kept: Callable[[str], bool] = lambda _: True) -> Result:
    """Run a tool that takes long; `line` receives each line as it is printed, standard error included.

    The result has those as output that `is_kept` keeps: progress of days is none of it. A missing tool is status 127.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except FileNotFoundError:
        return Result(127, "", f"{argv[0]} is not installed")
    printed = []
    with process:
        for text in process.stdout or ():
            if is_kept(text):
                printed.append(text)
            line(text.rstrip("\n"))
    return Result(process.returncode, "".join(printed), "")


def within(seconds: float) -> Runner:
    """Return a runner that gives every tool so many seconds; one that exceeds them is status 124."""

    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        return attempt(argv, stdin, seconds)

    return run


# For a question that is answered at once, or not: no check and no page waits longer.
quickly = within(20)


def last_words(result: Result) -> str:
    """Return the last line that a tool printed, for a sentence; the reason, not where mount(8) says it may be found."""
    lines = (result.err.strip() or result.out.strip() or "no message").splitlines()
    said = [one for one in lines if not one.strip().startswith("dmesg(1) may have more information")]
    return (said or lines)[-1].strip().rstrip(".")


def must(run: Runner, argv: Sequence[str], stdin: str | None = None) -> str:
    """Run a tool that must succeed; return its output. Failed: it fails, with its last line."""
    result = run(argv, stdin)
    if result.status != 0:
        raise Failed(f"{' '.join(argv[:3])} failed with status {result.status}: {last_words(result)}")
    return result.out
