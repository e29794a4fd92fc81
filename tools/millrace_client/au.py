#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many accelerators a directory of files keeps busy: 3D-U-Net-like load, DLIO-equivalent AU; not an MLPerf result.

    python3 au.py DIRECTORY unet3d [--seconds 30] [--accelerator H100 --count 3]

An emulated accelerator takes a batch, computes (sleeps) as long as a real one, and waits for all others at a barrier.
Readers fill its batches with whole files. The largest number of accelerators at or above the lowest utilisation is
searched for. One file, Python 3.8 or later, nothing else: it runs on the server and on clients. It prints JSON as fio
does, a document a second and one at the end.
"""

from __future__ import annotations

import argparse
import errno
import json
import math
import mmap
import multiprocessing
import os
import queue
import random
import signal
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Read = Callable[[str, mmap.mmap], int]

CHUNK = 4 << 20
POLL = 0.02
EXCLUDED = 1
"""First steps that do not count, as DLIO does: readers start up in them."""
STEPS = 20
"""A utilisation is of so many steps at least, or, below a half, of what there was in twice their time."""
MOST_PER_CPU = 64
"""More than the processors of this host can feed are not tried."""
SHORT = 0.2
"""Part of the time that a step of the search takes; the number that it finds is confirmed in full."""


class Training(NamedTuple):
    """One accelerator on one workload: bytes a sample, samples a batch, seconds a batch, the lowest utilisation (0..1).

    mlcommons/storage v2.0 (H100) and v3.0 (B200).
    """

    profile: str
    accelerator: str
    sample: float
    batch: int
    compute: float
    floor: float
    readers: int

    @property
    def need(self) -> float:
        """Bytes/s that keep one accelerator at the floor."""
        return self.floor * self.batch * self.sample / self.compute


TRAININGS = [
    Training("unet3d", "H100", 146_600_628, 7, 0.323, 0.90, 4),
    Training("unet3d", "B200", 146_600_628, 7, 0.162, 0.90, 4),
    Training("retinanet", "B200", 322_957, 24, 0.04755, 0.85, 8),
]


RETIRED = frozenset({"H100"})
"""Accelerators that the rules of MLPerf Storage 3.0 no longer accept; kept to compare with older figures."""


@dataclass(frozen=True)
class Probe:
    """So many accelerators at once: their mean utilisation (0..100), bytes and files that they took in `seconds`."""

    count: int
    au: float
    bytes: int
    files: int
    seconds: float

    @property
    def bandwidth(self) -> float:
        """Bytes/s."""
        return self.bytes / self.seconds


@dataclass(frozen=True)
class Found:
    """The largest number that holds the floor, its confirmed probe (that of one accelerator where none does)."""

    count: int
    best: Probe
    probes: list[Probe]


def utilisation(steps: Sequence[tuple[float, float]], block: float, excluded: int = EXCLUDED) -> float:
    """Return the AU of one accelerator as DLIO counts it: 100 * computing / (the block without its first steps).

    `steps` are (seconds of the step without computing, seconds really computed), `block` seconds of all of them; the
    first `excluded` steps do not count.
    """
    computed = sum(compute for _, compute in steps[excluded:])
    left_out = sum(other + compute for other, compute in steps[:excluded])
    return 100 * computed / (block - left_out)


def search(training: Training, probe: Callable[[int, float], Probe], seconds: float, most: int) -> Found:
    """Double until the floor breaks, bisect from where the closed form points, confirm over `seconds`.

    At most `most` accelerators; a probe returns what so many of them reach in so many seconds.
    """
    probes: list[Probe] = []

    def holds(count: int, length: float) -> bool:
        probes.append(probe(count, length))
        return probes[-1].au >= 100 * training.floor

    low, high, guess = 0, most + 1, 1
    while high - low > 1:
        if holds(guess, SHORT * seconds):
            low = guess
            # past the closed form one more is likely to be too many already
            guess = low + 1 if high <= most else min(2 * low, most)
        else:
            first, high = high > most, guess
            guess = math.floor(probes[-1].bandwidth / training.need) if first else (low + high) // 2
        guess = max(low + 1, min(guess, high - 1))
    while low and not holds(low, seconds):
        low -= 1
    return Found(low, probes[-1] if low else probes[0], probes)


def read_whole(path: str, memory: mmap.mmap) -> int:
    """Read a file from its beginning to its end, not from a cache and not into one; bytes."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        done = 0
        while True:
            count = os.preadv(descriptor, [memory], done)
            if not count:
                return done
            done += count
    finally:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


class Together:
    """What all accelerators of a probe share, over processes: the barrier, the clock, what was read so far."""

    def __init__(self, count: int, seconds: float, compute: float) -> None:
        fork = multiprocessing.get_context("fork")
        self.barrier = fork.Barrier(count, self._passed)
        self.seconds, self.hopeless, self.parent = seconds, 2 * STEPS * compute, os.getpid()
        self.steps, self.files = fork.Value("q", 0), fork.Value("q", 0)
        self.bytes = fork.Value("q", 0)
        self.begin, self.end = fork.Value("d", 0.0), fork.Value("d", 0.0)
        self.over = fork.Value("b", 0)
        self.results = fork.SimpleQueue()
        self.process = fork.Process

    def _passed(self) -> None:
        """All are at the end of a step."""
        self.steps.value += 1
        self.end.value = time.monotonic()
        if self.steps.value == EXCLUDED:
            self.begin.value = self.end.value
        passed = self.end.value - self.begin.value
        enough = self.steps.value >= EXCLUDED + STEPS or (self.steps.value > EXCLUDED and passed > self.hopeless)
        # the program that started this may be gone
        if (enough and passed >= self.seconds) or os.getppid() != self.parent:
            self.over.value = 1

    def add(self, size: int, files: int) -> None:
        """Count a batch of `size` bytes from so many files."""
        with self.bytes.get_lock():
            self.bytes.value += size
            self.files.value += files


class Accelerator:
    """One accelerator with its readers."""

    def __init__(self, training: Training, files: Sequence[str], number: int, read: Read, together: Together) -> None:
        self._training, self._files, self._number = training, files, number
        self._read, self._together = read, together
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # a reader has one batch under way, and one may wait for each
        self._slots = threading.Semaphore(2 * training.readers)
        self._over = False

    def work(self) -> tuple[float, int, int]:
        """Work until the time is over; return utilisation, bytes and files that counted."""
        readers = range(self._training.readers)
        threads = [threading.Thread(target=self._reader, args=(reader,), daemon=True) for reader in readers]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        steps: list[tuple[float, float]] = []
        size = files = 0
        start = begin
        try:
            while not self._together.over.value:
                got = self._take()
                computing = time.monotonic()
                time.sleep(self._training.compute)
                computed = time.monotonic() - computing
                self._together.add(*got)
                self._together.barrier.wait()
                now = time.monotonic()
                steps.append((now - start - computed, computed))
                start = now
                if len(steps) > EXCLUDED:
                    size, files = size + got[0], files + got[1]
                elif len(steps) == EXCLUDED:
                    self._forget()
        finally:
            self._over = True
            for _ in readers:
                self._slots.release()
        for thread in threads:
            thread.join()
        return utilisation(steps, start - begin), size, files

    def _take(self) -> tuple[int, int]:
        got = self._ready.get()
        self._slots.release()
        if isinstance(got, OSError):
            raise got
        return int(got[0]), int(got[1])

    def _forget(self) -> None:
        """What was read before the clock began is no head start: a short run would look better than a long one."""
        while not self._ready.empty():
            self._take()

    def _reader(self, number: int) -> None:
        training = self._training
        chance = random.Random(f"{self._number}/{number}")
        # whole files, so that batches are right on average; the first one is a part, so that readers do not keep step
        batch = training.batch * training.sample
        owed = batch * (number + 1) / training.readers - batch
        try:
            with mmap.mmap(-1, CHUNK) as memory:
                while not self._over:
                    self._slots.acquire()
                    owed += batch
                    size = files = 0
                    while owed > 0 and not self._over:
                        count = self._read(chance.choice(self._files), memory)
                        owed, size, files = owed - count, size + count, files + 1
                    self._ready.put((size, files))
        except Exception as error:
            self._ready.put(failure(error))


def probe(
    training: Training,
    files: Sequence[str],
    count: int,
    seconds: float,
    read: Read = read_whole,
    tell: Callable[[int, int], None] = lambda size, number: None,
) -> Probe:
    """Run so many accelerators on these files for so long. OSError: a file cannot be read."""
    together = Together(count, seconds, training.compute)
    # threads of one process hold each other up over small files
    processes = min(count, len(os.sched_getaffinity(0)))
    shares = [range(first, count, processes) for first in range(processes)]
    workers = [together.process(target=_host, args=(training, files, numbers, read, together)) for numbers in shares]
    for worker in workers:
        worker.daemon = True
        worker.start()
    outcomes: list[tuple[float, int, int]] = []
    try:
        while any(worker.is_alive() for worker in workers) or not together.results.empty():
            tell(together.bytes.value, together.files.value)
            if together.results.empty():
                time.sleep(POLL)
                continue
            said = together.results.get()
            if isinstance(said, OSError):
                raise said
            outcomes.append(said)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    if len(outcomes) != count:
        raise OSError(errno.EPIPE, "an emulated accelerator ended before its time")
    au = sum(outcome[0] for outcome in outcomes) / count
    size, number = sum(outcome[1] for outcome in outcomes), sum(outcome[2] for outcome in outcomes)
    return Probe(count, au, size, number, together.end.value - together.begin.value)


def _host(training: Training, files: Sequence[str], numbers: range, read: Read, together: Together) -> None:
    """What a process does: some of the accelerators, a thread each."""

    def one(number: int) -> None:
        try:
            together.results.put(Accelerator(training, files, number, read, together).work())
        except Exception as error:
            together.results.put(failure(error))

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in numbers]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError as error:
        together.results.put(failure(error))
    for thread in threads:
        if thread.ident is not None:
            thread.join()


def failure(error: Exception) -> OSError:
    """Return the error that ends all accelerators: they would wait at the barrier for one that failed."""
    return error if isinstance(error, OSError) else OSError(errno.EAGAIN, str(error))


class ProgressReporter:
    """Documents like those of fio, one a second."""

    def __init__(self) -> None:
        self._begin = self._last = time.monotonic()
        self._before = (0, 0)
        self._now = (0, 0)

    def probe(self) -> None:
        """Begin another probe; its counts begin at 0."""
        self._before, self._now = (self._before[0] + self._now[0], self._before[1] + self._now[1]), (0, 0)

    def __call__(self, size: int, files: int) -> None:
        """Count `size` bytes and so many files of the probe; print a document once a second."""
        self._now = (size, files)
        now = time.monotonic()
        if now - self._last >= 1:
            self._last = now
            total = (self._before[0] + size, self._before[1] + files)
            print(document(*total, now - self._begin), flush=True)


def document(size: int, files: int, seconds: float, **more: Any) -> str:
    """Return one of fio's documents: `size` bytes and so many whole files read in so many seconds."""
    read = {"io_bytes": size, "total_ios": files, "runtime": max(1, round(seconds * 1000)), "short_ios": 0}
    return json.dumps({"jobs": [{"jobname": "train", "error": 0, "read": read}], **more}, indent=0)


def searched(
    trainings: Sequence[Training], seconds: float, most: int, probe_of: Callable[[Training, int, float], Probe]
) -> str:
    """Search for each accelerator; the last document, with the probe that moved most."""
    more: list[dict[str, Any]] = []
    bests: list[Probe] = []
    for training in trainings:

        def probe_one(count: int, length: float, training: Training = training) -> Probe:
            return probe_of(training, count, length)

        limit = search(training, probe_one, seconds, most)
        said = {"accelerator": training.accelerator, "count": limit.count, "floor": training.floor}
        said.update(au=limit.best.au, bandwidth=limit.best.bandwidth, probes=[asdict(trial) for trial in limit.probes])
        more.append(said)
        bests.append(limit.best)
    best = max(bests, key=lambda trial: trial.bandwidth)
    return document(best.bytes, best.files, best.seconds, accelerators=more)


def files_of(directory: str) -> list[str]:
    """Return the files that are not empty, in an order that is always the same."""
    found = [os.path.join(where, name) for where, _, names in os.walk(directory) for name in names]
    return sorted(one for one in found if os.path.getsize(one))


def main(arguments: Sequence[str]) -> int:
    """Run; 1 where a file cannot be read."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", help="files to read")
    parser.add_argument("profile", choices=sorted({training.profile for training in TRAININGS}))
    parser.add_argument("--seconds", type=float, default=30.0, help="what the number found is confirmed over")
    parser.add_argument("--accelerator", help="only this one")
    parser.add_argument("--count", type=int, help="no search: so many accelerators")
    parser.add_argument("--most", type=int, default=MOST_PER_CPU * len(os.sched_getaffinity(0)))
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    chosen = [
        training
        for training in TRAININGS
        if training.profile == given.profile and given.accelerator in (None, training.accelerator)
    ]
    if not chosen:
        parser.error(f"{given.accelerator} has no computation time for {given.profile}")
    progress = ProgressReporter()

    def one_probe(training: Training, count: int, seconds: float) -> Probe:
        progress.probe()
        return probe(training, files, count, seconds, tell=progress)

    try:
        files = files_of(given.directory)
        if not files:
            raise FileNotFoundError(errno.ENOENT, "there is no file to read", given.directory)
        if given.count is None:
            print(searched(chosen, given.seconds, given.most, one_probe), flush=True)
        else:
            made = one_probe(chosen[0], given.count, given.seconds)
            print(document(made.bytes, made.files, made.seconds, probe=asdict(made)), flush=True)
    except OSError as error:
        print(f"fio: {error.strerror}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
