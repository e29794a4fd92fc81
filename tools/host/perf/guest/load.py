# SPDX-License-Identifier: Apache-2.0
"""One fio job and what came of it."""

import json
from dataclasses import dataclass
from typing import Any

from host.perf.guest.shell import run


@dataclass(frozen=True)
class Outcome:
    """What fio saw: completed operations, bytes, seconds, and the 99th percentile of the latency in µs."""

    operations: int
    bytes: int
    seconds: float
    p99_us: float

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / self.seconds


def command(**options: str | int) -> list[str]:
    """Return fio's command line; `_` in an option's name stands for itself."""
    fixed = {"name": "load", "group_reporting": 1, "percentile_list": 99}
    given = [f"--{name}={value}" for name, value in {**fixed, **options}.items()]
    return ["fio", "--output-format=json", *given]


def parse(text: str) -> Outcome:
    """Return the outcome of the one job in fio's JSON, which may follow messages; of the direction that did I/O."""
    document: dict[str, Any] = json.loads(text[text.index("{") :])
    (job,) = document["jobs"]
    if job["error"]:
        raise RuntimeError(f"fio failed with error {job['error']}")
    sides = [job[name] for name in ("read", "write") if job[name]["total_ios"]]
    if len(sides) != 1:
        raise RuntimeError(f"fio did I/O in {len(sides)} directions")
    side = sides[0]
    # What a caller waits for is the sync where there is one. `runtime` is in whole milliseconds.
    waited = job["sync"]["lat_ns"] if job["sync"]["total_ios"] else side["clat_ns"]
    return Outcome(
        operations=side["total_ios"],
        bytes=side["io_bytes"],
        seconds=side["runtime"] / 1000,
        p99_us=waited["percentile"]["99.000000"] / 1000,
    )


def fio(**options: str | int) -> Outcome:
    """Run one fio job to its end."""
    return parse(run(*command(**options)))
