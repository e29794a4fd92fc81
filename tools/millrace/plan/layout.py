# SPDX-License-Identifier: Apache-2.0
"""The arrays: levels, members, hot spares, chunks, bitmaps, partition sizes."""

from dataclasses import dataclass

from millrace.inventory.model import Drive
from millrace.plan.grouping import Groups
from millrace.plan.legs import Places
from millrace.plan.log import Log, plan_log
from millrace.plan.model import Array, Decision, Role
from millrace.plan.policy import Policy
from millrace.plan.reasons import layout_decisions
from millrace.plan.score import Candidate, scored
from millrace.plan.shapes import PARITY, Shape, shapes
from millrace.plan.sizes import bitmap_chunk, partition_size
from millrace.plan.spares import dealt
from millrace.system.text import MIB


@dataclass(frozen=True)
class Layout:
    """Arrays in the order in which they are made. Sizes in bytes; `legs` holds the drives of each redundant part."""

    shape: Shape
    arrays: list[Array]
    legs: list[list[Drive]]
    spares: list[Drive]
    log: Log
    places: Places
    data_partition: int

    @property
    def title(self) -> str:
        """What is built, in one line."""
        spares = f" with {self.shape.spares} hot spare{'s' * (self.shape.spares > 1)}" if self.spares else ""
        return f"{self.shape.title}{spares} for data, {self.log.title}"

    @property
    def log_partition(self) -> int:
        """Bytes of each log partition, 0 for a log inside XFS."""
        return self.log.partition

    @property
    def data(self) -> Array:
        """The array that carries the file system."""
        return next(array for array in self.arrays if array.name == "data")

    @property
    def redundant(self) -> Array:
        """A leg, or the data array itself where there is one leg."""
        return self.arrays[0]

    @property
    def parity(self) -> bool:
        """Whether writing less than a stripe means reading the rest of it."""
        return self.shape.level in PARITY

    @property
    def capacity(self) -> int:
        """What the data members hold together, before md and XFS take their share."""
        return len(self.legs) * self.redundant.data_members * self.data_partition

    @property
    def full_stripe(self) -> int:
        """Bytes of one full stripe of the data array, 0 for a mirror."""
        return (self.data.chunk or 0) * self.data.data_members


def plan_layout(groups: Groups, policy: Policy, places: Places) -> tuple[Layout, list[Decision]]:
    """Lay out the data group in the best of the layouts that the policy allows; CannotWork if it allows none."""
    considered = scored(groups.data, shapes(len(groups.data), policy.layout), policy.layout, places)
    best = considered[0]
    log, about_log = plan_log(groups, best.legs, best.chunk is not None, policy)
    partition = partition_size(groups.data) - log.partition
    layout = Layout(
        shape=best.shape,
        arrays=[*_data_arrays(best, partition, policy), *_log_arrays(log)],
        legs=best.legs,
        spares=best.spares,
        log=log,
        places=places,
        data_partition=partition,
    )
    return layout, [*layout_decisions(layout, considered, policy), about_log]


def _data_arrays(best: Candidate, partition: int, policy: Policy) -> list[Array]:
    several = best.shape.legs > 1
    spares = dealt(best.spares, len(best.legs))
    legs = [
        Array.model_validate(
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


def _over(legs: list[Array], full_stripe: int) -> Array:
    """A chunk that is not the full stripe of a leg would cut writes before they fill a stripe."""
    return Array(
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


def _log_arrays(log: Log) -> list[Array]:
    if log.mode == "internal":
        return []
    return [
        Array(
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


def _bitmap_chunk(partition: int, policy: Policy) -> int | None:
    wanted = policy.layout.bitmap_chunk_mib
    return wanted * MIB if wanted else bitmap_chunk(partition)
