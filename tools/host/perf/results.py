# SPDX-License-Identifier: Apache-2.0
"""What was measured, kept by the digest of everything that it depends on."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host.perf import emulator
from host.perf.benchmarks import BENCHMARKS
from host.perf.guest.drives import Counters
from host.perf.guest.job import Job
from millrace.system.errors import Failed
from millrace.system.files import write_text

# Each machine is one thread: more than two would only wait for each other on a small host.
MACHINES = 2
MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True)
class Row:
    """One measurement. `seconds`, `p99_us` and `busy` (seconds of work) are simulated; `calls` are RPCs."""

    test: str
    variant: str
    operations: int
    bytes: int
    seconds: float
    p99_us: float
    busy: float
    calls: int
    data: Counters
    log: Counters

    @property
    def rate(self) -> float:
        """Operations a simulated second."""
        return self.operations / self.seconds

    @property
    def amplification(self) -> float:
        """Bytes that drives wrote for each byte that was asked for."""
        return (self.data.written_bytes + self.log.written_bytes) / self.bytes

    @property
    def instructions(self) -> float:
        """Instructions for each operation: the clock gives each of them a nanosecond."""
        return self.busy * 1e9 / self.operations


@dataclass(frozen=True)
class Note:
    """Figures of something that is no load, by name with the unit."""

    note: str
    variant: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class Result:
    """All rows of one benchmark on one kernel."""

    name: str
    kernel: str
    rows: tuple[Row, ...]
    notes: tuple[Note, ...] = ()

    def row(self, test: str, variant: str) -> Row:
        """Return one measurement; Failed where the guest did not report it."""
        for row in self.rows:
            if (row.test, row.variant) == (test, variant):
                return row
        raise Failed(f"{self.name}: no measurement of {test!r} with {variant!r}.")

    def ratio(self, test: str, variant: str, base: str) -> float:
        """Return how much faster one variant is than another."""
        return self.row(test, variant).rate / self.row(test, base).rate


def result(name: str, records: list[dict[str, Any]]) -> Result:
    """Return the result that the guest's records make; Failed where they are not of this program."""
    try:
        (kernel,) = (record["kernel"] for record in records if "kernel" in record)
        rows = tuple(_row(record) for record in records if "test" in record)
        notes = tuple(Note(**record) for record in records if "note" in record)
    except (KeyError, TypeError, ValueError) as error:
        raise Failed(f"{name}: the guest's records cannot be understood: {error!r}.") from error
    return Result(name, str(kernel), rows, notes)


def _row(record: dict[str, Any]) -> Row:
    return Row(**{**record, "data": Counters(**record["data"]), "log": Counters(**record["log"])})


def kept(cache: Path, image: emulator.Image, job: Job, fresh: bool) -> Result:
    """Return the result of a job, from the cache where exactly this job ran on exactly this system."""
    file = cache / f"{job.benchmark}-{emulator.key(image, job)}.json"
    if fresh or not file.is_file():
        write_text(file, json.dumps(emulator.run(image, job)))
    return result(job.benchmark, json.loads(file.read_text()))


def machines(meminfo: str, memory: int) -> int:
    """Return how many machines of `memory` in MiB may run at once with what is available now, one at least."""
    (kib,) = (int(line.split()[1]) for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
    return max(1, min(MACHINES, kib // 1024 // (memory + emulator.OWN_MIB)))


def measure(
    cache: Path, image: emulator.Image, jobs: list[Job], fresh: bool, done: Callable[[Result], None]
) -> list[Result]:
    """Run jobs, as many at a time as memory allows; `done` hears of each as it ends. Results are in the jobs' order."""

    def one(job: Job) -> Result:
        found = kept(cache, image, job, fresh)
        done(found)
        return found

    most = max((BENCHMARKS[job.benchmark].memory for job in jobs), default=0)
    with ThreadPoolExecutor(machines(MEMINFO.read_text(), most)) as pool:
        return list(pool.map(one, jobs))
