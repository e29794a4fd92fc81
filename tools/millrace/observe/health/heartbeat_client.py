# SPDX-License-Identifier: Apache-2.0
"""Request a heartbeat of the pool with a deadline; the process that requests it never touches the pool."""

import os
import select
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from millrace.system import paths
from millrace.system.heartbeat import Heartbeat, last
from millrace.system.run import Result

UNIT = "millrace-heartbeat.service"
SECONDS = 20.0
"""A pool that has not answered for so long does not answer; the unit starts within the same time (system.run)."""
TIMED_OUT = 124
"""The status of a tool that did not end in time (millrace.system.run)."""
_PAUSE = 0.005


def request(run: Callable[[Sequence[str]], Result], seconds: float = SECONDS) -> Heartbeat:
    """Return a heartbeat of now.

    One process hangs with a pool that hangs, never two: the one that stays, or the one that systemd starts for it.
    """
    before = last()
    asked = _ask(before.uptime if before else 0.0, seconds)
    if asked is None:
        result = run(["systemctl", "start", UNIT])
        asked = result.status != TIMED_OUT
        if asked and result.status != 0:
            return _unknown(result.err.strip().partition("\n")[0].rstrip("."))
    if not asked:
        silent = f" for {time.monotonic() - before.uptime:.0f} s" if before and not before.problem else ""
        return Heartbeat(uptime=time.monotonic(), problem=f"no answer{silent}", error="")
    return last() or _unknown("")


def _unknown(why: str) -> Heartbeat:
    problem = f"{UNIT} does not run: {why or 'no answer'}"
    return Heartbeat(uptime=time.monotonic(), problem=problem, error=None, known=False)


def _ask(before: float, seconds: float) -> bool | None:
    """Ask the process that stays: whether a later result than that of `before` came in time; None: it does not run."""
    try:
        fifo = os.open(paths.heartbeat_requests(), os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        # nobody reads it, or has made it yet
        return None
    try:
        # More than it holds is asked already.
        with suppress(BlockingIOError):
            os.write(fifo, b"\n")
        ended = select.poll()
        ended.register(fifo, 0)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if ended.poll(1000 * _PAUSE):
                return None
            beat = last()
            if beat and beat.uptime > before:
                return True
    except BrokenPipeError:
        return None
    finally:
        os.close(fifo)
    return False
