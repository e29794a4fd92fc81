# SPDX-License-Identifier: Apache-2.0
"""The unit that a run lives in, which outlives whoever started it."""

from millrace import command

NAME = "millrace-bench.service"


def active() -> bool:
    """Whether a run is on."""
    state = command.attempt(["systemctl", "show", "--property=ActiveState", "--value", NAME]).out.strip()
    return state in ("active", "activating", "deactivating", "reloading")
