# SPDX-License-Identifier: Apache-2.0
"""QEMU's monitor (QMP), spoken in a thread of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from qemu.qmp.legacy import QEMUMonitorProtocol

T = TypeVar("T")


class Monitor:
    """A connection to the monitor at `path`; raises QMPError or OSError where there is none.

    The protocol's event loop belongs to one thread, and the caller's may run another: a browser that is driven does.
    """

    def __init__(self, path: Path) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        try:
            self._protocol = self._in_thread(lambda: self._connect(path))
        except BaseException:
            self._thread.shutdown()
            raise

    def _in_thread(self, act: Callable[[], T]) -> T:
        return self._thread.submit(act).result()

    @staticmethod
    def _connect(path: Path) -> QEMUMonitorProtocol:
        protocol = QEMUMonitorProtocol(str(path))
        protocol.connect()
        return protocol

    def command(self, name: str, **arguments: object) -> Any:
        """Send a command and return what it returned."""
        return self._in_thread(lambda: self._protocol.cmd(name, **arguments))

    def close(self) -> None:
        """Close the connection. A QEMU that has ended may have closed it in the middle of a message."""
        try:
            with suppress(OSError):
                self._in_thread(self._protocol.close)
        finally:
            self._thread.shutdown()
