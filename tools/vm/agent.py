# SPDX-License-Identifier: Apache-2.0
"""Commands in a guest without its network: a small program injected by credential, and its client on the host.

The guest's end of the virtio-serial port `PORT` takes JSON lines {id, argv, stdin, timeout} and answers
{id, status, out, err}; `status` is null where the time was over. A fresh agent says {"hello": boot id}.
"""

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.errors import Failed

PORT = "millrace.test"
UNIT = "millrace-test-agent.service"
SLICE_SECONDS = 0.5

GUEST = f"""
import json, os, signal, subprocess, threading, time
lock = threading.Lock()
def send(fd, answer):
    data = (json.dumps(answer) + "\\n").encode()
    with lock:
        while data:
            data = data[os.write(fd, data):]
def serve(fd, request):
    answer = dict(id=request["id"], status=None, out="", err="")
    try:
        child = subprocess.Popen(request["argv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 start_new_session=True)
        try:
            out, err = child.communicate(request["stdin"].encode("utf-8", "surrogateescape"), request["timeout"])
            answer["status"] = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
        answer["out"] = out.decode("utf-8", "surrogateescape")
        answer["err"] = err.decode("utf-8", "surrogateescape")
    except Exception as error:
        answer.update(status=127, err=str(error))
    send(fd, answer)
while True:
    try:
        fd = os.open("/dev/virtio-ports/{PORT}", os.O_RDWR)
        break
    except OSError:
        time.sleep(0.2)
send(fd, dict(hello=open("/proc/sys/kernel/random/boot_id").read().strip()))
rest = b""
while True:
    chunk = os.read(fd, 65536)
    if not chunk:
        rest = b""
        time.sleep(0.2)
        continue
    *lines, rest = (rest + chunk).split(b"\\n")
    for line in lines:
        threading.Thread(target=serve, args=(fd, json.loads(line)), daemon=True).start()
"""


def unit() -> bytes:
    """Return the agent's unit; it waits for nothing, so that a boot that hangs can be looked into."""
    program = base64.b64encode(GUEST.encode()).decode()
    return f"""[Unit]
Description=Commands of the test harness
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target
[Service]
ExecStart=/usr/bin/python3 -c "exec(__import__('base64').b64decode('{program}'))"
Restart=always
KillMode=process
""".encode()


def credentials() -> dict[str, bytes]:
    """Return the credential that puts the agent into the guest."""
    return {f"systemd.extra-unit.{UNIT}": unit()}


def cmdline() -> list[str]:
    """Return the kernel arguments that start the agent (not in the initrd, which has no Python)."""
    return [f"systemd.wants={UNIT}"]


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
        """Wait until an agent said hello; False after `seconds` or when the machine is gone."""
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

    def run(self, argv: Sequence[str], stdin: str, seconds: float, alive: Callable[[], bool]) -> Result:
        """Run `argv` in the guest; raise Failed where the machine went away or did not answer."""
        with self._changed:
            self._next += 1
            number = self._next
            boot = self.boot_id
            line = json.dumps({"id": number, "argv": list(argv), "stdin": stdin, "timeout": seconds}) + "\n"
            try:
                self._socket.sendall(line.encode())
            except OSError as error:
                raise Failed(f"The guest is gone, it cannot run {argv[0]}.") from error
        # The guest ends the command at `seconds`; its answer takes a while under load.
        answered = self._wait(lambda: number in self._answers or self.boot_id != boot, seconds + 60, alive)
        with self._changed:
            answer = self._answers.pop(number, None)
        if not answered or answer is None:
            raise Failed(f"The guest went away or hangs while it ran: {' '.join(argv)}")
        return Result(tuple(argv), answer["status"], str(answer["out"]), str(answer["err"]))
