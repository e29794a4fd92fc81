# SPDX-License-Identifier: Apache-2.0
"""How the clock goes while the server runs (`/run/millrace/clock.json`): whether it is synchronised, and its jumps.

CLOCK_BOOTTIME never jumps, and counts on in standby. What the clock is ahead of it changes with a correction alone: a
time client moves the clock by milliseconds between two checks, and by years where the server started with a wrong one.
"""

import time
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from millrace.observe.health.host import Host
from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError

JUMP_SECONDS = 60.0
"""A change by more than this is a jump."""
SHOWN_SECONDS = 86400.0
"""So long a jump is reported."""
MOST_JUMPS = 16
"""Jumps that are kept, the latest ones."""
GRACE_SECONDS = 600.0
"""After a start a time client gets so long to reach its server."""
ASK_SECONDS = 300.0
"""Seconds between two questions whether the clock is synchronised: each starts a service of systemd's."""


class ClockJump(Contract):
    """A jump by `seconds`, at `uptime` seconds after the start: the clock showed `before` (ISO 8601), then `after`."""

    uptime: float
    seconds: float
    before: str
    after: str


class ClockState(Contract):
    """The clock at the last check, `uptime` seconds after the start and `ahead` seconds ahead of that.

    `synchronised` is null where it was not asked yet; `client` is whether a time client is enabled.
    """

    schema_version: Literal[1] = 1
    uptime: float
    ahead: float
    jumps: list[ClockJump] = Field(default_factory=list)
    synchronised: bool | None = None
    client: bool = True
    asked: float | None = None


def write(host: Host, realtime: float | None = None, uptime: float | None = None) -> None:
    """Compare the clock with that of the last check, ask from time to time if it is synchronised, and write both.

    `realtime` is the clock in seconds since 1970 and `uptime` CLOCK_BOOTTIME, read now unless given.
    """
    up = time.clock_gettime(time.CLOCK_BOOTTIME) if uptime is None else uptime
    now = time.time() if realtime is None else realtime
    state = compared(last(), now, up)
    if state.uptime >= GRACE_SECONDS and (state.asked is None or up - state.asked >= ASK_SECONDS):
        state = _asked(state, host)
    write_model(paths.clock_file(), state)


def last() -> ClockState | None:
    """Return what was written last; None where there is nothing, or nothing that can be parsed."""
    try:
        return read_model(paths.clock_file(), ClockState)
    except MillraceError:
        return None


def compared(before: ClockState | None, realtime: float, uptime: float) -> ClockState:
    """Return the state now, with the jump since the last check. Pure."""
    ahead = realtime - uptime
    if before is None or uptime < before.uptime:
        return ClockState(uptime=uptime, ahead=ahead)
    jumps = [jump for jump in before.jumps if uptime - jump.uptime < SHOWN_SECONDS]
    changes: dict[str, object] = {"uptime": uptime, "ahead": ahead, "jumps": jumps}
    by = ahead - before.ahead
    if abs(by) > JUMP_SECONDS:
        jump = ClockJump(uptime=uptime, seconds=by, before=_stamp(realtime - by), after=_stamp(realtime))
        # a clock that was set is no longer synchronised, as the kernel sees it
        changes |= {"jumps": [*jumps, jump][-MOST_JUMPS:], "asked": None}
    return before.model_copy(update=changes)


def _asked(state: ClockState, host: Host) -> ClockState:
    said = host.query(["timedatectl", "show", "--property=NTP", "--property=NTPSynchronized"])
    values = dict(line.split("=", 1) for line in said.out.splitlines() if "=" in line)
    known = values.get("NTPSynchronized") if said.status == 0 else None
    synchronised = None if known is None else known == "yes"
    client = values.get("NTP") != "no"
    return state.model_copy(update={"synchronised": synchronised, "client": client, "asked": state.uptime})


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
