# SPDX-License-Identifier: Apache-2.0
"""The benchmarks: drives, setups, and which two rows make a meaningful ratio."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from host.perf import setups, smb, zfs
from host.perf.guest.drives import Model
from host.perf.guest.job import Job, Setup
from host.perf.guest.rebuild import TEST
from millrace.errors import BadInput
from millrace.plan.policy import LayoutPolicy, LogPolicy, Policy, XfsPolicy

# The clock gives an instruction a nanosecond, a real core a third of that: 100 µs here are a drive of about 30 µs.
LATENCY_US, FAST_US = 100, 40
# MiB of each drive that are written before anything is measured: all tests stay within these.
FILLED = 128
# MiB of drives that are all filled, in the memory of the guest.
SMALL_MIB = 224
# MiB of drives without a file system: a rebuild reads all of them.
RAW = 160
# MB/s: drives, not the processor, hold up whole stripes; scaled down further than latency, so only where it matters.
BANDWIDTH, FAST_BANDWIDTH = 25, 60
FAR_US = 400
# Bandwidth times latency is 240 KB of each drive in flight, as with 3 GB/s and 80 µs.
DISTANT_US = 4000
# A chunk of either size is one request. Much more would be more than null_blk's budget of 20 ms, and never complete.
REQUEST_KIB = 256
# of RAID6 as planned
STRIPE = 512 << 10
CONTROL = "control"
BESIDE = "metadata on the mirror"
# drives in two legs, of which each has four for data
WIDE = 12


@dataclass(frozen=True)
class Ratio:
    """How much faster (operations a second) `variant` does `test` than `base`.

    `band` is checked by `tools/perf` where tests/perf does not measure the benchmark; None: it has no band here.
    """

    test: str
    variant: str
    base: str
    band: tuple[float, float] | None = None


@dataclass(frozen=True)
class Benchmark:
    """`number` as in the list of ratio benchmarks, 0 for the control; `base` is what the table compares with.

    `files` are given to the guest beside its program, by their path.
    """

    number: int
    title: str
    base: str
    drives: Callable[[], dict[str, Model]]
    setups: Callable[[], list[Setup]]
    ratios: tuple[Ratio, ...]
    files: Callable[[], dict[str, bytes]] = dict


def drives(latency_us: int = LATENCY_US, bandwidth: int = 0, size: int = setups.DATA_MIB) -> dict[str, Model]:
    """Return the drives of the 1U12: latency in µs, bandwidth of each in MB/s (0: no limit), size in MiB."""
    data = Model(setups.DATA_DRIVES, size, latency_us, bandwidth, FILLED)
    log = Model(setups.LOG_DRIVES, setups.LOG_MIB, latency_us, bandwidth, setups.LOG_MIB)
    return {"data": data, "log": log}


def _with_fast_log() -> dict[str, Model]:
    return {**drives(), "fast log": replace(drives()["log"], latency_us=FAST_US)}


def _log_setups() -> list[Setup]:
    tuned = setups.planned("tuned")
    first = setups.DATA_DRIVES + setups.LOG_DRIVES
    return [
        setups.stock(),
        setups.planned("tuned, log inside", Policy(log=LogPolicy(mode="internal"))),
        tuned,
        setups.with_log_on(tuned, "tuned, faster log drives", range(first, first + setups.LOG_DRIVES)),
    ]


def _stripe_setups() -> list[Setup]:
    tuned = setups.planned("tuned")
    return [setups.stock(), tuned, setups.by_chunk(tuned, "tuned, unit a chunk")]


def _newfiles_setups() -> list[Setup]:
    planned = setups.planned("planned")
    swalloc = setups.planned("unit a chunk, swalloc", Policy(xfs=XfsPolicy(mount_options_extra=["swalloc"])))
    raid50 = setups.planned("RAID50", Policy(layout=LayoutPolicy(level="raid50")))
    by_chunk = setups.by_chunk(planned, "unit a chunk")
    hinted = replace(by_chunk, name="unit a chunk, extent size hint", hint=1 << 20)
    return [by_chunk, planned, setups.by_chunk(swalloc, swalloc.name), hinted, raid50]


def _wide() -> dict[str, Model]:
    kinds = drives(bandwidth=BANDWIDTH)
    return {**kinds, "data": replace(kinds["data"], count=WIDE)}


def _newfiles60_setups() -> list[Setup]:
    legs = setups.planned("planned", Policy(layout=LayoutPolicy(level="raid60")), WIDE)
    return [setups.by_chunk(legs, "unit a chunk"), legs]


def _chunk_setups() -> list[Setup]:
    planned = setups.planned("planned")
    others = [setups.planned(f"{size} KiB", Policy(layout=LayoutPolicy(chunk_kib=size))) for size in (128, 32)]
    legs = [
        setups.planned("RAID50", Policy(layout=LayoutPolicy(level="raid50"))),
        setups.planned("RAID50, 256 KiB", Policy(layout=LayoutPolicy(level="raid50", chunk_kib=256))),
    ]
    return [planned, *others, setups.with_md(planned, "skip_copy", skip_copy="1"), *legs]


def _metadata_setups() -> list[Setup]:
    planned = setups.planned("planned")
    return [
        planned,
        setups.metadata_on_log_drives(planned, BESIDE),
        setups.metadata_on_log_drives(planned, f"{BESIDE}, extents of a stripe", STRIPE),
    ]


def _bitmap_setups() -> list[Setup]:
    # A bitmap in a file is gone from mdadm; the lockless one is not compiled into Debian's kernel.
    fine = Policy(layout=LayoutPolicy(bitmap_chunk_mib=1))
    planned = setups.planned("planned")
    return [setups.without_bitmap(planned, "none"), planned, setups.planned("1 MiB a bit", fine)]


def _levels() -> list[Setup]:
    # RAID5 has one drive less: eight data drives and whole stripes of 1 MiB, as RAID6, and no hot spare.
    single = Policy(layout=LayoutPolicy(level="raid5"))
    legs = Policy(layout=LayoutPolicy(level="raid50"))
    return [
        setups.planned("RAID6"),
        setups.planned("RAID5", single, setups.DATA_DRIVES - 1),
        setups.planned("RAID50", legs),
    ]


def _tuned() -> list[Setup]:
    return [setups.planned("tuned")]


def _without_redundancy() -> list[Setup]:
    return _levels()[1:2]


def _raw() -> dict[str, Model]:
    return drives(size=RAW)


def _trimmed() -> dict[str, Model]:
    return {**drives(), "data": replace(drives()["data"], discard=True)}


def _with_room_beside_the_log() -> dict[str, Model]:
    # Two drives of a server carry many small writes: what binds the streams must not bind these.
    log = replace(drives()["log"], size_mib=setups.DATA_MIB, written=2 * FILLED)
    return {**drives(bandwidth=BANDWIDTH), "log": log}


def _filled() -> dict[str, Model]:
    """Drives without a page that was never written: ZFS writes all over them."""
    kinds = drives(bandwidth=FAST_BANDWIDTH)
    return {
        "data": replace(kinds["data"], size_mib=SMALL_MIB, written=SMALL_MIB, request_kib=REQUEST_KIB),
        "log": replace(kinds["log"], request_kib=REQUEST_KIB),
    }


def _whole_chunks() -> dict[str, Model]:
    """Drives that take a chunk in one request."""
    kinds = drives(bandwidth=FAST_BANDWIDTH)
    return {name: replace(model, request_kib=REQUEST_KIB) for name, model in kinds.items()}


def _fast_raw() -> dict[str, Model]:
    return drives(bandwidth=FAST_BANDWIDTH, size=RAW)


BENCHMARKS = {
    CONTROL: Benchmark(
        0,
        "Control: wdelay against no_wdelay, which cannot differ",
        "wdelay",
        drives,
        _tuned,
        (Ratio("4 KiB, O_SYNC, NFSv4.2", "no_wdelay", "wdelay"),),
    ),
    "log": Benchmark(
        1,
        "XFS log on drives of its own",
        "stock",
        _with_fast_log,
        _log_setups,
        (
            Ratio("4 KiB into allocated space, fsync", "tuned", "stock"),
            Ratio("4 KiB into allocated space, fsync", "tuned", "tuned, log inside"),
            Ratio("4 KiB appended, fsync", "tuned", "stock"),
            Ratio("4 KiB appended, fsync", "tuned", "tuned, log inside"),
        ),
    ),
    "stripe": Benchmark(
        2,
        "Whole stripes",
        "stock",
        lambda: drives(bandwidth=BANDWIDTH),
        _stripe_setups,
        (
            Ratio("1 MiB, new file", "tuned", "stock"),
            Ratio("1 MiB, new file", "tuned", "tuned, unit a chunk"),
            Ratio("1 MiB, on a stripe", "tuned", "stock"),
            Ratio("1 MiB, array", "tuned, 0 KiB off", "tuned, 256 KiB off"),
        ),
    ),
    "bitmap": Benchmark(
        3,
        "Write-intent bitmap",
        "none",
        _raw,
        _bitmap_setups,
        (
            Ratio("4 KiB random, 1 at a time", "planned", "none"),
            Ratio("4 KiB random, 16 at a time", "planned", "none"),
            Ratio("4 KiB random, 16 at a time", "1 MiB a bit", "none"),
        ),
    ),
    "degraded": Benchmark(
        4,
        "A drive dead",
        "whole",
        _fast_raw,
        _levels,
        tuple(
            Ratio(f"{level}: {load}", "a drive dead", "whole")
            for level in ("RAID6", "RAID5", "RAID50")
            for load in ("4 KiB random reads", "1 MiB reads", "4 KiB random writes", "1 MiB writes")
        ),
    ),
    "commit": Benchmark(
        5,
        "Until a client's write is safe",
        "stock",
        drives,
        lambda: [setups.stock(), setups.planned("tuned")],
        tuple(
            Ratio(f"NFSv{version}: {load}", "tuned", "stock")
            for version in ("3", "4.2")
            for load in ("4 KiB, O_SYNC", "4 KiB appended, fsync")
        ),
    ),
    "iocache": Benchmark(
        6,
        "nfsd and the page cache",
        "buffered",
        lambda: drives(bandwidth=BANDWIDTH),
        _tuned,
        (
            Ratio("1m reads, cold", "direct", "buffered"),
            Ratio("1m reads, again", "direct", "buffered"),
            Ratio("1m reads, cold", "dontcache", "buffered"),
            Ratio("1m writes", "direct", "buffered"),
        ),
    ),
    "transfer": Benchmark(
        7,
        "Bytes in a call",
        "64 KiB",
        drives,
        _tuned,
        (
            Ratio("1 MiB reads from the server's cache", "1 MiB", "64 KiB"),
            Ratio("1 MiB writes", "1 MiB", "64 KiB"),
        ),
    ),
    "readahead": Benchmark(
        8,
        "Read-ahead and stripe cache on slow drives",
        "planned",
        lambda: drives(latency_us=FAR_US),
        _tuned,
        (
            Ratio("read-ahead, 1 file read", "planned", "128 KiB"),
            Ratio("read-ahead, 16 files read", "planned", "128 KiB"),
            Ratio("stripe cache, 4 files written", "planned", "256 stripes"),
        ),
    ),
    "rebuild": Benchmark(
        9,
        "A reader beside a rebuild, by priority",
        "a drive dead",
        lambda: drives(bandwidth=FAST_BANDWIDTH),
        _without_redundancy,
        # Measured: clients 0.16 and 0.22, balanced 0.21, rebuild 0.001 with reads of half a second: below its floor md
        # has all of the stripe cache under way (8192 pages at 60 MB/s are 0.5 s), above it 32 stripes. A floor of half
        # the limit was as harsh as that of `rebuild`.
        (
            Ratio(TEST, "clients", "a drive dead", (0.1, 0.3)),
            Ratio(TEST, "balanced", "a drive dead", (0.1, 0.3)),
            Ratio(TEST, "rebuild", "a drive dead", (0, 0.05)),
        ),
    ),
    "trim": Benchmark(
        10,
        "A reader beside a trim",
        "no trim",
        _trimmed,
        _tuned,
        (),
    ),
    "newfiles": Benchmark(
        11,
        "Where new files begin",
        "unit a chunk",
        lambda: drives(bandwidth=BANDWIDTH),
        _newfiles_setups,
        (
            Ratio("1 MiB, new file", "planned", "unit a chunk", (1.33, 1.48)),
            Ratio("1 MiB, 4 new files", "planned", "unit a chunk", (1.04, 1.16)),
            Ratio("4 KiB appended to 8 files, fsync", "planned", "unit a chunk", (0.94, 1.05)),
        ),
    ),
    "localio": Benchmark(
        12,
        "A client on the server itself",
        "NFS over TCP",
        drives,
        _tuned,
        (
            Ratio("4 KiB random reads, 16 at a time", "LOCALIO", "NFS over TCP", (2.7, 3.4)),
            Ratio("4 KiB random writes, 16 at a time", "LOCALIO", "NFS over TCP", (1.8, 2.4)),
            Ratio("1 MiB reads", "LOCALIO", "NFS over TCP", (1.9, 2.6)),
        ),
    ),
    "streams": Benchmark(
        13,
        "Read-ahead and readers",
        "128 KiB",
        lambda: drives(bandwidth=BANDWIDTH),
        _tuned,
        (
            Ratio("whole: 64 at once over NFS", "planned", "128 KiB", (0.93, 1.1)),
            Ratio("whole: 64 at once over NFS", "32 MiB", "planned", (0.8, 0.97)),
            Ratio("a drive dead: 1 at once", "planned", "128 KiB", (2, 2.6)),
            Ratio("a drive dead: 16 at once over NFS", "planned", "128 KiB", (0.92, 1.1)),
            Ratio("a drive dead: 64 at once over NFS", "32 MiB", "planned", (0.8, 0.97)),
        ),
    ),
    "farstreams": Benchmark(
        14,
        "Read-ahead and readers, where much must be in flight",
        "128 KiB",
        lambda: drives(latency_us=DISTANT_US, bandwidth=FAST_BANDWIDTH),
        _tuned,
        (
            Ratio("whole: 1 at once over NFS", "planned", "128 KiB", (4.5, 7)),
            Ratio("whole: 1 at once over NFS", "planned", "512 KiB", (1.8, 3)),
            Ratio("whole: 16 at once over NFS", "planned", "128 KiB", (0.98, 1.15)),
            Ratio("whole: 64 at once", "planned", "128 KiB", (0.85, 1)),
        ),
    ),
    "chunks": Benchmark(
        15,
        "Chunk, and md's copy of what is written",
        "128 KiB",
        _whole_chunks,
        _chunk_setups,
        (
            Ratio("1 MiB, new file", "planned", "128 KiB", (1.15, 1.27)),
            Ratio("whole: 1 MiB writes", "planned", "128 KiB", (1.2, 1.36)),
            Ratio("a drive dead: 1 MiB writes", "planned", "128 KiB", (1.1, 1.22)),
            Ratio("whole: 4 KiB random reads", "planned", "128 KiB", (0.97, 1.03)),
            Ratio("whole: 1 MiB buffered reads", "planned", "128 KiB", (0.94, 1.05)),
            Ratio("whole: 4 KiB random reads", "skip_copy", "planned", (0.54, 0.61)),
        ),
    ),
    "metadata": Benchmark(
        16,
        "Metadata and small files beside the stripes",
        "planned",
        _with_room_beside_the_log,
        _metadata_setups,
        (
            Ratio("4 KiB appended, fsync", BESIDE, "planned", (1.33, 1.47)),
            Ratio("4 KiB appended to 8 files, fsync", BESIDE, "planned", (1.21, 1.35)),
            Ratio("small files made", BESIDE, "planned", (0.95, 1.05)),
            Ratio("1 MiB direct, 4 new files", BESIDE, "planned", (0.93, 1.03)),
        ),
    ),
    "peers": Benchmark(
        17,
        "Stock, Millrace and ZFS on the same drives",
        "stock",
        _filled,
        lambda: [setups.stock(), setups.planned("Millrace")],
        (),
        zfs.files,
    ),
    "cost": Benchmark(
        18,
        "CPU time of the server",
        "Millrace",
        drives,
        lambda: [setups.planned("Millrace")],
        (),
        smb.files,
    ),
    "newfiles60": Benchmark(
        19,
        "Where new files begin on RAID60",
        "unit a chunk",
        _wide,
        _newfiles60_setups,
        (),
    ),
}
# Asked for by name only: they take minutes of a processor. tools/perf checks the bands of those that have some; the
# others have none: their results are not known yet.
UNBANDED = (
    "iocache",
    "transfer",
    "readahead",
    "rebuild",
    "trim",
    "newfiles",
    "localio",
    "streams",
    "farstreams",
    "chunks",
    "metadata",
    "peers",
    "cost",
    "newfiles60",
)
NAMES = [name for name in BENCHMARKS if name != CONTROL]


def known(name: str) -> str:
    """Return `name`; BadInput with the known names where there is no such benchmark."""
    if name not in NAMES:
        raise BadInput(f"There is no benchmark {name!r}; known are: {', '.join(NAMES)}.")
    return name


def job(name: str, boot: int = 1) -> Job:
    """Return the job of the guest in its boot number `boot`."""
    return Job(name, boot, BENCHMARKS[name].drives(), BENCHMARKS[name].setups())
