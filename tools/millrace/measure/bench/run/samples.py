# SPDX-License-Identifier: Apache-2.0
"""What the server does during a measurement, from the kernel's counters. Reads only.

The difference of two samples makes a Moment. What a kernel does not count is None.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millrace.measure.bench.result.model import Moment
from millrace.system import paths

SECTOR = 512
MILLI = 1e-3


@dataclass(frozen=True)
class Disk:
    """Sectors read and written, milliseconds with requests outstanding, and the same times their number."""

    read: int
    written: int
    busy: int
    weighted: int


@dataclass(frozen=True)
class RungSample:
    """Counters at `at` (monotonic seconds). `cpus`: (all, idle, interrupts) in ticks, the sum of all first."""

    at: float
    cpus: list[tuple[int, int, int]]
    disks: dict[str, Disk]
    nfsd: tuple[int, int] | None
    rpc: tuple[int, int] | None


@dataclass
class Sampler:
    """Samples of `drives` and `array`, by kernel name; `mount` is the loopback mount whose requests are counted."""

    drives: Sequence[str]
    array: str | None
    mount: str | None = None
    root: Path = field(default_factory=lambda: paths.ROOT)

    def sample(self, at: float) -> RungSample:
        """Read the counters; `at` is now in monotonic seconds."""
        return RungSample(
            at=at,
            cpus=_cpus(self._text("proc/stat")),
            disks=_disks(self._text("proc/diskstats")),
            nfsd=_nfsd(self._text("proc/fs/nfsd/pool_stats")),
            rpc=_rpc(self._text("proc/self/mountstats"), self.mount) if self.mount else None,
        )

    def moment(self, before: RungSample, now: RungSample, began: float) -> Moment:
        """Return what happened between two samples; `began` is the start of the rung in monotonic seconds."""
        seconds = max(now.at - before.at, 1e-3)
        drives = [drive for name in self.drives if (drive := _between(before, now, name)) is not None]
        array = _between(before, now, self.array) if self.array else None
        loads = [_load(old, new) for old, new in zip(before.cpus, now.cpus, strict=False)]
        share = _interrupts(before.cpus[0], now.cpus[0]) if before.cpus and now.cpus else None
        return Moment(
            at=round(now.at - began, 3),
            read=sum(drive.read for drive in drives) * SECTOR / seconds if drives else None,
            written=sum(drive.written for drive in drives) * SECTOR / seconds if drives else None,
            cpu=loads[0] if loads else None,
            interrupts=share,
            busiest=max(loads[1:], default=None),
            drives_busy=max((min(1.0, drive.busy * MILLI / seconds) for drive in drives), default=None),
            drives_depth=sum(drive.weighted for drive in drives) * MILLI / seconds if drives else None,
            array_busy=min(1.0, array.busy * MILLI / seconds) if array else None,
            nfsd_queued=_share(before.nfsd, now.nfsd),
            rpc_queue=_wait(before.rpc, now.rpc),
        )

    def _text(self, path: str) -> str:
        try:
            return (self.root / path).read_text()
        except OSError:
            return ""


def _cpus(text: str) -> list[tuple[int, int, int]]:
    """proc(5): user nice system idle iowait irq softirq steal, guest time is in user time already."""
    found = []
    for line in text.splitlines():
        if line.startswith("cpu"):
            ticks = [int(one) for one in line.split()[1:9]]
            found.append((sum(ticks), ticks[3] + ticks[4], ticks[5] + ticks[6]))
    return found


def _disks(text: str) -> dict[str, Disk]:
    """Documentation/admin-guide/iostats.rst: after the name, fields 3, 7, 10 and 11 of those that it counts."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 14:
            found[words[2]] = Disk(int(words[5]), int(words[9]), int(words[12]), int(words[13]))
    return found


def _nfsd(text: str) -> tuple[int, int] | None:
    """How often work was put into the queue of each pool (column 3), and how often no idle thread was woken for it.

    Kernels since 6.6 count every piece of work as enqueued, also one that an idle thread takes at once (column 4).
    """
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    whole = [(int(row[2]), int(row[3])) for row in rows if len(row) >= 4]
    if not whole:
        return None
    enqueued = sum(queued for queued, _ in whole)
    return enqueued, enqueued - sum(woken for _, woken in whole)


def _rpc(text: str, mount: str) -> tuple[int, int] | None:
    """Requests of a mount, and the milliseconds that they waited before they were sent.

    A line of per-op statistics: name, operations, transmissions, timeouts, bytes sent, bytes received, queue, rtt,
    execute, errors.
    """
    inside, count, queued = False, 0, 0
    for line in text.splitlines():
        if line.startswith("device "):
            inside = f" mounted on {mount} " in line
        words = line.split()
        if inside and len(words) >= 9 and words[0].endswith(":") and words[0][:-1].isupper() and words[1].isdigit():
            count, queued = count + int(words[1]), queued + int(words[6])
    return (count, queued) if count else None


def _between(before: RungSample, now: RungSample, name: str) -> Disk | None:
    old, new = before.disks.get(name), now.disks.get(name)
    if old is None or new is None:
        return None
    return Disk(new.read - old.read, new.written - old.written, new.busy - old.busy, new.weighted - old.weighted)


def _load(old: tuple[int, int, int], new: tuple[int, int, int]) -> float:
    ticks = new[0] - old[0]
    return 1 - (new[1] - old[1]) / ticks if ticks > 0 else 0.0


def _interrupts(old: tuple[int, int, int], new: tuple[int, int, int]) -> float:
    ticks = new[0] - old[0]
    return (new[2] - old[2]) / ticks if ticks > 0 else 0.0


def _share(old: tuple[int, int] | None, new: tuple[int, int] | None) -> float | None:
    if old is None or new is None or new[0] <= old[0]:
        return None
    return min(1.0, (new[1] - old[1]) / (new[0] - old[0]))


def _wait(old: tuple[int, int] | None, new: tuple[int, int] | None) -> float | None:
    if old is None or new is None or new[0] <= old[0]:
        return None
    return (new[1] - old[1]) * MILLI / (new[0] - old[0])
