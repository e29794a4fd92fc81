# SPDX-License-Identifier: Apache-2.0
"""Where the history of the last day is; that of the year is on the pool, in system/paths."""

from pathlib import Path

from millrace.system import paths


def history_file() -> Path:
    """The values of the last day, as millrace-metrics-collector.service kept them; the pool has the older ones.

    For root alone: who can open it can hold a lock of it, and nothing would be kept for as long.
    """
    return paths.run_dir() / "history.db"


def history_view_file() -> Path:
    """A copy of the values of the last day for users who are not root: it is replaced, so their locks delay nobody."""
    return paths.run_dir() / "history-view.db"


def history_readings_file() -> Path:
    """The counters of the last values of the history."""
    return paths.run_dir() / "history-readings.json"
