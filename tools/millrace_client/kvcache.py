# SPDX-License-Identifier: Apache-2.0
"""The load of a key/value cache of an LLM server: blocks are files, written and synced, and read back when needed.

fio measures single reads and writes; here a request waits for the whole block. A program of its own: it runs as the
user of the benchmark and prints what fio would, one document a second and one at the end.

    python3 -m millrace_client.kvcache DIRECTORY JOBS FILES SIZE SECONDS [TIER]

TIER are bytes of blocks that a server would have in its memory: what is among them is not read. The memory itself is
not taken.

One file, Python 3.8 or later and nothing else: it runs on the server and on clients.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import sys
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

READS = 3
"""Blocks read for each one written: a prompt is longer than what is new in it."""
EXACT_BITS = 7
"""Latencies are kept with a resolution of 1/64, as fio does."""


@dataclass
class Side:
    """What one job read, or wrote."""

    bytes: int = 0
    times: list[int] = field(default_factory=list)

    def add(self, size: int, nanoseconds: int) -> None:
        """Count one read or write of `size` bytes."""
        self.bytes += size
        self.times.append(nanoseconds)

    def said(self, milliseconds: int) -> dict[str, Any]:
        """Return it in fio's form; the time in milliseconds."""
        times = list(self.times)
        bins = Counter(binned(latency) for latency in times)
        latencies = {
            "N": len(times),
            "min": min(times, default=0),
            "max": max(times, default=0),
            "mean": sum(times) / len(times) if times else 0.0,
            "bins": {str(value): count for value, count in sorted(bins.items())},
        }
        return {
            "io_bytes": self.bytes,
            "total_ios": len(times),
            "runtime": milliseconds,
            "short_ios": 0,
            "clat_ns": latencies,
        }


def binned(nanoseconds: int) -> int:
    """Return the middle of the bin that a latency falls into."""
    shift = max(0, nanoseconds.bit_length() - EXACT_BITS)
    return (nanoseconds >> shift << shift) + (1 << shift >> 1)


class Job:
    """One server process: it writes a block, then reads some that it wrote before."""

    def __init__(self, directory: Path, number: int, files: int, size: int, tier: int = 0) -> None:
        self.paths = [directory / f"f.{number}.{file_number}" for file_number in range(files)]
        self.size = size
        self.read, self.write = Side(), Side()
        self.error = 0
        # with all blocks in memory nothing would be read
        self._tier = min(tier, files // 4)
        self._in_memory: OrderedDict[Path, None] = OrderedDict()
        self._random = random.Random(number)
        # page-aligned, filled once with what does not compress
        self._memory = mmap.mmap(-1, size)
        # randbytes() of Python 3.9
        self._memory.write(self._random.getrandbits(8 * size).to_bytes(size, "little"))

    def fill(self) -> None:
        """Write every block before one is read; not counted."""
        for path in self.paths:
            if not path.exists() or path.stat().st_size != self.size:
                self._put(path)

    def until(self, end: float) -> None:
        """Work until the monotonic clock reaches `end`."""
        try:
            while time.monotonic() < end:
                begin = time.monotonic_ns()
                path = self._random.choice(self.paths)
                self._put(path)
                self.write.add(self.size, time.monotonic_ns() - begin)
                self._use(path)
                for _ in range(READS):
                    begin = time.monotonic_ns()
                    path = self._random.choice(self.paths)
                    if not self._use(path):
                        count = self._get(path)
                        self.read.add(count, time.monotonic_ns() - begin)
        except OSError as error:
            self.error = error.errno or 1
            print(f"fio: {error.strerror}", file=sys.stderr, flush=True)

    def _use(self, path: Path) -> bool:
        """Whether a block is among those in memory, which it is from now on; the least recently used one leaves."""
        known = path in self._in_memory
        if self._tier:
            self._in_memory[path] = None
            self._in_memory.move_to_end(path)
            if len(self._in_memory) > self._tier:
                self._in_memory.popitem(last=False)
        return known

    def _put(self, path: Path) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            done = 0
            while done < self.size:
                with memoryview(self._memory) as whole, whole[done:] as rest:
                    done += os.write(descriptor, rest)
            os.fsync(descriptor)
            # or the next read comes out of the memory
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)

    def _get(self, path: Path) -> int:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            done = 0
            with mmap.mmap(-1, self.size) as memory:
                while done < self.size and (part := _read_into(descriptor, memory, done)):
                    done += part
            return done
        finally:
            os.close(descriptor)


def _read_into(descriptor: int, memory: mmap.mmap, done: int) -> int:
    # released at once: a mapping with a view on it cannot be closed
    with memoryview(memory) as whole, whole[done:] as rest:
        return os.preadv(descriptor, [rest], done)


def document(jobs: list[Job], begin: float) -> str:
    """Return one of fio's documents; `begin` is the start in monotonic seconds."""
    milliseconds = max(1, round((time.monotonic() - begin) * 1000))
    said = [
        {
            "jobname": "kvcache",
            "error": job.error,
            "read": job.read.said(milliseconds),
            "write": job.write.said(milliseconds),
        }
        for job in jobs
    ]
    return json.dumps({"jobs": said}, indent=0)


def main(arguments: list[str]) -> int:
    """Run; 1 where a job could not go on."""
    directory, (count, files, size) = Path(arguments[0]), map(int, arguments[1:4])
    seconds = float(arguments[4])
    directory.mkdir(exist_ok=True)
    tier = int(arguments[5]) // (count * size) if len(arguments) > 5 else 0
    jobs = [Job(directory, number, files, size, tier) for number in range(count)]
    for job in jobs:
        job.fill()
    begin = time.monotonic()
    threads = [Thread(target=job.until, args=(begin + seconds,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(1.0)
            print(document(jobs, begin), flush=True)
    print(document(jobs, begin), flush=True)
    return 1 if any(job.error for job in jobs) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
