# SPDX-License-Identifier: Apache-2.0
"""One attempt to deliver a message, in a process of its own with a deadline."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from millrace.observe.alert.send import Parcel

# Without the current directory in the module path.
SEND = (sys.executable, "-P", "-m", "millrace.observe.alert.send")
# Emulated, Python alone takes seconds to start.
SECONDS = 60.0


class Attempt:
    """A delivery under way. The process is ended after `seconds`."""

    def __init__(self, parcel: Parcel, argv: Sequence[str] = SEND, seconds: float = SECONDS) -> None:
        self._until = time.monotonic() + seconds
        self._seconds = seconds
        # Its errors; closed once they are read.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        with tempfile.TemporaryFile() as given:
            given.write(parcel.model_dump_json().encode())
            given.seek(0)
            self._process = subprocess.Popen(argv, stdin=given, stdout=subprocess.DEVNULL, stderr=self._errors)

    def ended(self) -> bool:
        """Whether it is over; one that exceeds its time is ended here."""
        if self._process.poll() is None and time.monotonic() >= self._until:
            self._process.kill()
            self._process.wait()
        return self._process.poll() is not None

    def problem(self) -> str | None:
        """Return why the message was not delivered, in one sentence; None where it was. Only once it has ended."""
        status = self._process.wait()
        with self._errors as errors:
            errors.seek(0)
            words = errors.read().decode(errors="replace").strip()
        if status == 0:
            return None
        if status < 0:
            return f"no reply within {self._seconds:g} s"
        return words.splitlines()[-1] if words else f"the delivery ended with status {status}"
