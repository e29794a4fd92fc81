# SPDX-License-Identifier: Apache-2.0
"""Why the arrays are as they are."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from millrace.plan import sources
from millrace.plan.model import Decision
from millrace.plan.override import by_policy
from millrace.plan.policy import Policy
from millrace.plan.score import RULES, Candidate, chunk_size
from millrace.system.text import KIB, binary

if TYPE_CHECKING:
    from millrace.plan.layout import Layout


def layout_decisions(layout: "Layout", considered: list[Candidate], policy: Policy) -> list[Decision]:
    """Everything about the arrays of the data drives, in the order in which a person asks."""
    return [
        _layout(layout, considered, policy),
        *_legs(layout),
        *_spares(layout, policy),
        *_chunk(layout, policy),
        _bitmap(layout, policy),
        _partition(layout),
    ]


def _layout(layout: "Layout", considered: list[Candidate], policy: Policy) -> Decision:
    best = considered[0]
    count = sum(map(len, best.legs)) + len(best.spares)
    asked = [
        f"layout.{key} = {value}"
        for key, value in policy.layout.model_dump(exclude={"chunk_kib", "bitmap_chunk_mib"}).items()
        if value is not None
    ]
    who = f"The policy ({', '.join(asked)}) allows" if asked else _allow(count)
    if len(considered) == 1:
        choice = f"{who} one layout"
    else:
        choice = f"{who} {len(considered)} layouts, of which this scores best with {best.score:g} points "
        choice += f"({_next(considered)})"
    return Decision(
        name="layout",
        value=layout.title,
        reason=f"{choice}; {layout.shape.survives}; {binary(layout.capacity)} "
        f"for data, before md and XFS take their small share. Scored are: {RULES}.",
        source=f"{sources.POLICY}: layout" if asked else f"{sources.TALK_SHAPES}; {sources.SCORE}",
        considered=[candidate.row() for candidate in considered],
    )


def _allow(count: int) -> str:
    return "One drive allows" if count == 1 else f"{count} equal drives allow"


def _next(considered: list[Candidate]) -> str:
    second = considered[1]
    spares = f" with {second.shape.spares} hot spare{'s' * (second.shape.spares > 1)}" if second.shape.spares else ""
    return f"next: {second.shape.title}{spares}, {second.score:g}"


def _legs(layout: "Layout") -> Iterator[Decision]:
    if len(layout.legs) == 1:
        return
    leg = layout.redundant
    yield Decision(
        name="legs",
        value=[array.members for array in layout.arrays if array.name.startswith("leg")],
        reason=f"{len(layout.legs)} legs of {len(leg.members)} drives each have their own md threads, stripe cache and "
        f"locks; {_nearness(layout)}.",
        source=sources.RAID5_THREADS,
    )
    yield Decision(
        name="raid0_chunk",
        value=layout.data.chunk,
        reason=f"The full stripe of a leg, {leg.data_members} x {binary(leg.chunk or 0)}: a smaller chunk would "
        "cut writes before they fill a stripe.",
        source=sources.RAID0_LIMITS,
    )


def _nearness(layout: "Layout") -> str:
    if all(map(layout.places.in_one_node, layout.legs)):
        return "the drives of each leg are on one NUMA node"
    if all(map(layout.places.in_one_socket, layout.legs)):
        return "the drives of each leg are on one socket"
    near = sum(map(layout.places.in_one_socket, layout.legs))
    return f"{near} of them have all drives on one socket, as far as the server says"


def _spares(layout: "Layout", policy: Policy) -> Iterator[Decision]:
    if not layout.spares:
        return
    decision = Decision(
        name="drives.spares",
        value={array.name: array.spares for array in layout.arrays if array.spares and array.name != "log"},
        reason=f"{len(layout.spares)} of the data drives wait as hot spares"
        + (", dealt to the legs in turn: md gives a spare to one array, not to all." if len(layout.legs) > 1 else "."),
        source=sources.MD_SPARES,
    )
    yield by_policy(decision, "layout.spares", "the best score") if policy.layout.spares else decision


def _chunk(layout: "Layout", policy: Policy) -> Iterator[Decision]:
    leg = layout.redundant
    if leg.chunk is None:
        return
    usual = chunk_size(leg.data_members)
    stripe = leg.chunk * leg.data_members
    fits = (
        "one NFS write of 1 MiB is one full stripe, written without reading first"
        if stripe == 1 << 20
        else f"the full stripe is {binary(stripe)}, so that a write of 1 MiB that comes alone reads parity first"
    )
    decision = Decision(
        name="chunk",
        value=leg.chunk,
        reason=f"1 MiB over {leg.data_members} data drives, as a power of two within 64 to 512 KiB, is "
        f"{binary(usual)}: {fits}.",
        source=sources.RAID5_LIMITS,
    )
    yield by_policy(decision, "layout.chunk_kib", f"{usual // KIB} KiB") if policy.layout.chunk_kib else decision


def _bitmap(layout: "Layout", policy: Policy) -> Decision:
    leg = layout.redundant
    decision = Decision(
        name="bitmap",
        value={"kind": leg.bitmap, "chunk": leg.bitmap_chunk},
        reason="After a power cut only what was being written is compared again; "
        + (
            "512 MiB for each bit keeps the bitmap out of the way of writes."
            if leg.bitmap_chunk
            else "members below 1 TiB keep the bitmap chunk that mdadm computes."
        ),
        source=sources.BITMAP,
    )
    wanted = policy.layout.bitmap_chunk_mib
    return by_policy(decision, "layout.bitmap_chunk_mib", "512 MiB from 1 TiB on, else mdadm's") if wanted else decision


def _partition(layout: "Layout") -> Decision:
    return Decision(
        name="partition",
        value={"data": layout.data_partition, **({"log": layout.log_partition} if layout.log_partition else {})},
        reason="Partitions end 1 % (16 MiB to 4 GiB) before the end of the smallest drive of their kind, "
        "so that a replacement which is a little smaller fits.",
        source=sources.DISK_RULES,
    )
