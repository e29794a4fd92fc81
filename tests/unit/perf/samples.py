# SPDX-License-Identifier: Apache-2.0
"""Records as a guest reports them."""

from typing import Any

from host.perf.results import Result, result


def record(test: str, variant: str, seconds: float, **more: Any) -> dict[str, Any]:
    """A thousand writes of 4 KiB in `seconds`."""
    nothing = {"reads": 0, "writes": 0, "read_bytes": 0, "written_bytes": 0, "flushes": 0}
    fields: dict[str, Any] = {
        "test": test,
        "variant": variant,
        "operations": 1000,
        "bytes": 4096000,
        "seconds": seconds,
        "p99_us": 120.0,
        "busy": 0.1,
        "calls": 0,
        "data": {**nothing, "writes": 3000, "written_bytes": 12288000},
        "log": {**nothing, "writes": 2000, "written_bytes": 8192000},
    }
    return {**fields, **more}


def control(no_wdelay: float = 0.5, wdelay: float = 0.5) -> Result:
    """A control whose two sides took so many seconds."""
    test = "4 KiB, O_SYNC, NFSv4.2"
    rows = [record(test, "no_wdelay", no_wdelay), record(test, "wdelay", wdelay)]
    return result("control", [{"kernel": "7.2.12"}, *rows])


def log() -> Result:
    """The log benchmark with drives of its own twice as fast as inside, and four times as fast as stock."""
    seconds = {"stock": 2.0, "tuned, log inside": 1.0, "tuned": 0.5, "tuned, faster log drives": 0.4}
    tests = ("4 KiB into allocated space, fsync", "4 KiB appended, fsync")
    rows = [record(test, variant, taken) for variant, taken in seconds.items() for test in tests]
    note = {"note": "a drive is back", "variant": "tuned", "values": {"MiB written": 1.5}}
    return result("log", [{"kernel": "7.2.12"}, *rows, note])
