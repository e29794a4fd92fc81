# SPDX-License-Identifier: Apache-2.0
"""Each verb runs in a child that begins with everything imported: imports are most of the time of a short verb.

This process runs no verb itself, so it keeps no state that could become old. It imports what its children had to
import, and builds the schemas that they had to build.
"""

import json
import os
import selectors
import signal
import sys
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from millrace.cli import program
from millrace.system import import_cache
from millrace.system.children import fork
from millrace.system.errors import BadInput

FIRST = "millrace.observe.health.status"
"""What every page asks for, and most of what any verb imports."""
CHUNK = 1 << 16
OWN = 0
"""The number of a verb that no client asked for."""


@dataclass(frozen=True)
class Child:
    """A running verb: number of its request, process with descriptor, files for what it prints and learns."""

    number: int
    pid: int
    process: int
    out: int
    err: int
    learnt: int


class VerbServer:
    """Runs the verbs that a client asks for; with `only`, this verb with these options and no other."""

    def __init__(self, only: Sequence[str] | None = None) -> None:
        self._only = list(only) if only is not None else None
        self._children: dict[int, Child] = {}
        self._modules: deque[str] = deque()
        self._built: set[str] = set()
        self._left: list[int] = []

    def prepare(self) -> None:
        """Import what most verbs import; from now on SIGTERM ends this process and all verbs."""
        # Cockpit ends so what a page leaves behind.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        import_module(FIRST)

    def serve(self, read: int, write: int) -> None:
        """Read questions {id, words} and {stop: id} from `read`, write {id, status, signal, out, err} to `write`.

        `status` is null where a signal ended the verb, as it does what is stopped. Until the input ends; then what
        still runs is stopped. BadInput: a line is no request.
        """
        self.prepare()
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(read, selectors.EVENT_READ)
            try:
                while True:
                    # Who waits for an answer comes first.
                    ready = selector.select(0 if self._modules or self._built else None)
                    if not ready:
                        self._import_next()
                    for key, _ in ready:
                        if isinstance(key.data, Child):
                            selector.unregister(key.fd)
                            self._reply(key.data, write)
                            continue
                        chunk = os.read(read, CHUNK)
                        if not chunk:
                            return
                        *lines, rest = (rest + chunk).split(b"\n")
                        for line in lines:
                            self._read_request(line, selector)
            finally:
                self._stop()

    def run(self, seconds: float, other: int) -> dict[str, Any] | None:
        """Run the one verb of this process and return its reply {id, status, signal, out, err}.

        None where it takes more than `seconds`, or where there is something to read from `other` first: `settle` ends
        it then.
        """
        child = self._start(OWN, self._only or ())
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(child.process, selectors.EVENT_READ)
                selector.register(other, selectors.EVENT_READ)
                ended = any(key.fd == child.process for key, _ in selector.select(seconds))
            return self._collect(child) if ended else None
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        for child in self._children.values():
            os.killpg(child.pid, signal.SIGTERM)

    def _read_request(self, line: bytes, selector: selectors.BaseSelector) -> None:
        try:
            question = json.loads(line)
            if "stop" in question:
                child = self._children.get(question["stop"])
                if child:
                    os.killpg(child.pid, signal.SIGTERM)
                return
            number, words = int(question["id"]), [str(word) for word in question["words"]]
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise BadInput('a question is a line like {"id": 1, "words": ["status", "--json"]}') from error
        if self._only is not None and words != self._only:
            raise BadInput(f"only 'millrace {' '.join(self._only)}' is run here")
        child = self._start(number, words)
        selector.register(child.process, selectors.EVENT_READ, child)

    def _start(self, number: int, words: Sequence[str]) -> Child:
        # SIGTERM waits until the child is among those that it ends.
        with _no_sigterm():
            self._children[number] = child = self._begin(number, words)
        return child

    def _begin(self, number: int, words: Sequence[str]) -> Child:
        out, err, learnt = (os.memfd_create(name) for name in ("out", "err", "learnt"))
        pid = fork()
        if pid == 0:
            _run(words, out, err, learnt)
        # By both processes: whichever is first, the group exists when it is to be stopped.
        with suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)
        return Child(number, pid, os.pidfd_open(pid), out, err, learnt)

    def _reply(self, child: Child, write: int) -> None:
        data = (json.dumps(self._collect(child)) + "\n").encode()
        while data:
            data = data[os.write(write, data) :]

    def _collect(self, child: Child) -> dict[str, Any]:
        """Return the reply of a verb that has ended, and remember what it had to import."""
        os.close(child.process)
        status = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
        self._children.pop(child.number, None)
        out, err, learnt = (_text(file) for file in (child.out, child.err, child.learnt))
        ended = {"status": status, "signal": None} if status >= 0 else {"status": None, "signal": _signal_name(-status)}
        if learnt:
            said = json.loads(learnt)
            self._modules.extend(name for name in said["modules"] if name not in sys.modules)
            self._built |= set(said["built"])
        return {"id": child.number, **ended, "out": out, "err": err}

    def settle(self) -> None:
        """Between two connections: kill what the last one left behind, and import what its verbs had to import.

        A process that hangs in the kernel is left behind, and collected when it has ended.
        """
        for child in self._children.values():
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            for file in (child.process, child.out, child.err, child.learnt):
                os.close(file)
            self._left.append(child.pid)
        self._children.clear()
        self._left = [pid for pid in self._left if os.waitpid(pid, os.WNOHANG)[0] == 0]
        while self._modules or self._built:
            self._import_next()

    def _import_next(self) -> None:
        """Import one module that a child had to import; then build what children had to build."""
        # What cannot be imported here is imported by the children, as before.
        with suppress(Exception):
            if self._modules:
                import_module(self._modules.popleft())
                return
            for model in import_cache.models():
                if import_cache.name_of(model) in self._built and not model.__pydantic_complete__:
                    model.model_rebuild()
        self._built.clear()


def _run(words: Sequence[str], out: int, err: int, learnt: int) -> None:
    """The child: run a verb, report what had to be imported and built for it, end."""
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.setpgid(0, 0)
        before = import_cache.now()
        for file, stream in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
            os.dup2(file, stream)
        status = program.run(words)
        os.write(learnt, json.dumps(import_cache.since(before)).encode())
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


@contextmanager
def _no_sigterm() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _text(file: int) -> str:
    with os.fdopen(file, "rb") as said:
        said.seek(0)
        return said.read().decode(errors="replace")


def _signal_name(number: int) -> str:
    """As Cockpit calls a signal."""
    return signal.Signals(number).name.removeprefix("SIG")
