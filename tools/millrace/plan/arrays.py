# SPDX-License-Identifier: Apache-2.0
"""The arrays of a layout: levels, members, hot spares, chunks and bitmaps, and why."""

from collections.abc import Iterator

from millrace.inventory.model import Drive
from millrace.plan import sources
from millrace.plan.log import Log
from millrace.plan.model import Decision, MdArray, Role
from millrace.plan.override import by_policy
from millrace.plan.policy.model import Policy
from millrace.plan.score import CHUNK, Candidate
from millrace.plan.sizes import bitmap_chunk
from millrace.system.text import KIB, MIB, binary


def data_arrays(best: Candidate, partition: int, policy: Policy) -> list[MdArray]:
    """Return the legs on partitions of `partition` bytes, then the RAID0 over them where there are several."""
    several = best.shape.legs > 1
    spares = _distributed(best.spares, len(best.legs))
    legs = [
        MdArray.model_validate(
            {
                "name": f"leg{number}" if several else "data",
                "level": {"raid50": "raid5", "raid60": "raid6"}.get(best.shape.level, best.shape.level),
                "members": [drive.serial for drive in drives],
                "spares": [drive.serial for drive in spares[number]],
                "over_arrays": False,
                "role": Role.DATA,
                "chunk": best.chunk,
                "data_members": best.shape.data_per_leg,
                "bitmap": "internal",
                "bitmap_chunk": _bitmap_chunk(partition, policy),
            }
        )
        for number, drives in enumerate(best.legs)
    ]
    return [*legs, _over(legs, best.full_stripe)] if several else legs


def log_arrays(log: Log) -> list[MdArray]:
    """Return the mirror of the log; nothing for a log inside XFS."""
    if log.mode == "internal":
        return []
    return [
        MdArray(
            name="log",
            level="raid1",
            members=[drive.serial for drive in log.drives],
            spares=[log.spare.serial] if log.spare else [],
            over_arrays=False,
            role=Role.LOG,
            chunk=None,
            data_members=1,
            bitmap="internal",
            bitmap_chunk=bitmap_chunk(log.partition),
        )
    ]


def chunk_decision(leg: MdArray, policy: Policy) -> Iterator[Decision]:
    """Yield why a leg has its chunk; nothing for a mirror."""
    if leg.chunk is None:
        return
    stripe = leg.chunk * leg.data_members
    if MIB % stripe:
        fits = f"The full stripe is {binary(stripe)}, so that a single write of 1 MiB causes a read-modify-write"
    else:
        count = MIB // stripe
        stripes = f"{count} full stripes" if count > 1 else "one full stripe"
        fits = f"One NFS write of 1 MiB is {stripes}, written without a read-modify-write"
    decision = Decision(
        name="chunk",
        value=leg.chunk,
        reason=f"With {binary(CHUNK)}, direct writes of 1 MiB that hold no full stripe are 1.2 to 1.4 times as fast as "
        "with 128 KiB, because the stripe is shorter. Where the CPU is the bottleneck, buffered reads are 2 to 5 % "
        f"slower and direct ones up to 9 %; chunks of 32 KiB cost them as much again and more. {fits}.",
        source=sources.CHUNK,
    )
    yield by_policy(decision, "layout.chunk_kib", f"{CHUNK // KIB} KiB") if policy.layout.chunk_kib else decision


def raid0_chunk_decision(data: MdArray, leg: MdArray) -> Decision:
    """Return why the RAID0 over legs has its chunk."""
    return Decision(
        name="raid0_chunk",
        value=data.chunk,
        reason=f"The full stripe of a leg, {leg.data_members} × {binary(leg.chunk or 0)}: a smaller chunk would "
        "split writes before they fill a stripe.",
        source=sources.RAID0_LIMITS,
    )


def bitmap_decision(leg: MdArray, policy: Policy) -> Decision:
    """Return why a leg has its bitmap."""
    decision = Decision(
        name="bitmap",
        value={"kind": leg.bitmap, "chunk": leg.bitmap_chunk},
        reason="After a power cut only regions with writes in flight are resynced; "
        + (
            "512 MiB for each bit keep bitmap updates rare."
            if leg.bitmap_chunk
            else "for members below 1 TiB mdadm computes the bitmap chunk."
        ),
        source=sources.BITMAP,
    )
    wanted = policy.layout.bitmap_chunk_mib
    return by_policy(decision, "layout.bitmap_chunk_mib", "512 MiB from 1 TiB on, else mdadm's") if wanted else decision


def _over(legs: list[MdArray], full_stripe: int) -> MdArray:
    """A chunk that is not the full stripe of a leg would cut writes before they fill a stripe."""
    return MdArray(
        name="data",
        level="raid0",
        members=[leg.name for leg in legs],
        over_arrays=True,
        role=Role.DATA,
        chunk=full_stripe,
        data_members=len(legs),
        bitmap="none",
        bitmap_chunk=None,
    )


def _bitmap_chunk(partition: int, policy: Policy) -> int | None:
    wanted = policy.layout.bitmap_chunk_mib
    return wanted * MIB if wanted else bitmap_chunk(partition)


def _distributed(spares: list[Drive], arrays: int) -> list[list[Drive]]:
    """Spares of each array, dealt in turn.

    An md spare belongs to one array. `spare-group` could move it to another one, but only while `mdadm --monitor`
    runs and finds both in mdadm.conf; an array with a spare of its own rebuilds by itself.
    """
    return [spares[number::arrays] for number in range(arrays)]
