# SPDX-License-Identifier: Apache-2.0
"""The arrays: levels, members, chunks, bitmaps, partition sizes."""

from dataclasses import dataclass
from typing import Literal

from millrace.inventory.model import Drive
from millrace.plan import sources
from millrace.plan.grouping import Groups
from millrace.plan.model import Array, Decision, Role
from millrace.plan.units import KIB, MIB, TIB, clamp, down_to_power_of_two, words

# Data and log drives of the shapes that this release plans.
RAID6_SHAPE = (10, 2)
RAID50_SHAPE = (18, 2)
SHAPES = {RAID6_SHAPE: "RAID6 of 10 drives", RAID50_SHAPE: "RAID50 of 2 x 9 drives"}
NFS_WRITE = MIB
LEGS = 2
PARTITION_START = MIB
SMALLEST_SLACK, LARGEST_SLACK = 16 * MIB, 4096 * MIB
LARGE_MEMBER = TIB
BITMAP_CHUNK = 512 * MIB


@dataclass(frozen=True)
class Layout:
    """Arrays in the order in which they are made. Sizes in bytes; `legs` holds the drives of each redundant part."""

    title: str
    arrays: list[Array]
    legs: list[list[Drive]]
    data_partition: int
    log_partition: int

    @property
    def data(self) -> Array:
        """The array that carries the file system."""
        return next(array for array in self.arrays if array.name == "data")

    @property
    def redundant(self) -> Array:
        """A leg, or the data array itself where there is one leg."""
        return self.arrays[0]

    @property
    def capacity(self) -> int:
        """What the data members hold together, before md and XFS take their share."""
        return len(self.legs) * self.redundant.data_members * self.data_partition

    @property
    def full_stripe(self) -> int:
        """Bytes of one full stripe of the data array."""
        return (self.data.chunk or 0) * self.data.data_members


def plan_layout(groups: Groups) -> tuple[Layout, list[Decision]]:
    """Lay out drives whose numbers are one of SHAPES."""
    shape = (len(groups.data), len(groups.log))
    legs = [groups.data] if shape == RAID6_SHAPE else split_by_node(groups.data, LEGS)
    data_partition, log_partition = partition_size(groups.data), partition_size(groups.log)
    arrays = _raid6(legs[0], data_partition) if shape == RAID6_SHAPE else _raid50(legs, data_partition)
    log = _mirror(groups.log, log_partition)
    layout = Layout(
        title=f"{SHAPES[shape]} for data, RAID1 of 2 drives for the file system log",
        arrays=[*arrays, log],
        legs=legs,
        data_partition=data_partition,
        log_partition=log_partition,
    )
    return layout, _decisions(layout, groups)


def split_by_node(drives: list[Drive], legs: int) -> list[list[Drive]]:
    """Equal legs with the drives of one NUMA node together as far as the numbers allow."""
    near = sorted(drives, key=lambda drive: (-1 if drive.numa_node is None else drive.numa_node, drive.serial))
    length = len(near) // legs
    return [sorted(near[i * length : (i + 1) * length], key=lambda drive: drive.serial) for i in range(legs)]


def partition_size(drives: list[Drive]) -> int:
    """1 % short of the smallest drive, at least 16 MiB and at most 4 GiB, so that a smaller replacement fits."""
    smallest = min(drive.size for drive in drives)
    slack = clamp(smallest // 100, SMALLEST_SLACK, LARGEST_SLACK)
    return (smallest - slack) // MIB * MIB


def chunk_size(data_members: int) -> int:
    """One NFS write of 1 MiB is one full stripe, as far as the chunk stays sensible."""
    return clamp(down_to_power_of_two(NFS_WRITE // data_members), 64 * KIB, 512 * KIB)


def bitmap_chunk(partition: int) -> int | None:
    """Bytes of an array that one bit stands for; None leaves it to mdadm, which is right for small members."""
    return BITMAP_CHUNK if partition >= LARGE_MEMBER else None


def _parity(name: str, level: Literal["raid5", "raid6"], drives: list[Drive], parity: int, partition: int) -> Array:
    data_members = len(drives) - parity
    return Array(
        name=name,
        level=level,
        members=[drive.serial for drive in drives],
        over_arrays=False,
        role=Role.DATA,
        chunk=chunk_size(data_members),
        data_members=data_members,
        bitmap="internal",
        bitmap_chunk=bitmap_chunk(partition),
    )


def _raid6(drives: list[Drive], partition: int) -> list[Array]:
    return [_parity("data", "raid6", drives, 2, partition)]


def _raid50(legs: list[list[Drive]], partition: int) -> list[Array]:
    arrays = [_parity(f"leg{number}", "raid5", drives, 1, partition) for number, drives in enumerate(legs)]
    leg = arrays[0]
    top = Array(
        name="data",
        level="raid0",
        members=[array.name for array in arrays],
        over_arrays=True,
        role=Role.DATA,
        chunk=(leg.chunk or 0) * leg.data_members,
        data_members=len(arrays),
        bitmap="none",
        bitmap_chunk=None,
    )
    return [*arrays, top]


def _mirror(drives: list[Drive], partition: int) -> Array:
    return Array(
        name="log",
        level="raid1",
        members=[drive.serial for drive in drives],
        over_arrays=False,
        role=Role.LOG,
        chunk=None,
        data_members=1,
        bitmap="internal",
        bitmap_chunk=bitmap_chunk(partition),
    )


def _decisions(layout: Layout, groups: Groups) -> list[Decision]:
    leg, data = layout.redundant, layout.data
    members = len(leg.members)
    decisions = [
        Decision(
            name="layout",
            value=layout.title,
            reason=f"{len(groups.data)} equal drives and {len(groups.log)} clearly smaller ones are a shape that was "
            f"measured; {_survives(leg, len(layout.legs))}.",
            source=sources.TALK_SHAPES,
        ),
        Decision(
            name="partition",
            value={"data": layout.data_partition, "log": layout.log_partition},
            reason="Each partition ends 1 % (16 MiB to 4 GiB) before the end of the smallest drive of its role, "
            "so that a replacement which is a little smaller fits.",
            source=sources.DISK_RULES,
        ),
        Decision(
            name="chunk",
            value=leg.chunk,
            reason=f"1 MiB over {leg.data_members} data drives is {words(leg.chunk or 0)}: one NFS write of 1 MiB is "
            "one full stripe, written without reading first.",
            source=sources.RAID5_LIMITS,
        ),
        Decision(
            name="bitmap",
            value={"kind": leg.bitmap, "chunk": leg.bitmap_chunk},
            reason="After a power cut only what was being written is compared again; "
            + (
                "512 MiB for each bit keeps the bitmap out of the way of writes."
                if leg.bitmap_chunk
                else "members below 1 TiB keep the bitmap chunk that mdadm computes."
            ),
            source=sources.BITMAP,
        ),
    ]
    if data.over_arrays:
        decisions.append(
            Decision(
                name="legs",
                value=[array.members for array in layout.arrays if array.level == "raid5"],
                reason=f"{len(layout.legs)} legs of {members} drives each have their own md threads, stripe cache and "
                f"locks; {_nodes_in_words(layout.legs)}.",
                source=sources.RAID5_THREADS,
            )
        )
        decisions.append(
            Decision(
                name="raid0_chunk",
                value=data.chunk,
                reason=f"The full stripe of a leg, {leg.data_members} x {words(leg.chunk or 0)}: a smaller chunk would "
                "cut writes before they fill a stripe.",
                source=sources.RAID0_LIMITS,
            )
        )
    return decisions


def _survives(leg: Array, legs: int) -> str:
    failures = "two drives" if leg.level == "raid6" else "one drive"
    return f"any {failures} may fail" if legs == 1 else f"{failures} of each of the {legs} legs may fail"


def _nodes_in_words(legs: list[list[Drive]]) -> str:
    nodes = [{drive.numa_node for drive in leg} for leg in legs]
    if all(None not in leg for leg in nodes) and all(len(leg) == 1 for leg in nodes):
        return "the drives of each leg are on one NUMA node"
    return "the NUMA nodes of the drives do not divide into these legs, so a leg spans nodes"
