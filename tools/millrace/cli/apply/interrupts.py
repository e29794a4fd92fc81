# SPDX-License-Identifier: Apache-2.0
"""An interruption (Ctrl-C, the end of an ssh session, SIGTERM) becomes an exception, once, and where it may."""

import signal
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)


class Interrupts:
    """While it is entered, the first signal raises KeyboardInterrupt with its name; later ones are ignored.

    Where interruptions are held, it is raised when they are released: what is finished or put back is not torn.
    """

    def __init__(self) -> None:
        self._held = False
        self._came: str | None = None
        self._due = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupts":
        for each in SIGNALS:
            before = signal.getsignal(each)
            # nohup(1) means it
            if before != signal.SIG_IGN:
                self._before[each] = before
                signal.signal(each, self._raise)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each, before in self._before.items():
            signal.signal(each, before)

    def hold(self) -> None:
        """Let no interruption raise until `release`."""
        self._held = True

    def release(self) -> None:
        """Let interruptions raise again. KeyboardInterrupt: one came meanwhile."""
        self._held = False
        if self._due:
            self._due = False
            raise KeyboardInterrupt(self._came)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if self._came is not None:
            return
        self._came = signal.Signals(number).name
        if self._held:
            self._due = True
            return
        raise KeyboardInterrupt(self._came)
