# SPDX-License-Identifier: Apache-2.0
"""Measurements: a load, the same load again, and the counters around the second one."""

import itertools
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from host.perf.guest import drives, pool
from host.perf.guest.job import Job, Setup
from host.perf.guest.load import Outcome

# Called with a number that was not used before.
Load = Callable[[int], Outcome]
RPC = Path("/proc/net/rpc/nfsd")


class Lab:
    """The drives of a job and the place where results go."""

    def __init__(self, job: Job, out: TextIO) -> None:
        self.job = job
        self._out = out
        self._fresh = itertools.count(1)
        self._names: dict[str, list[str]] = {}
        number = 0
        for kind, model in job.drives.items():
            self._names[kind] = [drives.make(number + i, model) for i in range(model.count)]
            number += model.count

    def setup(self, name: str) -> Setup:
        """Return the setup called `name`."""
        return self.job.setup(name)

    def say(self, **record: object) -> None:
        """Hand a record to the host, one line of JSON."""
        self._out.write(json.dumps(record) + "\n")
        self._out.flush()

    def note(self, test: str, variant: str, **values: float) -> None:
        """Report figures that are not those of a load, by name with the unit."""
        self.say(note=test, variant=variant, values=values)

    def fresh(self) -> int:
        """Return a number that was not used before: of a file, a seed, a place that nothing has cached."""
        return next(self._fresh)

    def data(self) -> drives.Counters:
        """Return the counters of the data drives."""
        return drives.count(self._names["data"])

    def logs(self) -> drives.Counters:
        """Return the counters of all drives that carry a log."""
        return drives.count([name for kind, names in self._names.items() if kind != "data" for name in names])

    def measure(
        self,
        test: str,
        variant: str,
        load: Load,
        before: Callable[[], object] = lambda: None,
        warm: Load | None = None,
        settle: Callable[[], None] = pool.quiet,
    ) -> None:
        """Run `load` twice, with a fresh number each time, and report the second one.

        The first one brings programs into memory, and pages and caches into the state that lasts; `warm` does that
        instead where less is enough. `settle` ends what the first one left to do, `before` comes right before the
        second one. Drives are counted until everything is on them.
        """
        (warm or load)(self.fresh())
        number = self.fresh()
        settle()
        before()
        data, logs, calls, idle, begin = self.data(), self.logs(), rpcs(), idle_seconds(), time.monotonic()
        outcome = load(number)
        busy = time.monotonic() - begin - (idle_seconds() - idle)
        called = rpcs() - calls
        os.sync()
        self.say(
            test=test,
            variant=variant,
            **asdict(outcome),
            busy=busy,
            calls=called,
            data=asdict(self.data() - data),
            log=asdict(self.logs() - logs),
        )


def rpcs() -> int:
    """Return how many calls nfsd was sent so far; 0 without nfsd."""
    return parse_rpcs(RPC.read_text()) if RPC.exists() else 0


def parse_rpcs(text: str) -> int:
    """Return the first number of the line `rpc` (net/sunrpc/stats.c)."""
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("rpc "))


def idle_seconds() -> float:
    """Return the idle seconds of the CPU since the boot."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(words[4]) + int(words[5])) / os.sysconf("SC_CLK_TCK")
