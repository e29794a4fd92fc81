# SPDX-License-Identifier: Apache-2.0
"""The unit of a run, which does not end with the session that started it."""

from collections.abc import Sequence

from millrace.system import paths
from millrace.system.run import attempt, must
from millrace.system.units import is_under_way

NAME = "millrace-bench.service"
TUNER = "millrace-tuner.service"
"""The other one that measures: it takes the lock of the benchmark, so one of them runs at a time."""


def active() -> bool:
    """Whether a run is active."""
    return is_under_way(NAME, attempt)


def tuner_active() -> bool:
    """Whether a run of the tuner is active, or puts its settings back."""
    return is_under_way(TUNER, attempt)


def allow_writing(devices: Sequence[str]) -> None:
    """Let the next run open block devices for writing, which the unit denies otherwise."""
    if (paths.ROOT / f"run/systemd/system.control/{NAME}.d").exists():
        must(attempt, ["systemctl", "revert", NAME])
    if devices:
        rules = [f"DeviceAllow={device} rwm" for device in dict.fromkeys(devices)]
        must(attempt, ["systemctl", "set-property", "--runtime", NAME, *rules])


def stop() -> None:
    """End the run; return when it has cleaned up."""
    must(attempt, ["systemctl", "stop", NAME])
