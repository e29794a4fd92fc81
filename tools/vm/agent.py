# SPDX-License-Identifier: Apache-2.0
"""Commands in a guest without its network: the host's end; that of the guest, and the protocol, is vm.guest."""

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.system.errors import Failed

SLICE_SECONDS = 0.5
SILENT_SECONDS = 60.0
"""An answer takes a while under load."""


class StartedAgain(Failed):
    """The guest was started again before it had answered."""


@dataclass(frozen=True)
class Result:
    """What a command in the guest did; `status` is its exit code, None where its time was over."""

    argv: tuple[str, ...]
    status: int | None
    out: str
    err: str


class Client:
    """The host's end. Commands may be run from several threads at once."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(path))
        self._changed = threading.Condition()
        self._answers: dict[int, dict[str, Any]] = {}
        self._next = 0
        self._closed = False
        self.boot_id: str | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                chunk = self._socket.recv(65536)
            except OSError:
                chunk = b""
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take(line)
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            # The guest was cut off in the middle of a line.
            return
        with self._changed:
            if "hello" in message:
                self.boot_id = str(message["hello"])
            else:
                self._answers[int(message["id"])] = message
            self._changed.notify_all()

    def close(self) -> None:
        """Close the connection; waiting commands fail."""
        self._socket.close()

    def wait_hello(self, seconds: float, alive: Callable[[], bool]) -> bool:
        """Wait until an agent has sent hello; return False after `seconds` or when the machine is gone."""
        return self._wait(lambda: self.boot_id is not None, seconds, alive)

    def _wait(self, ready: Callable[[], bool], seconds: float, alive: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + seconds
        with self._changed:
            while not ready():
                left = deadline - time.monotonic()
                if left <= 0 or self._closed or not alive():
                    return False
                self._changed.wait(min(left, SLICE_SECONDS))
            return True

    def run(
        self,
        argv: Sequence[str],
        stdin: str,
        seconds: float,
        alive: Callable[[], bool],
        silent: float = SILENT_SECONDS,
    ) -> Result:
        """Run `argv` in the guest; raise Failed where the machine went away or did not answer.

        The guest ends the command at `seconds`, and may be silent for so many more. StartedAgain: it was started again
        meanwhile.
        """
        return self._exchange(argv, {"argv": list(argv), "stdin": stdin}, seconds, alive, silent)

    def millrace(self, words: Sequence[str], user: str, seconds: float, alive: Callable[[], bool]) -> Result:
        """Run a command line in the user's `millrace answer` in the guest; Failed and StartedAgain as for `run`.

        Output is text only.
        """
        return self._exchange(["millrace", *words], {"words": list(words), "user": user}, seconds, alive)

    def _exchange(
        self,
        argv: Sequence[str],
        request: dict[str, Any],
        seconds: float,
        alive: Callable[[], bool],
        silent: float = SILENT_SECONDS,
    ) -> Result:
        with self._changed:
            self._next += 1
            number = self._next
            boot = self.boot_id
            line = json.dumps({"id": number, "timeout": seconds, **request}) + "\n"
            try:
                self._socket.sendall(line.encode())
            except OSError as error:
                raise Failed(f"The guest is gone, it cannot run {argv[0]}.") from error
        replied = self._wait(lambda: number in self._answers or self.boot_id != boot, seconds + silent, alive)
        with self._changed:
            reply = self._answers.pop(number, None)
        if replied and reply is None:
            raise StartedAgain(f"The guest was started again while it ran: {' '.join(argv)}")
        if reply is None:
            raise Failed(f"The guest went away or hangs while it ran: {' '.join(argv)}")
        return Result(tuple(argv), reply["status"], str(reply["out"]), str(reply["err"]))
