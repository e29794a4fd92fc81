# SPDX-License-Identifier: Apache-2.0
"""The drives of each benchmark, and the setups that it compares."""

from dataclasses import replace

from host.perf import setups
from host.perf.guest.drives import Model
from host.perf.guest.job import Setup
from millrace.plan.policy.model import LayoutPolicy, LogPolicy, Policy, XfsPolicy

# The clock gives an instruction a nanosecond, a real core a third of that: 100 µs here are a drive of about 30 µs.
LATENCY_US, FAST_US = 100, 40
# MiB of each drive that are written before anything is measured: all tests stay within these.
FILLED = 128
# MiB of drives that are all filled, in the memory of the guest.
SMALL_MIB = 224
ROOMY_MIB = 1024
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
CHUNKS_KIB = (128, 64, 32)
BESIDE = "metadata on the mirror"
# drives in two legs, of which each has four for data
WIDE = 12


def drives(latency_us: int = LATENCY_US, bandwidth: int = 0, size: int = setups.DATA_MIB) -> dict[str, Model]:
    """Return the drives of the 1U12: latency in µs, bandwidth of each in MB/s (0: no limit), size in MiB."""
    data = Model(setups.DATA_DRIVES, size, latency_us, bandwidth, FILLED)
    log = Model(setups.LOG_DRIVES, setups.LOG_MIB, latency_us, bandwidth, setups.LOG_MIB)
    return {"data": data, "log": log}


def with_fast_log() -> dict[str, Model]:
    """Return the drives and two faster ones for the log."""
    return {**drives(), "fast log": replace(drives()["log"], latency_us=FAST_US)}


def log_setups() -> list[Setup]:
    """Return the log where mdadm's and XFS's defaults, a pool without log drives and Millrace put it."""
    tuned = setups.planned("tuned")
    first = setups.DATA_DRIVES + setups.LOG_DRIVES
    return [
        setups.stock(),
        setups.planned("tuned, log inside", Policy(log=LogPolicy(mode="internal"))),
        tuned,
        setups.with_log_on(tuned, "tuned, faster log drives", range(first, first + setups.LOG_DRIVES)),
    ]


def stripe_setups() -> list[Setup]:
    """Return the defaults, what is planned, and that with a chunk as XFS's stripe unit."""
    tuned = setups.planned("tuned")
    return [setups.stock(), tuned, setups.by_chunk(tuned, "tuned, unit a chunk")]


def newfiles_setups() -> list[Setup]:
    """Return the ways to let new files begin on a stripe."""
    planned = setups.planned("planned")
    swalloc = setups.planned("unit a chunk, swalloc", Policy(xfs=XfsPolicy(mount_options_extra=["swalloc"])))
    raid50 = setups.planned("RAID50", Policy(layout=LayoutPolicy(level="raid50")))
    by_chunk = setups.by_chunk(planned, "unit a chunk")
    hinted = replace(by_chunk, name="unit a chunk, extent size hint", hint=1 << 20)
    return [by_chunk, planned, setups.by_chunk(swalloc, swalloc.name), hinted, raid50]


def with_journal_drives() -> dict[str, Model]:
    """Return the drives and two more like those of the log."""
    return {**drives(), "journal": drives()["log"]}


def journal_setups() -> list[Setup]:
    """Return what is planned, and md's journal on a mirror of its own."""
    planned = setups.planned("planned")
    return [planned, *(setups.with_journal(planned, mode, mode) for mode in ("write-through", "write-back"))]


def roomy() -> dict[str, Model]:
    """Return drives with room for many files, next to none of which is ever written."""
    return drives(bandwidth=BANDWIDTH, size=ROOMY_MIB)


def wide() -> dict[str, Model]:
    """Return the drives of RAID60."""
    kinds = drives(bandwidth=BANDWIDTH)
    return {**kinds, "data": replace(kinds["data"], count=WIDE)}


def newfiles60_setups() -> list[Setup]:
    """Return RAID60 as planned, and with a chunk as XFS's stripe unit."""
    legs = setups.planned("planned", Policy(layout=LayoutPolicy(level="raid60")), WIDE)
    return [setups.by_chunk(legs, "unit a chunk"), legs]


def newfiles12_setups() -> list[Setup]:
    """Return RAID6 of twelve drives: a full stripe of ten chunks is no part of 1 MiB."""
    return [
        setups.planned(f"{size} KiB", Policy(layout=LayoutPolicy(level="raid6", chunk_kib=size)), WIDE)
        for size in CHUNKS_KIB
    ]


def chunk_setups() -> list[Setup]:
    """Return what is planned with other chunks, with md's `skip_copy`, and RAID50."""
    planned = setups.planned("planned")
    others = [setups.planned(f"{size} KiB", Policy(layout=LayoutPolicy(chunk_kib=size))) for size in (128, 32)]
    legs = [
        setups.planned("RAID50", Policy(layout=LayoutPolicy(level="raid50"))),
        setups.planned("RAID50, 256 KiB", Policy(layout=LayoutPolicy(level="raid50", chunk_kib=256))),
    ]
    return [planned, *others, setups.with_md(planned, "skip_copy", skip_copy="1"), *legs]


def chunk_read_setups() -> list[Setup]:
    """Return RAID6 and RAID50 with each chunk."""
    layouts = [LayoutPolicy(level="raid6"), LayoutPolicy(level="raid50")]
    return [
        setups.planned(
            f"{str(layout.level).upper()}, {size} KiB", Policy(layout=layout.model_copy(update={"chunk_kib": size}))
        )
        for layout in layouts
        for size in CHUNKS_KIB
    ]


def metadata_setups() -> list[Setup]:
    """Return what is planned, and metadata on the mirror of the log drives."""
    planned = setups.planned("planned")
    return [
        planned,
        setups.metadata_on_log_drives(planned, BESIDE),
        setups.metadata_on_log_drives(planned, f"{BESIDE}, extents of a stripe", STRIPE),
    ]


def bitmap_setups() -> list[Setup]:
    """Return what is planned without a bitmap, and with one of other chunks."""
    # A bitmap in a file is gone from mdadm; the lockless one is not compiled into Debian's kernel.
    fine = Policy(layout=LayoutPolicy(bitmap_chunk_mib=1))
    planned = setups.planned("planned")
    return [setups.without_bitmap(planned, "none"), planned, setups.planned("1 MiB a bit", fine)]


def levels() -> list[Setup]:
    """Return RAID6, RAID5 and RAID50 as planned."""
    # RAID5 has one drive less: eight data drives and whole stripes of 1 MiB, as RAID6, and no hot spare.
    single = Policy(layout=LayoutPolicy(level="raid5"))
    legs = Policy(layout=LayoutPolicy(level="raid50"))
    return [
        setups.planned("RAID6"),
        setups.planned("RAID5", single, setups.DATA_DRIVES - 1),
        setups.planned("RAID50", legs),
    ]


def tuned() -> list[Setup]:
    """Return what is planned, alone."""
    return [setups.planned("tuned")]


def without_redundancy() -> list[Setup]:
    """Return what has none left when a drive is dead."""
    return levels()[1:2]


def raw() -> dict[str, Model]:
    """Return drives without a file system."""
    return drives(size=RAW)


def trimmed() -> dict[str, Model]:
    """Return drives that discard."""
    return {**drives(), "data": replace(drives()["data"], discard=True)}


def with_room_beside_the_log() -> dict[str, Model]:
    """Return drives for a log with room for metadata and files beside it."""
    # Two drives of a server carry many small writes: what binds the streams must not bind these.
    log = replace(drives()["log"], size_mib=setups.DATA_MIB, written=2 * FILLED)
    return {**drives(bandwidth=BANDWIDTH), "log": log}


def filled() -> dict[str, Model]:
    """Drives without a page that was never written: ZFS writes all over them."""
    kinds = drives(bandwidth=FAST_BANDWIDTH)
    return {
        "data": replace(kinds["data"], size_mib=SMALL_MIB, written=SMALL_MIB, request_kib=REQUEST_KIB),
        "log": replace(kinds["log"], request_kib=REQUEST_KIB),
    }


def whole_chunks() -> dict[str, Model]:
    """Drives that take a chunk in one request."""
    kinds = drives(bandwidth=FAST_BANDWIDTH)
    return {name: replace(model, request_kib=REQUEST_KIB) for name, model in kinds.items()}


def unlimited_raw() -> dict[str, Model]:
    """Return drives without a file system that hold up nothing but by their latency."""
    return {name: replace(model, request_kib=REQUEST_KIB) for name, model in raw().items()}


def slow_raw() -> dict[str, Model]:
    """Return drives without a file system that hold up everything."""
    return drives(bandwidth=BANDWIDTH, size=RAW)


def fast_raw() -> dict[str, Model]:
    """Return drives without a file system, of limited bandwidth."""
    return drives(bandwidth=FAST_BANDWIDTH, size=RAW)
