# SPDX-License-Identifier: Apache-2.0
"""Where the history of the last day is; that of the year is on the pool, in system/paths."""

from pathlib import Path

from millrace.system import paths


def history_file() -> Path:
    """The values of the last day, as millrace-metrics-collector.service kept them; the pool has the older ones."""
    return paths.run_dir() / "history.db"


def history_readings_file() -> Path:
    """The counters of the last values of the history."""
    return paths.run_dir() / "history-readings.json"
