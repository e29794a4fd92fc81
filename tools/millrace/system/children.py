# SPDX-License-Identifier: Apache-2.0
"""Functions in processes of their own with a deadline: one that fails or hangs in the kernel delays no other."""

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from millrace.errors import MillraceError
from millrace.system.text import one_line

Job = Callable[[], bytes]

_CHUNK = 1 << 16


@dataclass(frozen=True)
class Outcome:
    """What a function returned, or why there is nothing; and after how many seconds."""

    found: bytes
    problem: str | None
    seconds: float


@dataclass
class _Child:
    """A function under way: its process, and the pipe with what it says. The first byte is whether it failed."""

    pid: int
    pipe: int
    said: bytes = b""
    seconds: float = 0.0
    ended: bool = False


def run_all(jobs: Mapping[str, Job], seconds: float) -> dict[str, Outcome]:
    """Run all functions at the same time and return what they return within `seconds`."""
    began = time.monotonic()
    # What a child would print once more.
    sys.stdout.flush()
    sys.stderr.flush()
    children = {name: _begin(job) for name, job in jobs.items()}
    waiting = {child.pipe: child for child in children.values()}
    while waiting and (left := began + seconds - time.monotonic()) > 0:
        for pipe in select.select(list(waiting), [], [], left)[0]:
            child = waiting[pipe]
            chunk = os.read(pipe, _CHUNK)
            child.said += chunk
            if not chunk:
                child.seconds, child.ended = time.monotonic() - began, True
                del waiting[pipe]
    for child in waiting.values():
        child.seconds = time.monotonic() - began
    return {name: _outcome(child) for name, child in children.items()}


def _begin(job: Job) -> _Child:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _run(job, write)
    os.close(write)
    return _Child(pid, read)


def _run(job: Job, pipe: int) -> None:
    """The child: says what it found or what is wrong, and ends."""
    status = 1
    try:
        try:
            said = b"+" + job()
        except (MillraceError, OSError, ValueError) as error:
            said = b"-" + one_line(str(error)).encode()
        except Exception as error:
            # A fault of the program: the other functions are of use all the same.
            said = b"-" + one_line(repr(error)).encode()
        while said:
            said = said[os.write(pipe, said) :]
        status = 0
    finally:
        os._exit(status)


def _outcome(child: _Child) -> Outcome:
    """The result of one. A process that hangs in the kernel is left behind."""
    os.close(child.pipe)
    if not child.ended:
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, os.WNOHANG)
        return Outcome(b"", f"no answer in {child.seconds:.1f} s", child.seconds)
    status = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
    if status or not child.said:
        return Outcome(b"", f"it ended with status {status}", child.seconds)
    if child.said[:1] == b"-":
        return Outcome(b"", child.said[1:].decode(errors="replace"), child.seconds)
    return Outcome(child.said[1:], None, child.seconds)
