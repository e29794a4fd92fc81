# SPDX-License-Identifier: Apache-2.0
"""Request a heartbeat of the pool with a deadline; the process that requests it never touches the pool."""

import time
from collections.abc import Callable, Sequence

from millrace import paths
from millrace.errors import MillraceError
from millrace.system.documents import Contract, read_model
from millrace.system.run import Result

UNIT = "millrace-heartbeat.service"
TIMED_OUT = 124
"""The status of a tool that did not end in time (millrace.system.run)."""


class Heartbeat(Contract):
    """The result of the last heartbeat. Sizes in bytes, `uptime` in seconds since boot.

    `problem` is why there was none; `error` is the name of the error, empty where the pool does not answer. `known` is
    false where none was requested.
    """

    uptime: float
    problem: str | None
    error: str | None
    size: int | None = None
    used: int | None = None
    free: int | None = None
    inodes: int | None = None
    inodes_free: int | None = None
    known: bool = True


def last() -> Heartbeat | None:
    """Return the last heartbeat, for users without privileges; None where there was none in this boot."""
    try:
        return read_model(paths.heartbeat_file(), Heartbeat)
    except MillraceError:
        return None


def request(run: Callable[[Sequence[str]], Result]) -> Heartbeat:
    """Return a heartbeat of now.

    systemd starts the unit once for any number of requests: one process hangs with a pool that hangs, never two.
    """
    result = run(["systemctl", "start", UNIT])
    found = last()
    if result.status == TIMED_OUT:
        silent = f" for {time.monotonic() - found.uptime:.0f} s" if found and not found.problem else ""
        return Heartbeat(uptime=time.monotonic(), problem=f"no answer{silent}", error="")
    if result.status != 0 or found is None:
        why = result.err.strip().partition("\n")[0].rstrip(".") or "no answer"
        problem = f"{UNIT} does not run: {why}"
        return Heartbeat(uptime=time.monotonic(), problem=problem, error=None, known=False)
    return found
