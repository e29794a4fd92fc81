# SPDX-License-Identifier: Apache-2.0
"""What is going on, in one line that is overwritten; where there is no terminal, a line every while."""

import shutil
import time
from typing import TextIO

# Without a terminal, log lines at least this many seconds apart; the same step again after this many.
QUIET_SECONDS = 10.0
SAME_SECONDS = 60.0


class Status:
    """A line with the elapsed time and the current step."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._begin = time.monotonic()
        self._last = float("-inf")
        self._step = ""
        self._live = out.isatty()

    def show(self, step: str) -> None:
        """Show `step` as what is being done now."""
        now = time.monotonic()
        line = f"{clock(now - self._begin)}  {step.strip()}"
        if self._live:
            self._out.write("\r\033[K" + line[: shutil.get_terminal_size().columns - 1])
        elif now - self._last >= (SAME_SECONDS if step == self._step else QUIET_SECONDS):
            self._last, self._step = now, step
            self._out.write(line + "\n")
        self._out.flush()

    def clear(self) -> None:
        """Leave an empty line for what is printed next."""
        if self._live:
            self._out.write("\r\033[K")
            self._out.flush()


def clock(seconds: float) -> str:
    """Return `seconds` as minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
