# SPDX-License-Identifier: Apache-2.0
"""The connection to one client's program: JSON lines that are sealed with its token; see millrace_client/listen.py.

What a client sends is hostile input: its size is limited, it is parsed as JSON, and used only through a contract.
"""

import json
import socket
import time
from threading import Event
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from millrace.measure.bench.result.client import ClientFacts
from millrace.measure.bench.run.local import RepeatStopped
from millrace.system.command import command
from millrace.system.errors import Failed, Refused
from millrace.system.text import one_line
from millrace_client import VERSION, listen, sealed

STOPPED = "the measurement was stopped"
HELLO_SECONDS = 10.0
MOUNT_SECONDS = 200.0
SENTENCE = 300
"""Characters of a client's own words that are shown."""
READ = 1 << 20
LONGEST = 32 << 20
"""Bytes of an answer at most: fio's report of 16 jobs has 2 MB."""
ADD = "millrace bench clients add"
NO_TOKEN = "the token of client {0} is not known here: `{1}` asks for it"
OTHER_TOKEN = (
    "client {0} uses a different token (its program makes a new one at each start): add it again with the token that "
    "it shows: `{1}`"
)


class Unreachable(Refused):
    """A client that does not answer, or not in the way it must."""


class ClientConnection:
    """The control connection of a client; when it ends, the client undoes everything."""

    def __init__(self, name: str, address: str, token: str | None, stop: Event | None = None) -> None:
        """Unreachable: the client does not answer, or does not prove that it knows `token`."""
        self.name, self.address = name, address
        self._stop = stop or Event()
        self._rest = bytearray()
        if token is None:
            raise Unreachable(NO_TOKEN.format(name, command(ADD, name)))
        try:
            self._socket = socket.create_connection((address, listen.PORT), HELLO_SECONDS)
        except OSError as error:
            raise Unreachable(unreachable(name, error)) from error
        self._socket.settimeout(0.5)
        try:
            self.facts = self._hello(token)
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
        """Close the connection."""
        self._socket.close()

    def request(
        self, verb: str, seconds: float = HELLO_SECONDS, *, even_when_stopped: bool = False, **more: object
    ) -> dict[str, Any]:
        """Send one request and return the reply; the client has `seconds` for it.

        A stop of the run ends the request and the connection, unless `even_when_stopped`.
        Failed: the client reports an error, does not reply in time or disconnects. Unreachable: it uses another token.
        RepeatStopped: the run was stopped.
        """
        try:
            self._socket.sendall(self._mine.close(json.dumps({"do": verb, **more}).encode()))
        except OSError as error:
            raise Failed(f"client {self.name} disconnected: {error.strerror}") from error
        reply = self._opened(self._line(seconds, even_when_stopped))
        if reply.get("error"):
            raise Failed(f"client {self.name}: {one_line(str(reply['error'])[:SENTENCE])}")
        return reply

    def _hello(self, token: str) -> ClientFacts:
        """Prove to the client that the token is known here, and have it do the same."""
        try:
            first = self._parsed(self._line(HELLO_SECONDS))
        except RepeatStopped:
            raise
        except Failed as error:
            raise Unreachable(f"{error}; another server may be using this client") from error
        if "program" not in first:
            raise Unreachable(f"what answers on {self.name} is not the program of `millrace client bench`")
        if first["program"] != VERSION:
            raise Unreachable(
                f"client {self.name} runs another version of the program: `millrace client bench` has this one"
            )
        nonce = sealed.new_nonce()
        try:
            self._mine, self._theirs = (
                sealed.Seal(token, nonce, str(first.get("nonce")), who) for who in (sealed.SERVER, sealed.CLIENT)
            )
            self._socket.sendall(json.dumps({"nonce": nonce}).encode() + b"\n")
            return ClientFacts.model_validate(self.request("hello"))
        except (ValueError, ValidationError) as error:
            raise Unreachable(f"what answers on {self.name} is not the program of `millrace client bench`") from error
        except OSError as error:
            raise Unreachable(unreachable(self.name, error)) from error
        except RepeatStopped:
            raise
        except Failed as error:
            raise Unreachable(str(error)) from error

    def _opened(self, line: bytes) -> dict[str, Any]:
        """Return the reply in a sealed line. Unreachable: the client rejects the token, or does not know it."""
        try:
            return self._parsed(self._theirs.open(line))
        except sealed.Unsealed:
            raise Unreachable(OTHER_TOKEN.format(self.name, command(ADD, self.name))) from None

    def _line(self, seconds: float, even_when_stopped: bool = False) -> bytes:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._rest:
            if self._stop.is_set() and not even_when_stopped:
                self.close()
                raise RepeatStopped(STOPPED)
            try:
                piece = self._socket.recv(READ)
            except TimeoutError:
                piece = None
            except OSError as error:
                raise Failed(f"client {self.name} disconnected: {error.strerror}") from error
            if piece == b"":
                raise Failed(f"client {self.name} closed the connection: is this the server given with --listen?")
            if time.monotonic() > deadline:
                raise Failed(f"client {self.name} did not answer in {seconds:g} s")
            self._rest += piece or b""
            if len(self._rest) > LONGEST:
                self.close()
                raise Failed(f"client {self.name} sent a reply of more than {LONGEST >> 20} MiB")
        line, _, rest = bytes(self._rest).partition(b"\n")
        self._rest = bytearray(rest)
        return line

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(line)
        # RecursionError: brackets without end
        except (ValueError, RecursionError) as error:
            raise Failed(f"client {self.name} sent an invalid reply: it is not JSON") from error
        if not isinstance(reply, dict):
            raise Failed(f"client {self.name} sent an invalid reply")
        return reply


def unreachable(name: str, error: OSError) -> str:
    """Return the sentence for a client that does not answer."""
    return (
        f"client {name} does not answer on port {listen.PORT} ({error.strerror or error}): run "
        "`python3 millrace-bench.pyz --listen SERVER` there as root (`millrace client bench` writes that file)"
    )
