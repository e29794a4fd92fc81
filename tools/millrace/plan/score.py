# SPDX-License-Identifier: Apache-2.0
"""Layouts compared in the open: `millrace plan --explain layout` shows every point of every candidate."""

from dataclasses import dataclass

from pydantic import JsonValue

from millrace.inventory.model import Drive
from millrace.plan.policy import LayoutPolicy
from millrace.plan.shapes import Shape
from millrace.plan.sockets import Leg, Places, split
from millrace.system.text import KIB, MIB

NFS_WRITE = MIB
# A larger chunk costs the CPU more with each MiB written, a smaller one with each MiB read (tools/perf chunks,
# chunkreads).
CHUNK = 64 * KIB
CAPACITY_POINTS = 100.0
STRIPE_POINTS = 12.0
LEG_POINTS = 3.0
NODE_POINTS, SOCKET_POINTS = 5.0, 4.0
RULES = (
    f"{CAPACITY_POINTS:g} points for the share of the drives that holds data, {STRIPE_POINTS:g} for a full stripe "
    f"that divides 1 MiB, {LEG_POINTS:g} for each leg after the first, up to {NODE_POINTS:g} for legs within one NUMA "
    f"node and {SOCKET_POINTS:g} within one socket"
)


@dataclass(frozen=True)
class Candidate:
    """A layout with its drives and its points."""

    shape: Shape
    legs: list[Leg]
    spares: list[Drive]
    chunk: int | None
    capacity: float
    stripe: float
    more_legs: float
    nodes: float

    @property
    def score(self) -> float:
        """The sum of its points."""
        return round(self.capacity + self.stripe + self.more_legs + self.nodes, 1)

    @property
    def full_stripe(self) -> int:
        """Bytes of the full stripe of a leg, 0 for a mirror."""
        return (self.chunk or 0) * self.shape.data_per_leg

    def row(self) -> dict[str, JsonValue]:
        """Return the numbers, for tables and programs; `full_stripe` in bytes."""
        return {
            "layout": self.shape.title,
            "hot_spares": self.shape.spares,
            "data_drives": self.shape.legs * self.shape.data_per_leg,
            "full_stripe": self.full_stripe,
            "capacity": self.capacity,
            "stripe": self.stripe,
            "legs": self.more_legs,
            "nodes": self.nodes,
            "score": self.score,
        }


def scored(drives: list[Drive], found: list[Shape], policy: LayoutPolicy, places: Places) -> list[Candidate]:
    """Return every layout with its points, the best first."""
    candidates = [_candidate(drives, shape, policy, places) for shape in found]
    return sorted(
        candidates, key=lambda one: (-one.score, -one.capacity, one.shape.spares, -one.shape.legs, one.shape.size)
    )


def _candidate(drives: list[Drive], shape: Shape, policy: LayoutPolicy, places: Places) -> Candidate:
    legs, spares = split(drives, shape.legs, shape.size, places)
    chunk = None
    if shape.level != "raid1":
        chunk = policy.chunk_kib * KIB if policy.chunk_kib else CHUNK
    divides = chunk is not None and NFS_WRITE % (chunk * shape.data_per_leg) == 0
    return Candidate(
        shape=shape,
        legs=legs,
        spares=spares,
        chunk=chunk,
        capacity=round(CAPACITY_POINTS * shape.legs * shape.data_per_leg / len(drives), 1),
        stripe=STRIPE_POINTS if divides else 0.0,
        more_legs=LEG_POINTS * (shape.legs - 1),
        nodes=round(sum(_nearness(leg, places) for leg in legs) / len(legs), 1),
    )


def _nearness(leg: Leg, places: Places) -> float:
    if places.in_one_node(leg):
        return NODE_POINTS
    return SOCKET_POINTS if places.in_one_socket(leg) else 0.0
