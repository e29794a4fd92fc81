# SPDX-License-Identifier: Apache-2.0
"""The unit that a run lives in, which outlives whoever started it."""

from collections.abc import Sequence

from millrace import paths
from millrace.system.run import attempt, must

NAME = "millrace-bench.service"


def active() -> bool:
    """Whether a run is on."""
    state = attempt(["systemctl", "show", "--property=ActiveState", "--value", NAME]).out.strip()
    return state in ("active", "activating", "deactivating", "reloading")


def allow_writing(devices: Sequence[str]) -> None:
    """For the next run: the unit itself lets no block device be opened for writing."""
    if (paths.ROOT / f"run/systemd/system.control/{NAME}.d").exists():
        must(attempt, ["systemctl", "revert", NAME])
    if devices:
        rules = [f"DeviceAllow={device} rwm" for device in dict.fromkeys(devices)]
        must(attempt, ["systemctl", "set-property", "--runtime", NAME, *rules])


def stop() -> None:
    """End the run; returns when it has cleaned up."""
    must(attempt, ["systemctl", "stop", NAME])
