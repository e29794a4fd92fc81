# SPDX-License-Identifier: Apache-2.0
"""The state of systemd units."""

import socket
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from millrace.system.errors import Failed
from millrace.system.run import Result, Runner, last_words

SHARES, TUNE = "millrace-share.service", "millrace-tune.service"
"""They serve the shares and set the runtime settings; wings on both sides of these two restart or read them."""


class UnitState(NamedTuple):
    """The state of a unit: systemd's ActiveState, and whether a job of it waits or runs."""

    active: str
    queued: bool

    @property
    def is_working(self) -> bool:
        """Whether a oneshot unit runs or is about to: systemd calls it "activating", and never active."""
        return self.queued or self.active == "activating"

    @property
    def is_under_way(self) -> bool:
        """Whether a unit begins, runs or ends: it has not ended while what it runs after a kill is not done."""
        return self.active in ("active", "activating", "deactivating", "reloading")

    @property
    def works(self) -> bool:
        """Whether a unit runs, ends, or waits for its start."""
        return self.queued or self.is_under_way


def is_active(unit: str, run: Runner) -> bool:
    """Whether systemd has the unit up."""
    return run(["systemctl", "is-active", "--quiet", unit]).status == 0


def active_state(unit: str, run: Runner) -> str:
    """Return systemd's ActiveState of a unit. Failed: systemd does not report it."""
    result = _value(unit, run)
    return _reported(unit, result.out.strip(), result)


def state(unit: str, run: Runner) -> UnitState:
    """Return the state of a unit. Failed: systemd does not report it."""
    result = run([*_SHOW_JOB, unit])
    found = _parse(result.out)
    return UnitState(_reported(unit, found.active, result), found.queued)


def states(units: Sequence[str], run: Runner) -> dict[str, UnitState]:
    """Return the states of several units, asked for at once. Failed: systemd does not report one of them."""
    if not units:
        return {}
    result = run(["systemctl", "show", "--property=Id,ActiveState,Job", *units])
    blocks = (_fields(block) for block in result.out.split("\n\n"))
    found = {block["Id"]: _state(block) for block in blocks if "Id" in block}
    return {unit: _of_these(unit, found, result) for unit in units}


def is_working(unit: str, run: Runner) -> bool:
    """Whether a oneshot unit runs at the moment, or is about to; not where systemd reports nothing."""
    return _parse(run([*_SHOW_JOB, unit]).out).is_working


_SHOW_JOB = ["systemctl", "show", "--property=ActiveState,Job"]


def _value(unit: str, run: Runner) -> Result:
    return run(["systemctl", "show", "--property=ActiveState", "--value", unit])


def _parse(text: str) -> UnitState:
    return _state(_fields(text))


def _fields(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.split() if "=" in line)


def _of_these(unit: str, found: Mapping[str, UnitState], result: Result) -> UnitState:
    _reported(unit, found[unit].active if unit in found else "", result)
    return found[unit]


def _state(found: Mapping[str, str]) -> UnitState:
    # systemd 262 prints an empty value for a unit without a job
    return UnitState(found.get("ActiveState", ""), found.get("Job", "") not in ("", "0"))


def _reported(unit: str, found: str, result: Result) -> str:
    if result.status != 0 or not found:
        raise Failed(f"systemctl does not report the state of {unit}: {last_words(result)}")
    return found


def notify(address: str | None, word: str) -> None:
    """Tell systemd at $NOTIFY_SOCKET READY=1, that a service is up, or WATCHDOG=1, that it lives (sd_notify(3)).

    Nothing where nobody waits for it. OSError: systemd does not take it now.
    """
    if not address:
        return
    # a socket without a file has a null byte where systemd writes @
    place = f"\0{address[1:]}" if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as manager:
        manager.sendto(word.encode(), place)
