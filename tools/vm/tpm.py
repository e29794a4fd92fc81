# SPDX-License-Identifier: Apache-2.0
"""A TPM 2.0 for a virtual server: Debian's swtpm, one process for each start of the machine.

What a TPM keeps when the power is off lies in a directory of the machine's; without it the next start has another TPM.
"""

import shutil
import subprocess
from itertools import repeat
from pathlib import Path

from millrace.system.errors import Failed
from millrace.system.wait import wait_until

SWTPM = "swtpm"
POLL_SECONDS, POLLS = 0.1, 300
STOP_SECONDS = 10.0


class Tpm:
    """The emulated TPM whose state is in the directory `state` and which QEMU reaches by `socket`."""

    def __init__(self, state: Path, socket: Path, swtpm: str = SWTPM) -> None:
        self.state, self.socket = state, socket
        self._swtpm = swtpm
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start swtpm and wait for its socket. Failed: it is not installed, or ends."""
        self.stop()
        self.state.mkdir(parents=True, exist_ok=True)
        argv = [self._swtpm, "socket", "--tpm2", "--tpmstate", f"dir={self.state}", "--terminate"]
        argv += ["--ctrl", f"type=unixio,path={self.socket}"]
        log = self.state.with_suffix(".log")
        try:
            with log.open("ab") as out:
                # in the session of its tool as QEMU is, and not ended by its Ctrl-C
                self._process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, process_group=0
                )
        except FileNotFoundError as error:
            raise Failed(f"{self._swtpm} is not installed; tools/run installs it.") from error
        process = self._process
        wait_until(lambda: self.socket.exists() or process.poll() is not None, bool, repeat(POLL_SECONDS, POLLS))
        if process.poll() is not None or not self.socket.exists():
            self.stop()
            raise Failed(f"{self._swtpm} did not start: {log.read_text(errors='replace')[-500:].strip()}")

    def stop(self) -> None:
        """End swtpm, which ends by itself when QEMU does; what it keeps stays."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None
        self.socket.unlink(missing_ok=True)

    def forget(self) -> None:
        """Let the next start have another TPM, as with a new mainboard. Failed: the machine runs."""
        if self._process is not None:
            raise Failed("The TPM of a machine that runs is not replaced.")
        shutil.rmtree(self.state, ignore_errors=True)
