# SPDX-License-Identifier: Apache-2.0
"""The benchmarks: drives, setups, and which two rows make a meaningful ratio."""

from collections.abc import Callable
from dataclasses import dataclass

from host.perf import servers, setups, smb, zfs
from host.perf.guest import full
from host.perf.guest.drives import Model
from host.perf.guest.job import Job, Setup
from host.perf.guest.missing import ORDERED, RANDOM
from host.perf.guest.rebuild import TEST
from host.perf.guest.streams import STREAMS
from millrace.system.errors import BadInput

CONTROL = "control"
# MiB for the drives of many long files, and for the files twice: a client on the server itself keeps them, too.
WIDE_MEMORY = 10240


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

    `files` are given to the guest beside its program, by their path. `memory` is the guest's in MiB, with its drives.
    """

    number: int
    title: str
    base: str
    drives: Callable[[], dict[str, Model]]
    setups: Callable[[], list[Setup]]
    ratios: tuple[Ratio, ...]
    files: Callable[[], dict[str, bytes]] = dict
    memory: int = 4096


def _nowhere_slower(size: str, than: str) -> tuple[Ratio, ...]:
    """Return that files are read no slower with a size of read-ahead, by one reader or many, local or over NFS.

    Two boots differ by up to 5 % where many read.
    """
    return tuple(
        Ratio(f"{state}: {streams} at once{where}", size, than, (0.95, 7))
        for state in ("whole", "a drive dead")
        for streams in STREAMS
        for where in ("", " over NFS")
    )


def _rebuilt_raid456() -> tuple[Ratio, ...]:
    """Return that no reads without a drive are slower with the rebuilt raid456 than with Debian's."""
    return tuple(
        Ratio(f"{level}: {kib} KiB {how}", "rebuilt", "Debian's", (0.95, 7))
        for level in ("RAID6", "RAID5", "RAID50")
        for how, sizes in (("random reads", RANDOM), ("reads in order", ORDERED))
        for kib in sizes
    )


BENCHMARKS = {
    CONTROL: Benchmark(
        0,
        "Control: wdelay against no_wdelay, which cannot differ",
        "wdelay",
        servers.drives,
        servers.tuned,
        (Ratio("4 KiB, O_SYNC, NFSv4.2", "no_wdelay", "wdelay"),),
    ),
    "log": Benchmark(
        1,
        "XFS log on drives of its own",
        "stock",
        servers.with_fast_log,
        servers.log_setups,
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
        lambda: servers.drives(bandwidth=servers.BANDWIDTH),
        servers.stripe_setups,
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
        servers.raw,
        servers.bitmap_setups,
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
        servers.fast_raw,
        servers.levels,
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
        servers.drives,
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
        lambda: servers.drives(bandwidth=servers.BANDWIDTH),
        servers.tuned,
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
        servers.drives,
        servers.tuned,
        (
            Ratio("1 MiB reads from the server's cache", "1 MiB", "64 KiB"),
            Ratio("1 MiB writes", "1 MiB", "64 KiB"),
        ),
    ),
    "readahead": Benchmark(
        8,
        "Read-ahead and stripe cache on slow drives",
        "planned",
        lambda: servers.drives(latency_us=servers.FAR_US),
        servers.tuned,
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
        lambda: servers.drives(bandwidth=servers.FAST_BANDWIDTH),
        servers.without_redundancy,
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
        servers.trimmed,
        servers.tuned,
        (),
    ),
    "newfiles": Benchmark(
        11,
        "Where new files begin",
        "unit a chunk",
        lambda: servers.drives(bandwidth=servers.BANDWIDTH),
        servers.newfiles_setups,
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
        servers.drives,
        servers.tuned,
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
        lambda: servers.drives(bandwidth=servers.BANDWIDTH),
        servers.tuned,
        _nowhere_slower("planned", "128 KiB"),
        memory=WIDE_MEMORY,
    ),
    "farstreams": Benchmark(
        14,
        "Read-ahead and readers, where much must be in flight",
        "128 KiB",
        lambda: servers.drives(latency_us=servers.DISTANT_US, bandwidth=servers.FAST_BANDWIDTH),
        servers.tuned,
        (
            *_nowhere_slower("planned", "128 KiB"),
            Ratio("whole: 1 at once over NFS", "planned", "512 KiB", (1.3, 1.8)),
            Ratio("a drive dead: 16 at once", "8 MiB", "planned", (0.4, 0.8)),
        ),
        memory=WIDE_MEMORY,
    ),
    "chunks": Benchmark(
        15,
        "Chunk, and md's copy of what is written",
        "128 KiB",
        servers.whole_chunks,
        servers.chunk_setups,
        (
            Ratio("1 MiB, new file", "planned", "128 KiB", (0.97, 1.07)),
            Ratio("whole: 1 MiB writes", "planned", "128 KiB", (1.2, 1.36)),
            Ratio("a drive dead: 1 MiB writes", "planned", "128 KiB", (0.88, 1.0)),
            Ratio("whole: 4 KiB random reads", "planned", "128 KiB", (0.97, 1.03)),
            Ratio("whole: 1 MiB buffered reads", "planned", "128 KiB", (0.94, 1.05)),
            Ratio("whole: 4 KiB random reads", "skip_copy", "planned", (0.54, 0.61)),
        ),
    ),
    "metadata": Benchmark(
        16,
        "Metadata and small files beside the stripes",
        "planned",
        servers.with_room_beside_the_log,
        servers.metadata_setups,
        (
            Ratio("4 KiB appended, fsync", servers.BESIDE, "planned", (1.33, 1.47)),
            Ratio("4 KiB appended to 8 files, fsync", servers.BESIDE, "planned", (1.21, 1.35)),
            Ratio("small files made", servers.BESIDE, "planned", (0.95, 1.05)),
            Ratio("1 MiB direct, 4 new files", servers.BESIDE, "planned", (0.93, 1.03)),
        ),
    ),
    "peers": Benchmark(
        17,
        "Stock, Millrace and ZFS on the same drives",
        "stock",
        servers.filled,
        lambda: [setups.stock(), setups.planned("Millrace")],
        (),
        zfs.files,
    ),
    "cost": Benchmark(
        18,
        "CPU time of NFS and SMB",
        "Millrace",
        servers.drives,
        lambda: [setups.planned("Millrace")],
        (),
        smb.files,
    ),
    "newfiles60": Benchmark(
        19,
        "Where new files begin on RAID60",
        "unit a chunk",
        servers.wide,
        servers.newfiles60_setups,
        (),
    ),
    "journal": Benchmark(
        20,
        "md's journal on a mirror of its own",
        "planned",
        servers.with_journal_drives,
        servers.journal_setups,
        # why a pool has no journal
        (Ratio("4 KiB appended, fsync", "write-back", "planned", (0.65, 0.9)),),
    ),
    "missing": Benchmark(
        21,
        "Reads without a drive: raid456",
        "Debian's",
        servers.slow_raw,
        servers.levels,
        _rebuilt_raid456(),
    ),
    "fastmissing": Benchmark(
        22,
        "Reads without a drive, faster drives: raid456",
        "Debian's",
        servers.fast_raw,
        servers.levels,
        _rebuilt_raid456(),
    ),
    "chunkreads": Benchmark(
        23,
        "Chunk and reads where the CPU is the bottleneck",
        "128 KiB",
        servers.unlimited_raw,
        servers.chunk_read_setups,
        (
            # what the chunk of the plan costs, and why it is not half of it
            Ratio("RAID6, whole: 1024 KiB buffered, in order", "64 KiB", "128 KiB", (0.93, 1.0)),
            Ratio("RAID6, whole: 256 KiB buffered, random", "64 KiB", "128 KiB", (0.95, 1.01)),
            Ratio("RAID6, whole: 256 KiB direct, random", "64 KiB", "128 KiB", (0.89, 0.96)),
            Ratio("RAID6, a drive dead: 1024 KiB buffered, in order", "64 KiB", "128 KiB", (0.97, 1.05)),
            Ratio("RAID6, whole: 1024 KiB buffered, in order", "32 KiB", "64 KiB", (0.88, 0.96)),
            Ratio("RAID6, whole: 256 KiB direct, random", "32 KiB", "64 KiB", (0.81, 0.9)),
        ),
    ),
    "full": Benchmark(
        24,
        "A pool that is nearly full",
        "50 % full",
        servers.roomy,
        servers.tuned,
        (
            # where health warns, and what it warns of
            Ratio(f"{full.SMALL}: 1 MiB direct, new file", "80 % full", "50 % full", (0.95, 1.15)),
            Ratio(f"{full.SMALL}: 1 MiB direct, new file", "95 % full", "50 % full", (0.4, 0.7)),
            Ratio(f"{full.SMALL}: 1 MiB buffered, new file", "98 % full", "50 % full", (0.6, 0.85)),
            Ratio(f"{full.LARGE}: 1 MiB direct, new file", "95 % full", "50 % full", (0.95, 1.1)),
        ),
        memory=WIDE_MEMORY,
    ),
    "arrays": Benchmark(
        25,
        "CPU time of an array",
        "Millrace",
        servers.drives,
        lambda: [setups.planned("Millrace")],
        (),
    ),
    "newfiles12": Benchmark(
        26,
        "Chunk and writes that fill no stripe",
        "128 KiB",
        servers.wide,
        servers.newfiles12_setups,
        (
            # why a chunk is no larger
            Ratio("1 MiB, new file", "64 KiB", "128 KiB", (1.3, 1.55)),
            Ratio("1 MiB, 4 new files", "64 KiB", "128 KiB", (1.15, 1.35)),
        ),
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
    "journal",
    "missing",
    "fastmissing",
    "chunkreads",
    "full",
    "arrays",
    "newfiles12",
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
