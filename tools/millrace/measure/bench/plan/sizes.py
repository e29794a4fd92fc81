# SPDX-License-Identifier: Apache-2.0
"""How much, how long, how often: from mode, request and server. Pure."""

from dataclasses import dataclass

from millrace.measure.bench.plan.workloads import CHECKPOINT_BLOCK, JPEG, KV_8B, KV_JOBS, RANKS, VOLUME, Work
from millrace.measure.bench.result.capacity import CHECKPOINTS
from millrace.measure.bench.result.choices import BenchProfile
from millrace.measure.bench.result.model import Mode, RunRequest
from millrace.system.errors import BadInput, Refused
from millrace.system.text import GIB, KIB, MIB
from millrace.system.text import binary as in_words

MOST_OF_FREE = 0.8
"""A benchmark never fills the pool of somebody."""

SMALLEST = 64 * MIB
LONGEST, MOST_REPEATS = 3600, 100
"""Seconds of a repeat, and repeats: beyond them a figure gets no better and the drives wear."""
FILE = 4 * KIB


@dataclass(frozen=True)
class Defaults:
    """What a mode means. `share` is the largest part of the free space that it uses, `most` the most bytes."""

    seconds: float
    warm: float
    repeats: int
    share: float
    most: int


MODES: dict[Mode, Defaults] = {
    "quick": Defaults(seconds=5, warm=2, repeats=3, share=0.10, most=32 * GIB),
    "full": Defaults(seconds=30, warm=10, repeats=5, share=0.25, most=1024 * GIB),
}


@dataclass(frozen=True)
class Files:
    """Files of one layout: how many a job has, and bytes of each (at least, at most)."""

    per_job: int
    least: int
    most: int
    scaled: str | None = None

    @property
    def mean(self) -> int:
        """The mean size of a file in bytes."""
        return (self.least + self.most) // 2


@dataclass(frozen=True)
class Sizes:
    """The measure of a run. `budget` is the most bytes that one set of files holds in the pool."""

    seconds: float
    warm: float
    repeats: int
    budget: int
    jobs: int
    checkpoint: str

    def jobs_of(self, work: Work) -> int:
        """Return how many jobs a workload has: latency is measured with one, a checkpoint has its ranks."""
        if work.profile is BenchProfile.FSYNC:
            return 1
        return RANKS if work.profile is BenchProfile.CHECKPOINT else work.jobs or self.jobs

    def files(self, work: Work) -> Files:
        """Return the files of a workload within the budget; `scaled` says what was scaled down."""
        jobs = self.jobs_of(work)
        room = self.budget // jobs
        if work.layout == "meta":
            return Files(max(50, min(20_000, int(400 * self.seconds), room // FILE)), FILE, FILE)
        if work.layout == "unet3d":
            return self._volumes(room)
        if work.layout == "retinanet":
            return Files(max(8, min(5_000, room // JPEG)), JPEG, JPEG)
        if work.layout == "checkpoint":
            return self._ranks(room)
        if work.layout == "kvcache" and work.block:
            # the three options share files: no job may have more bytes in one than in another
            bytes_ = max(4 * KV_8B, min(2_000 * KV_8B, self.budget // KV_JOBS))
            return Files(bytes_ // work.block, work.block, work.block, work.stands_for)
        size = _even(room)
        return Files(1, size, size)

    def _volumes(self, room: int) -> Files:
        least, most = (one * MIB for one in VOLUME)
        count = room // ((least + most) // 2)
        if count >= 2:
            return Files(min(count, 50), least, most)
        factor = max(1, -(-(least + most) // room))
        return Files(
            2, _even(least // factor), _even(most // factor), f"volumes of 57 to 213 MB at 1/{factor} of their size"
        )

    def _ranks(self, room: int) -> Files:
        whole = CHECKPOINTS[self.checkpoint] // RANKS
        name = self.checkpoint.upper()
        # Other models have other files: with 8 ranks only the bytes are theirs.
        other = None if self.checkpoint == "8b" else f"size-equivalent of a {name} checkpoint in the 8B layout"
        if room >= whole:
            return Files(1, whole, whole, other)
        # a rank writes whole blocks
        size = max(CHECKPOINT_BLOCK, room // CHECKPOINT_BLOCK * CHECKPOINT_BLOCK)
        part = f"{RANKS * size / CHECKPOINTS[self.checkpoint]:.2%} of the {name} checkpoint"
        return Files(1, size, size, f"size-equivalent: {part} in the 8B layout" if other else part)


def sizes(request: RunRequest, free: int, memory: int, cores: int, layouts: int = 1) -> Sizes:
    """Return the sizes of a run on this server, from free bytes, bytes of memory and cores.

    `layouts` sets of files share the space. BadInput, Refused: what is requested does not fit.
    """
    mode = MODES[request.mode]
    seconds = mode.seconds if request.seconds is None else request.seconds
    repeats = mode.repeats if request.repeats is None else request.repeats
    # not the other way round: what is not a number is in no range
    if not 1 <= seconds <= LONGEST:
        raise BadInput(f"--seconds must be between 1 and {LONGEST}")
    if not 1 <= repeats <= MOST_REPEATS:
        raise BadInput(f"--repeats must be between 1 and {MOST_REPEATS}")
    return Sizes(
        seconds=seconds,
        warm=min(mode.warm, seconds),
        repeats=repeats,
        budget=max(SMALLEST // 2, _budget(request, mode, free, memory) // max(1, layouts)),
        jobs=max(2, min(16, cores)),
        checkpoint=request.model,
    )


def _budget(request: RunRequest, mode: Defaults, free: int, memory: int) -> int:
    if request.size is not None:
        if request.size > MOST_OF_FREE * free:
            raise Refused(
                f"{in_words(request.size)} exceed {MOST_OF_FREE:.0%} of the {in_words(free)} that are free in "
                "the pool: reduce --size"
            )
        if request.size < SMALLEST:
            raise BadInput(f"--size must be at least {in_words(SMALLEST)}")
        return request.size
    # Twice the memory, so that little is read from the cache; a small part of it for a quick look.
    wanted = 2 * memory if request.mode == "full" else memory // 2
    budget = int(min(mode.most, mode.share * free, max(wanted, SMALLEST)))
    if budget < SMALLEST:
        raise Refused(f"the pool has {in_words(free)} free, a benchmark needs 10 times {in_words(SMALLEST)}")
    return budget


def _even(size: int) -> int:
    """A whole number of MiB, at least one."""
    return max(MIB, size // MIB * MIB)
