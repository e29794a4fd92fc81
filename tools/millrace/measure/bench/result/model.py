# SPDX-License-Identifier: Apache-2.0
"""The contract of a benchmark run (`run.json`, `millrace bench show --json`).

Bytes, seconds and operations/s throughout, times of day in ISO 8601 UTC. What is not known is null, never 0.
"""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from millrace.measure.bench.result.choices import BenchLayer, BenchProfile, CheckpointModel
from millrace.measure.bench.result.environment import Environment
from millrace.system.documents import Contract, Count


class BenchState(StrEnum):
    """How far a run, or one of its rungs, is."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    SKIPPED = "skipped"  # a rung that this server cannot have
    FAILED = "failed"
    STOPPED = "stopped"  # by an administrator, or by the monitor of the hardware
    INTERRUPTED = "interrupted"  # the program was killed or the power was cut


Mode = Literal["quick", "full"]
Operation = Literal[
    "read",
    "write",
    "mixed",
    "fsync",
    "create",
    "stat",
    "delete",
    "save",
    "load",
    "train",
    "stress",
    "throughput",
    "large",
    "stream",
    "small",
]
Direction = Literal["read", "write", "commit", "create", "stat", "delete"]
Quantity = Literal["bandwidth", "operations"]
Label = Literal["degraded", "rebuilding", "with-clients", "emulated", "imported"]
Flag = Literal["not-repeatable", "scaled", "short-reads", "cached"]
Binding = Literal["drives", "pcie", "memory", "cpu", "md", "nic", "nfsd", "network", "client", "latency", "unknown"]

REPEATABLE = 0.05
"""MLPerf's bar: every repeat within 5 % of the median."""

IMPORTED = "A run of mlpstorage on clients, which this server did not watch; not an official MLPerf result"
DISCLAIMER = "3D-U-Net-like load, DLIO-equivalent AU; not an MLPerf result"


class RunRequest(Contract):
    """A request for a run. None means: decided by the mode and this server.

    `seconds` is the length of one repeat, `size` limits the bytes in the pool, `write_drives` are serials of blank
    drives that may be overwritten, `clients` the names of remote clients for L3, `model` that of the checkpoint.
    """

    schema_version: Literal[1] = 1
    mode: Mode = "quick"
    layers: list[BenchLayer] = Field(default_factory=list)
    profiles: list[BenchProfile] = Field(default_factory=list)
    seconds: float | None = None
    repeats: int | None = None
    size: int | None = None
    model: CheckpointModel = "8b"
    degraded: bool = False
    with_clients: bool = False
    write_drives: list[str] = Field(default_factory=list)
    clients: list[str] = Field(default_factory=list)


class Workload(Contract):
    """What is done, without what depends on the site: `sha256` over the other fields is comparable between servers.

    `pattern` in words; `block` in bytes, `depth` requests in flight of one job; `equivalent` names the benchmark of
    which this is a smaller one, where it is not the original.
    """

    profile: BenchProfile
    operation: Operation
    pattern: str
    block: int | None
    depth: int
    engine: str
    durable: bool
    equivalent: str | None = None
    sha256: str


class Series(Contract):
    """One quantity over the repeats. `spread` is the largest distance from the median, as a part of it."""

    quantity: Quantity
    direction: Direction
    values: list[float]
    median: float
    low: float
    high: float
    spread: float
    repeatable: bool


class Latency(Contract):
    """Seconds from request to answer, over all repeats and jobs; percentiles from the sum of the histograms."""

    direction: Direction
    count: Count
    mean: float
    low: float
    high: float
    p50: float
    p95: float
    p99: float
    p999: float


class Moment(Contract):
    """What the server did in about one second. Shares are 0..1. `at` is seconds since the rung began.

    `interrupts` is the share of all CPUs in hard and soft interrupts, `busiest` the load of the busiest one;
    `drives_busy` and `array_busy` are the share of time with requests outstanding, `nfsd_queued` the part of the
    requests that waited for a thread, `rpc_queue` how many seconds a request of the loopback mount waited before it was
    sent.
    """

    at: float
    read: float | None = None
    written: float | None = None
    cpu: float | None = None
    interrupts: float | None = None
    busiest: float | None = None
    drives_busy: float | None = None
    drives_depth: float | None = None
    array_busy: float | None = None
    nfsd_queued: float | None = None
    rpc_queue: float | None = None
    temperature: float | None = None


class Ceiling(Contract):
    """What a rung could have reached: the plan's prediction and the layer below, and what part of them it did reach."""

    predicted: float | None = None
    predicted_by: str | None = None
    of_predicted: float | None = None
    below: str | None = None
    below_measured: float | None = None
    of_below: float | None = None


class Accelerators(Contract):
    """How many accelerators a load keeps busy, each at `floor` (0..100) or more.

    `au` is measured (0..100), None where the number is from the formula. `retired`: the rules of MLPerf Storage no
    longer accept this type; it stays to compare with older figures.
    """

    accelerator: str
    count: int
    floor: float
    au: float | None = None
    bandwidth: float
    retired: bool = False

    @property
    def enough(self) -> bool:
        """Whether they are kept busy: False where a run with a fixed number of them was below the floor."""
        return self.au is None or self.au >= self.floor


class CheckpointTimes(Contract):
    """What a checkpoint of a whole model takes at the measured speed; `measured` bytes were really moved."""

    model: str
    size: int
    measured: int
    save_seconds: float | None = None
    load_seconds: float | None = None


class RungShare(Contract):
    """One drive, or one client, of a rung that drove several at once: its share of the median."""

    name: str
    bandwidth: float
    operations: float


class Rung(Contract):
    """One workload at one place. `id` is `L1/xfs/seq/read`; it is the same in every run, for comparisons.

    `target` is `drives`, a serial, `array`, `xfs`, `nfs-tcp`, `nfs-rdma`, `nfs-local`, `smb` or one of
    `bench.plan.connections`; `jobs` are those of one client. `median` holds one Moment: the middle over the measured
    time. `raw` are files with fio's own words, below the directory of the run.
    """

    id: str
    layer: BenchLayer
    target: str
    workload: Workload
    state: BenchState
    reason: str | None = None
    jobs: int = 1
    seconds: float = 0
    size: int = 0
    series: list[Series] = Field(default_factory=list)
    latencies: list[Latency] = Field(default_factory=list)
    parts: list[RungShare] = Field(default_factory=list)
    accelerators: list[Accelerators] = Field(default_factory=list)
    checkpoint: CheckpointTimes | None = None
    flags: list[Flag] = Field(default_factory=list)
    median: Moment | None = None
    timeline: list[Moment] = Field(default_factory=list)
    ceiling: Ceiling = Ceiling()
    binding: Binding = "unknown"
    diagnosis: str = ""
    raw: list[str] = Field(default_factory=list)

    def find(self, quantity: Quantity, direction: Direction | None = None) -> Series | None:
        """Return the first series of this quantity."""
        hits = (one for one in self.series if one.quantity == quantity and direction in (None, one.direction))
        return next(hits, None)


class Provenance(Contract):
    """Where the numbers are from. `workload_hash` is over the workloads of all rungs, without site tunables."""

    tool: Literal["millrace bench", "mlpstorage"] = "millrace bench"
    version: str
    edition: Literal["millrace-bench-1", "mlperf-storage-3.0"] = "millrace-bench-1"
    workload_hash: str
    fio: str
    started_by: str
    statement: str = DISCLAIMER


class BenchRun(Contract):
    """One run."""

    schema_version: Literal[1] = 1
    id: str
    started: str
    ended: str | None = None
    state: BenchState
    reason: str | None = None
    request: RunRequest
    labels: list[Label] = Field(default_factory=list)
    provenance: Provenance
    environment: Environment
    rungs: list[Rung]
