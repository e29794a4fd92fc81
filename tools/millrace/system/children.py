# SPDX-License-Identifier: Apache-2.0
"""Functions in processes of their own with a deadline: one that fails or hangs in the kernel delays no other for long.

`run_all` gives each function a process at once; `run_in_turn` gives them one together, and a further one only where a
function takes long: a process is most of the cost of a short function.
"""

import gc
import json
import os
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from millrace.system import import_cache
from millrace.system.errors import MillraceError
from millrace.system.text import one_line

Job = Callable[[], bytes]

PATIENCE = 1.0
"""So many seconds `run_in_turn` waits for a function before the others go on without it."""

_CHUNK = 1 << 16
# Before what a function says: whether it failed, and how many bytes follow.
_HEAD = struct.Struct("=?Q")


@dataclass(frozen=True)
class ChildOutcome:
    """What a function returned, or why there is nothing; and after how many seconds."""

    found: bytes
    problem: str | None
    seconds: float


@dataclass
class _Worker:
    """A process, the functions that it is still to run, when the first of them began, and what it said of that."""

    pid: int
    pipe: int
    names: list[str]
    began: float
    superseded: bool = False
    said: bytearray = field(default_factory=bytearray)


def fork() -> int:
    """Fork as os.fork does; the child does not look for garbage among what it has from here.

    That would write to every object, and so copy each page of memory.
    """
    # what is garbage now would be kept for ever
    gc.collect()
    gc.freeze()
    return os.fork()


def run_all(jobs: Mapping[str, Job], seconds: float) -> dict[str, ChildOutcome]:
    """Run all functions at the same time and return what they return within `seconds`."""
    return _Run(jobs).outcomes([[name] for name in jobs], seconds)


def run_in_turn(jobs: Mapping[str, Job], seconds: float, patience: float = PATIENCE) -> dict[str, ChildOutcome]:
    """Run one function after another and return what they return within `seconds`.

    Those behind one that takes more than `patience` seconds, or whose process ended, go on in another process.
    """
    return _Run(jobs, patience).outcomes([list(jobs)], seconds)


class _Run:
    """Functions under way, and what they returned."""

    def __init__(self, jobs: Mapping[str, Job], patience: float = PATIENCE) -> None:
        self._jobs, self._patience = jobs, patience
        self._workers: dict[int, _Worker] = {}
        self._found: dict[str, ChildOutcome] = {}

    def outcomes(self, groups: Sequence[Sequence[str]], seconds: float) -> dict[str, ChildOutcome]:
        """Run each group in a process; return the outcomes in the order of the functions."""
        deadline = time.monotonic() + seconds
        for names in groups:
            self._begin(names)
        while self._workers and (left := deadline - time.monotonic()) > 0:
            for pipe in select.select(list(self._workers), [], [], min(left, self._next_relief()))[0]:
                self._read(self._workers[pipe])
            self._relieve()
        for worker in list(self._workers.values()):
            self._give_up(worker)
        return {name: self._found[name] for name in self._jobs}

    def _begin(self, names: Sequence[str]) -> None:
        if not names:
            return
        # What a child would print once more.
        sys.stdout.flush()
        sys.stderr.flush()
        read, write = os.pipe()
        pid = fork()
        if pid == 0:
            os.close(read)
            _work([self._jobs[name] for name in names], write)
        os.close(write)
        self._workers[read] = _Worker(pid, read, list(names), time.monotonic())

    def _next_relief(self) -> float:
        """After how many seconds the first function is waited for no longer."""
        waited = [time.monotonic() - one.began for one in self._workers.values() if len(one.names) > 1]
        return max(0.0, self._patience - max(waited)) if waited else float("inf")

    def _relieve(self) -> None:
        """Have another process run what waits behind a function that takes long."""
        for worker in list(self._workers.values()):
            if len(worker.names) > 1 and time.monotonic() - worker.began > self._patience:
                worker.names, rest = worker.names[:1], worker.names[1:]
                worker.superseded = True
                self._begin(rest)

    def _read(self, worker: _Worker) -> None:
        chunk = os.read(worker.pipe, _CHUNK)
        worker.said += chunk
        while worker.names and (outcome := _outcome(worker)):
            self._found[worker.names.pop(0)] = outcome
            worker.began = time.monotonic()
        if worker.superseded and not worker.names:
            # others run what it would do next
            self._end(worker)
        elif not chunk:
            self._ended(worker)

    def _ended(self, worker: _Worker) -> None:
        """Collect a process; a function that it had not come to the end of has failed, and the others go on."""
        if not worker.names and (last := _outcome(worker)):
            import_cache.add(json.loads(last.found))
        del self._workers[worker.pipe]
        os.close(worker.pipe)
        status = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        if worker.names:
            seconds = time.monotonic() - worker.began
            self._found[worker.names[0]] = ChildOutcome(b"", f"it ended with status {status}", seconds)
            self._begin(worker.names[1:])

    def _give_up(self, worker: _Worker) -> None:
        seconds = time.monotonic() - worker.began
        for name in worker.names:
            self._found[name] = ChildOutcome(b"", f"no answer in {seconds:.1f} s", seconds)
        self._end(worker)

    def _end(self, worker: _Worker) -> None:
        """Kill a process; one that hangs in the kernel is left behind."""
        del self._workers[worker.pipe]
        os.close(worker.pipe)
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)
        os.waitpid(worker.pid, os.WNOHANG)


def _work(jobs: Sequence[Job], pipe: int) -> None:
    """The child: says what each function found or what is wrong, then what it had to import, and ends."""
    status = 1
    try:
        before = import_cache.now()
        for job in jobs:
            _say(pipe, *_result(job))
        _say(pipe, False, json.dumps(import_cache.since(before)).encode())
        status = 0
    finally:
        os._exit(status)


def _say(pipe: int, failed: bool, said: bytes) -> None:
    said = _HEAD.pack(failed, len(said)) + said
    while said:
        said = said[os.write(pipe, said) :]


def _result(job: Job) -> tuple[bool, bytes]:
    """Whether a function failed, and what it returned, or why there is nothing."""
    try:
        return False, job()
    except (MillraceError, OSError, ValueError) as error:
        return True, one_line(str(error)).encode()
    except Exception as error:
        # A fault of the program: the other functions are of use all the same.
        return True, one_line(repr(error)).encode()


def _outcome(worker: _Worker) -> ChildOutcome | None:
    """Take the result of the first function from what its process said; None where it is not complete."""
    if len(worker.said) < _HEAD.size:
        return None
    failed, length = _HEAD.unpack_from(worker.said)
    end = _HEAD.size + length
    if len(worker.said) < end:
        return None
    text = bytes(worker.said[_HEAD.size : end])
    del worker.said[:end]
    seconds = time.monotonic() - worker.began
    return ChildOutcome(b"", text.decode(errors="replace"), seconds) if failed else ChildOutcome(text, None, seconds)
