# SPDX-License-Identifier: Apache-2.0
"""A client that a server drives: part of the program that runs on clients, Python 3.8 and nothing else.

It listens on the one address that the server is reached from and obeys the server that knows its token, at that
server's address only. For a run it mounts the benchmark's directory and runs the loads: as a user of its own, in a unit
that speaks with the server's address and nobody else (systemd's packet filter). fio reads its job from standard input
and its report goes back as text; fio's own client/server protocol, in which either side trusts the other, is not used.
When the server goes away, all of it is undone.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from millrace_client import sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PORT = 8764
WHERE = "/run/millrace-bench"
MOUNT = f"{WHERE}/mnt"
PROGRAM = f"{WHERE}/millrace-bench.pyz"
UNIT = "millrace-bench-load.service"
FIO = ("fio", "--output-format=json+", "-")
"""fio, with a job of the server on its standard input."""
SYSTEMD = "/run/systemd/system"
"""Exists where systemd runs (sd_booted(3))."""
DIRECTORY = "/.millrace-bench"
"""The end of every path that is mounted: the server's own directory, never a share."""
MOUNT_SECONDS = "120"
LONGEST = 1 << 20
"""Bytes of a request at most."""
HELLO_SECONDS = 10.0
"""How long a server may take to show that it knows the token."""


class Wrong(Exception):
    """What the client cannot do, in one sentence."""


def listen(server: str, facts: dict[str, Any], token: str | None = None) -> int:
    """Answer the server until this program is ended; `token` is a new one for each start, unless given."""
    if os.geteuid() != 0 or not os.path.isdir(SYSTEMD):
        print("--listen mounts and starts units: it needs root and systemd", file=sys.stderr)
        return 1
    try:
        endpoints = socket.getaddrinfo(server, PORT, type=socket.SOCK_STREAM)
    except OSError:
        print(f"{server} does not resolve on this client", file=sys.stderr)
        return 1
    family, peers = endpoints[0][0], {str(endpoint[4][0]) for endpoint in endpoints}
    address = local_address(family, endpoints[0][4])
    release()
    os.makedirs(WHERE, mode=0o755, exist_ok=True)
    shutil.copyfile(os.path.abspath(sys.argv[0]), PROGRAM)
    for path, mode in ((WHERE, 0o755), (PROGRAM, 0o644)):
        os.chmod(path, mode)
    with socket.socket(family, socket.SOCK_STREAM) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((address, PORT))
        except OSError as error:
            print(
                f"port {PORT} of {address} cannot be used ({error.strerror}): does this run already?", file=sys.stderr
            )
            return 1
        door.listen(1)
        token = token or sealed.new_token()
        print(f"on the server: millrace bench clients add {address}\ntoken: {token}", flush=True)
        try:
            while True:
                connection, peer = door.accept()
                with connection:
                    if peer[0] in peers:
                        serve(connection, Client(str(peer[0])), facts, token)
        except KeyboardInterrupt:
            return 0
        finally:
            release()
            clear()


def clear() -> None:
    """Remove what this program made; what is still mounted there stays as it is."""
    os.unlink(PROGRAM)
    for path in (MOUNT, WHERE):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def local_address(family: int, server: Any) -> str:
    """Return the address of this client that packets to the server carry; `family` is AF_INET or AF_INET6."""
    with socket.socket(family, socket.SOCK_DGRAM) as look:
        look.connect(server)
        return str(look.getsockname()[0])


def serve(connection: socket.socket, client: Client, facts: dict[str, Any], token: str) -> None:
    """Carry out the requests of a server that knows the token until it disconnects; then undo what remains."""
    # a server whose power was cut does not hang up
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3)):
        connection.setsockopt(socket.IPPROTO_TCP, name, value)
    try:
        connection.settimeout(HELLO_SECONDS)
        # not makefile: a line that is read ahead would not be seen by gone()
        lines = Lines(connection)
        nonce = sealed.new_nonce()
        connection.sendall(json.dumps({"program": facts["program"], "nonce": nonce}).encode() + b"\n")
        other = str(json.loads(lines.next())["nonce"])
        theirs, mine = (sealed.Seal(token, other, nonce, who) for who in (sealed.SERVER, sealed.CLIENT))
        for line in iter(lines.next, b""):
            asked = json.loads(theirs.open(line))
            connection.settimeout(None)
            try:
                answer = client.do(asked, facts, lambda: gone(connection))
            except (Wrong, ValueError, KeyError, TypeError) as error:
                answer = {"error": str(error)}
            connection.sendall(mine.close(json.dumps(answer).encode()))
    except sealed.Unsealed:
        with contextlib.suppress(OSError):
            connection.sendall(b'{"refused": "token"}\n')
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        # gone, or not of this program
        pass
    finally:
        release()


class Lines:
    """Lines of a connection; an empty one when the server has closed it or sent too much."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._rest = connection, b""

    def next(self) -> bytes:
        """Return the next line with its newline; empty when the server has closed the connection."""
        while b"\n" not in self._rest:
            piece = self._connection.recv(1 << 16)
            if not piece or len(self._rest) > LONGEST:
                return b""
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line + b"\n"


def gone(connection: socket.socket) -> bool:
    """Whether the server has closed the connection."""
    ready, _, _ = select.select([connection], [], [], 0.2)
    return bool(ready) and not connection.recv(1, socket.MSG_PEEK)


class Client:
    """What a server may request. Every reply is an object; one with `error` has the reason of a refusal."""

    def __init__(self, server: str) -> None:
        self.server = server

    def do(self, asked: dict[str, Any], facts: dict[str, Any], given_up: Callable[[], bool]) -> dict[str, Any]:
        """Carry out the request `asked`; `facts` is the reply to hello.

        Wrong: it is unknown, or cannot be carried out.
        """
        verbs: dict[str, Callable[[], dict[str, Any]]] = {
            "hello": lambda: facts,
            "mount": lambda: self.mount(str(asked["path"]), str(asked["options"])),
            "fio": lambda: self.load(FIO, str(asked["job"]), given_up),
            "run": lambda: self.load(own([str(argument) for argument in asked["arguments"]]), "", given_up),
            "release": release,
        }
        if asked["do"] not in verbs:
            raise Wrong(f"this program cannot {asked['do']}: download it again from the server")
        return verbs[asked["do"]]()

    def mount(self, path: str, options: str) -> dict[str, Any]:
        """Mount the server's own directory, and no other. Wrong: it is another, or does not mount."""
        if not path.endswith(DIRECTORY):
            raise Wrong(f"{path} is not the directory of a benchmark")
        release()
        os.makedirs(MOUNT, exist_ok=True)
        host = f"[{self.server}]" if ":" in self.server else self.server
        argv = ["timeout", MOUNT_SECONDS, "mount", "-t", "nfs4", "-o", f"{options},nosuid,nodev,noexec"]
        status, said = run([*argv, f"{host}:{path}", MOUNT])
        if status:
            raise Wrong(f"{host}:{path} does not mount: {said or f'status {status}'}")
        return {"directory": MOUNT}

    def load(self, argv: Sequence[str], stdin: str, given_up: Callable[[], bool]) -> dict[str, Any]:
        """Run one load to its end. Wrong: the server has disconnected."""
        contained = ["systemd-run", "--quiet", "--collect", f"--unit={UNIT}", "--pipe", "--wait", *self._contained()]
        pipe = subprocess.PIPE
        with tempfile.TemporaryFile() as job:
            job.write(stdin.encode())
            job.seek(0)
            process = subprocess.Popen([*contained, *argv], stdin=job, stdout=pipe, stderr=pipe)
        while True:
            try:
                out, err = process.communicate(timeout=0.2)
                said = {"out": out.decode("utf-8", "replace"), "err": err.decode("utf-8", "replace")}
                return {"status": process.returncode, **said}
            except subprocess.TimeoutExpired:
                if given_up():
                    run(["systemctl", "stop", UNIT])
                    process.communicate()
                    raise Wrong("the server is gone") from None

    def _contained(self) -> list[str]:
        """A user of its own that can write the mount, and speak with the server only."""
        properties = (
            "DynamicUser=yes",
            "ProtectHome=yes",
            "PrivateDevices=yes",
            "CapabilityBoundingSet=",
            "ProtectClock=yes",
            "ProtectControlGroups=yes",
            "ProtectHostname=yes",
            "ProtectKernelLogs=yes",
            "ProtectKernelModules=yes",
            "ProtectKernelTunables=yes",
            "RestrictNamespaces=yes",
            "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
            "LockPersonality=yes",
            "SystemCallArchitectures=native",
            "SystemCallFilter=@system-service",
            "SystemCallErrorNumber=EPERM",
            # missing while the server only verifies that fio works
            f"ReadWritePaths=-{MOUNT}",
            "IPAddressDeny=any",
            f"IPAddressAllow={self.server}",
            "LimitNOFILE=262144",
        )
        return [f"--property={unit_property}" for unit_property in properties]


def own(arguments: Sequence[str]) -> list[str]:
    """Return the command line of a load of this program. Wrong: there is no such load."""
    if not arguments or arguments[0] not in ("au", "kvcache"):
        raise Wrong(f"this program has no load {' '.join(arguments[:1])}")
    return [sys.executable, "-I", PROGRAM, *arguments]


def release() -> dict[str, Any]:
    """Undo what any run set up."""
    run(["systemctl", "stop", UNIT])
    # asked of the kernel: a server that is gone does not answer
    with open("/proc/self/mounts") as table:
        mounted = any(line.split()[1] == MOUNT for line in table)
    if mounted and run(["timeout", MOUNT_SECONDS, "umount", MOUNT])[0]:
        run(["umount", "--force", "--lazy", MOUNT])
    return {}


def run(argv: Sequence[str]) -> tuple[int, str]:
    """Exit status and last words of a tool."""
    done = subprocess.run(list(argv), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return done.returncode, said[-1] if said else ""
