# SPDX-License-Identifier: Apache-2.0
"""What each profile does, as fio jobs. Pure; how often and how long is decided elsewhere."""

import hashlib
import json
from dataclasses import dataclass, field

from millrace.measure.bench.result.choices import BenchLayer, BenchProfile
from millrace.measure.bench.result.model import Operation, Workload
from millrace.system.text import GIB, KIB, MIB, binary
from millrace_client.au import TRAININGS

EVERYWHERE = frozenset(BenchLayer)
FILES = frozenset({BenchLayer.L1, BenchLayer.L2, BenchLayer.L3})
SERVED = frozenset({BenchLayer.L2, BenchLayer.L3})

# rounded to the block that direct I/O needs; 322,957 bytes of a RetinaNet sample
JPEG = 316 * KIB
# 146.6 MB on average, standard deviation 68.3 MB (mlcommons/storage, unet3d)
VOLUME = (57 * 10**6 // MIB, 213 * 10**6 // MIB)
UNREAD = ("meta", "kvcache")
"""Layouts whose files are not read back as fio laid them out."""
RANKS = 8
"""Processes of the 8B checkpoint, which is the only layout that MLPerf lets a subset of nodes run."""
CHECKPOINT_BLOCK = 16 * MIB
KV_TOKENS = 16
"""Tokens of a block; what one takes: layers, 8 heads of 128, keys and values, 2 bytes."""
KV_JOBS = 16
KV_8B, KV_70B = (KV_TOKENS * layers * 8 * 128 * 2 * 2 for layers in (32, 80))


@dataclass(frozen=True)
class Work:
    """One workload. `options` are fio's; `layout` names the set of files that it works on.

    `timed` work runs for a given time; the rest (metadata, checkpoints) does a given amount. `layers` are where it
    makes sense, `writes` whether it changes data, `warmed` whether a warm-up comes before the first repeat. `jobs` are
    fixed where a benchmark fixes them, `tier` bytes of files that its load would have in memory, `stands_for` the
    benchmark that it is like.
    """

    profile: BenchProfile
    operation: Operation
    pattern: str
    options: dict[str, str | int]
    layout: str = "common"
    block: int | None = None
    depth: int = 1
    engine: str = "libaio"
    durable: bool = False
    timed: bool = True
    writes: bool = False
    warmed: bool = True
    layers: frozenset[BenchLayer] = field(default=FILES)
    jobs: int | None = None
    tier: int = 0
    stands_for: str | None = None

    @property
    def name(self) -> str:
        """`seq/read`, the end of a rung's id."""
        return f"{self.profile}/{self.operation}"

    def workload(self, equivalent: str | None = None) -> Workload:
        """Return the definition with its hash; `equivalent` names the benchmark of which this is a smaller one."""
        content = {
            "profile": self.profile.value,
            "operation": self.operation,
            "pattern": self.pattern,
            "block": self.block,
            "depth": self.depth,
            "engine": self.engine,
            "durable": self.durable,
            "equivalent": equivalent,
        }
        return Workload.model_validate({**content, "sha256": digest({**content, "options": self.options})})


def digest(content: object) -> str:
    """Return the sha256 of canonical JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _timed(
    profile: BenchProfile, operation: Operation, pattern: str, rw: str, block: int, depth: int, **more: int
) -> Work:
    return Work(
        profile=profile,
        operation=operation,
        pattern=pattern,
        options={"rw": rw, "bs": block, "iodepth": depth, "direct": 1, **more},
        block=block,
        depth=depth,
        writes=operation != "read",
        durable=operation != "read",
        layers=EVERYWHERE,
    )


def _over_connections(operation: Operation, pattern: str, rw: str, block: int, depth: int) -> Work:
    """Reads: what they cost is what the network and the transports bring, without what makes a write durable."""
    return Work(
        profile=BenchProfile.CONNECTIONS,
        operation=operation,
        pattern=f"{pattern} reads, over more and more connections",
        options={"rw": rw, "bs": block, "iodepth": depth, "direct": 1},
        block=block,
        depth=depth,
        layers=SERVED,
    )


def _meta(operation: Operation, pattern: str) -> Work:
    # fio 3.41: create_on_open, or fio itself makes the files before it measures
    more = {"create_on_open": 1, "openfiles": 1} if operation == "create" else {}
    return Work(
        profile=BenchProfile.META,
        operation=operation,
        pattern=pattern,
        options={"rw": "write", "bs": "4k", "filesize": "4k", "fallocate": "none", **more},
        layout="meta",
        engine=f"file{operation}",
        timed=False,
        writes=operation != "stat",
    )


def _checkpoint(operation: Operation, pattern: str) -> Work:
    save = operation == "save"
    more: dict[str, str | int] = {"end_fsync": 1, "fallocate": "none"} if save else {"invalidate": 1}
    return Work(
        profile=BenchProfile.CHECKPOINT,
        operation=operation,
        pattern=pattern,
        options={"rw": "write" if save else "read", "bs": CHECKPOINT_BLOCK, "direct": 0, **more},
        layout="checkpoint",
        block=CHECKPOINT_BLOCK,
        # fio's nfs engine cannot sync: durable figures come through the kernel's mount only
        engine="psync",
        durable=save,
        timed=False,
        writes=save,
    )


def _training(profile: BenchProfile, block: int) -> Work:
    """Emulated accelerators; fio only lays their files out."""
    emulated = [training for training in TRAININGS if training.profile == profile]
    batches = ", ".join(
        f"{training.batch} computed on for {training.compute:g} s ({training.accelerator})" for training in emulated
    )
    return Work(
        profile=profile,
        operation="train",
        pattern=f"whole files in batches: {batches}",
        options={"rw": "read", "bs": block},
        layout=profile.value,
        block=block,
        depth=emulated[0].readers,
        engine="millrace",
        # each probe leaves its own beginning out
        warmed=False,
    )


def _kv_cache(operation: Operation, option: str, model: str, block: int, jobs: int, tier: int = 0) -> Work:
    """One of the three fixed options; mlcommons/storage 3.0, Rules.md 6.3.1."""
    memory = f", {binary(tier)} of blocks in memory" if tier else ""
    return Work(
        profile=BenchProfile.KVCACHE,
        operation=operation,
        pattern=f"blocks of {KV_TOKENS} tokens of a {model} model{memory}: 1 written and synced for 3 read back",
        options={},
        layout="kvcache",
        block=block,
        engine="millrace",
        durable=True,
        writes=True,
        jobs=jobs,
        tier=tier,
        stands_for=f"a load equivalent to {option} of the KV cache of MLPerf Storage 3.0; not a result of it",
    )


WORKS: list[Work] = [
    _timed(BenchProfile.SEQ, "read", "sequential, direct", "read", MIB, 16),
    _timed(BenchProfile.SEQ, "write", "sequential, direct", "write", MIB, 16, end_fsync=1),
    _timed(BenchProfile.RAND, "read", "random, direct", "randread", 4 * KIB, 32),
    _timed(BenchProfile.RAND, "write", "random, direct", "randwrite", 4 * KIB, 32, end_fsync=1),
    _timed(BenchProfile.MIXED, "mixed", "random, 70 % reads, direct", "randrw", 8 * KIB, 16, rwmixread=70),
    Work(
        profile=BenchProfile.FSYNC,
        operation="fsync",
        pattern="each block written and synced before the next",
        options={"rw": "write", "bs": 4 * KIB, "direct": 0, "fsync": 1, "fallocate": "none"},
        block=4 * KIB,
        engine="psync",
        durable=True,
        writes=True,
    ),
    _meta("create", "small files made, one directory a job"),
    _meta("stat", "attributes of small files"),
    _meta("delete", "small files removed"),
    Work(
        profile=BenchProfile.UNET3D,
        operation="read",
        pattern="whole volumes of 57 to 213 MB in random order",
        # a reader stays with a file about as long as a mean file is
        options={"rw": "read", "bs": MIB, "iodepth": 4, "direct": 1, "file_service_type": "random:140"},
        layout="unet3d",
        block=MIB,
        depth=4,
    ),
    _training(BenchProfile.UNET3D, MIB),
    Work(
        profile=BenchProfile.RETINANET,
        operation="read",
        pattern="whole pictures of 323 kB in random order",
        options={"rw": "read", "bs": JPEG, "iodepth": 8, "direct": 1, "file_service_type": "random", "openfiles": 64},
        layout="retinanet",
        block=JPEG,
        depth=8,
    ),
    _training(BenchProfile.RETINANET, JPEG),
    _checkpoint("save", "8 ranks, one file each, buffered, synced at the end; the slowest rank counts"),
    _checkpoint("load", "8 ranks, one file each; the slowest rank counts"),
    _kv_cache("stress", "option 1 (Max Storage Stress)", "8B", KV_8B, KV_JOBS),
    _kv_cache("throughput", "option 2 (Storage Throughput)", "8B", KV_8B, KV_JOBS, 4 * GIB),
    _kv_cache("large", "option 3 (Large Model)", "70B", KV_70B, 4),
    _over_connections("stream", "sequential, direct", "read", MIB, 16),
    _over_connections("small", "random, direct", "randread", 4 * KIB, 32),
]


def works(profiles: list[BenchProfile]) -> list[Work]:
    """Return the workloads of these profiles, in the order of the table."""
    return [work for work in WORKS if work.profile in profiles]
