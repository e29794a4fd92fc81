# SPDX-License-Identifier: Apache-2.0
"""One client's program, asked in JSON lines; see listen.py for its side."""

import json
import socket
import time
from threading import Event
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from millrace.bench.measure import Stopped
from millrace.bench.remote import listen, program
from millrace.bench.remote.model import ClientFacts
from millrace.errors import Failed, Refused

STOPPED = "the measurement was stopped"
HELLO_SECONDS = 10.0
MOUNT_SECONDS = 200.0
READY_SECONDS = 120.0


class Unreachable(Refused):
    """A client that is not there, or not as it must be."""


class Connection:
    """Says what the client is to do; when it ends, the client undoes everything."""

    def __init__(self, name: str, address: str, stop: Event | None = None) -> None:
        self.name, self.address = name, address
        self._stop = stop or Event()
        self._rest = b""
        try:
            self._socket = socket.create_connection((address, listen.PORT), HELLO_SECONDS)
        except OSError as error:
            raise Unreachable(unreachable(name, error)) from error
        self._socket.settimeout(0.5)
        try:
            self.facts = self._hello()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    @property
    def here(self) -> str:
        """The address of this server that the client sees."""
        return str(self._socket.getsockname()[0])

    def ask(
        self, verb: str, seconds: float = HELLO_SECONDS, *, whatever: bool = False, **more: object
    ) -> dict[str, Any]:
        """One request; Failed with the client's sentence, or where it does not answer in time.

        A stop ends it, and the connection with it, unless `whatever`.
        """
        try:
            self._socket.sendall(json.dumps({"do": verb, **more}).encode() + b"\n")
        except OSError as error:
            raise Failed(f"client {self.name} went away: {error.strerror}") from error
        answer = self._line(seconds, whatever)
        if answer.get("error"):
            raise Failed(f"client {self.name}: {answer['error']}")
        return answer

    def wait_fio(self) -> None:
        """Until its fio answers."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self._stop.wait(0.2):
                raise Stopped(STOPPED)
            try:
                socket.create_connection((self.address, listen.FIO_PORT), 2).close()
                return
            except OSError:
                continue
        raise Failed(f"fio on client {self.name} does not answer on port {listen.FIO_PORT}: is it firewalled there?")

    @property
    def fio(self) -> str:
        """fio's own way to name it."""
        return f"--client={'ip6' if ':' in self.address else 'ip'}:{self.address},{listen.FIO_PORT}"

    def _hello(self) -> ClientFacts:
        try:
            facts = ClientFacts.model_validate(self._line(HELLO_SECONDS))
        except ValidationError as error:
            raise Unreachable(f"what answers on {self.name} is not the program of `millrace client bench`") from error
        except Failed as error:
            raise Unreachable(f"{error}; another server may be driving it") from error
        if facts.program != program.PROGRAM:
            raise Unreachable(
                f"client {self.name} runs another version of the program: `millrace client bench` has this one"
            )
        return facts

    def _line(self, seconds: float, whatever: bool = False) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._rest:
            if self._stop.is_set() and not whatever:
                self.close()
                raise Stopped(STOPPED)
            try:
                piece = self._socket.recv(1 << 20)
            except TimeoutError:
                piece = None
            except OSError as error:
                raise Failed(f"client {self.name} went away: {error.strerror}") from error
            if piece == b"":
                raise Failed(f"client {self.name} hung up: is this the server that was named with --listen?")
            if piece is None and time.monotonic() > deadline:
                raise Failed(f"client {self.name} did not answer in {seconds:g} s")
            self._rest += piece or b""
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise Failed(f"client {self.name} said what is not JSON") from error
        if not isinstance(answer, dict):
            raise Failed(f"client {self.name} said what is no answer")
        return answer


def unreachable(name: str, error: OSError) -> str:
    """The sentence for a client that is not there."""
    return (
        f"client {name} does not answer on port {listen.PORT} ({error.strerror or error}): run "
        "`python3 millrace-bench.pyz --listen SERVER` there as root (`millrace client bench` writes that file)"
    )
