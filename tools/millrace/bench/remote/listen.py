# SPDX-License-Identifier: Apache-2.0
"""A client that a server drives: part of the program that runs on clients, Python 3.8 and nothing else.

It listens on the one address that the server is reached from and answers that server only. For a run it mounts the
benchmark's directory and starts `fio --server`, which has no authentication: as a user of its own, in a unit that
speaks with the server's address and nobody else (systemd's packet filter) and ends with the run. When the server goes
away, all of it is undone.
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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PORT, FIO_PORT = 8764, 8765
WHERE = "/run/millrace-bench"
MOUNT = f"{WHERE}/mnt"
PROGRAM = f"{WHERE}/millrace-bench.pyz"
FIO_UNIT, LOAD_UNIT = "millrace-bench-fio.service", "millrace-bench-load.service"
SYSTEMD = "/run/systemd/system"
"""Exists where systemd runs (sd_booted(3))."""
DIRECTORY = "/.millrace-bench"
"""The end of every path that is mounted: the server's own directory, never a share."""
MOUNT_SECONDS = "120"
LONGEST = 1 << 20
"""Bytes of a request at most."""


class Wrong(Exception):
    """What cannot be done, in one sentence."""


def listen(server: str, facts: dict[str, Any]) -> int:
    """Answer the server until somebody ends this program."""
    if os.geteuid() != 0 or not os.path.isdir(SYSTEMD):
        print("--listen mounts and starts units: it needs root and systemd", file=sys.stderr)
        return 1
    try:
        found = socket.getaddrinfo(server, PORT, type=socket.SOCK_STREAM)
    except OSError:
        print(f"{server} is not a name or an address that this client knows", file=sys.stderr)
        return 1
    family, peers = found[0][0], {str(one[4][0]) for one in found}
    address = local_address(family, found[0][4])
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
        print(f"on the server: millrace bench clients add {address}", flush=True)
        try:
            while True:
                connection, peer = door.accept()
                with connection:
                    if peer[0] in peers:
                        serve(connection, Client(address, str(peer[0])), facts)
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
    """The address of this client that packets to the server carry."""
    with socket.socket(family, socket.SOCK_DGRAM) as look:
        look.connect(server)
        return str(look.getsockname()[0])


def serve(connection: socket.socket, client: Client, facts: dict[str, Any]) -> None:
    """Do what a server asks until it hangs up; whatever it left is taken away then."""
    connection.settimeout(None)
    # a server whose power was cut does not hang up
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3)):
        connection.setsockopt(socket.IPPROTO_TCP, name, value)
    try:
        say(connection, facts)
        with connection.makefile("rb") as lines:
            for line in iter(lambda: lines.readline(LONGEST), b""):
                try:
                    say(connection, client.do(json.loads(line), lambda: gone(connection)))
                except (Wrong, ValueError, KeyError, TypeError) as error:
                    say(connection, {"error": str(error)})
    except OSError:
        pass
    finally:
        release()


def say(connection: socket.socket, answer: dict[str, Any]) -> None:
    connection.sendall(json.dumps(answer).encode() + b"\n")


def gone(connection: socket.socket) -> bool:
    """Whether the server has hung up."""
    ready, _, _ = select.select([connection], [], [], 0.2)
    return bool(ready) and not connection.recv(1, socket.MSG_PEEK)


class Client:
    """What a server may ask for. Every answer is an object; one with `error` says why not."""

    def __init__(self, address: str, server: str) -> None:
        self.address, self.server = address, server

    def do(self, asked: dict[str, Any], given_up: Callable[[], bool]) -> dict[str, Any]:
        """One request."""
        verbs: dict[str, Callable[[], dict[str, Any]]] = {
            "mount": lambda: self.mount(str(asked["path"]), str(asked["options"])),
            "serve": self.fio,
            "run": lambda: self.load([str(one) for one in asked["arguments"]], given_up),
            "release": release,
        }
        if asked["do"] not in verbs:
            raise Wrong(f"this program cannot {asked['do']}: download it again from the server")
        return verbs[asked["do"]]()

    def mount(self, path: str, options: str) -> dict[str, Any]:
        """The server's own directory, and only that."""
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

    def fio(self) -> dict[str, Any]:
        """fio's server; the other side looks when it answers, for it alone can reach it."""
        argv = ["systemd-run", "--quiet", "--collect", f"--unit={FIO_UNIT}", "--service-type=exec", *self._contained()]
        status, said = run(
            [*argv, "fio", f"--server={'ip6' if ':' in self.address else 'ip'}:{self.address},{FIO_PORT}"]
        )
        if status:
            raise Wrong(f"fio --server does not start: {said}")
        return {"port": FIO_PORT}

    def load(self, arguments: Sequence[str], given_up: Callable[[], bool]) -> dict[str, Any]:
        """One of the program's own loads, to its end."""
        if arguments[0] not in ("au", "kvcache"):
            raise Wrong(f"this program has no load {arguments[0]}")
        argv = ["systemd-run", "--quiet", "--collect", f"--unit={LOAD_UNIT}", "--pipe", "--wait", *self._contained()]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*argv, sys.executable, "-I", PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        while True:
            try:
                out, err = process.communicate(timeout=0.2)
                return {"status": process.returncode, "out": out.decode(), "err": err.decode()}
            except subprocess.TimeoutExpired:
                if given_up():
                    run(["systemctl", "stop", LOAD_UNIT])
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
            # not there yet while the server only asks what is here
            f"ReadWritePaths=-{MOUNT}",
            "IPAddressDeny=any",
            f"IPAddressAllow={self.server}",
            "LimitNOFILE=262144",
        )
        return [f"--property={one}" for one in properties]


def release() -> dict[str, Any]:
    """Undo what a run needed, whoever left it."""
    for unit in (FIO_UNIT, LOAD_UNIT):
        run(["systemctl", "stop", unit])
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
