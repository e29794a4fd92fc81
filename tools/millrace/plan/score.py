# SPDX-License-Identifier: Apache-2.0
"""Layouts compared in the open: `millrace plan --explain layout` shows every point of every candidate."""

from dataclasses import dataclass

from pydantic import JsonValue

from millrace.inventory.model import Drive
from millrace.plan.policy.model import Policy
from millrace.plan.rebuild import REPLACED, UBER, Rebuild, guaranteed, rebuild
from millrace.plan.shapes import PARITY, Shape
from millrace.plan.sockets import Leg, SocketPlaces, split
from millrace.system.text import KIB, MIB

NFS_WRITE = MIB
# A larger chunk costs the CPU more with each MiB written, a smaller one with each MiB read (tools/perf chunks,
# chunkreads).
CHUNK = 64 * KIB
CAPACITY_POINTS = 100.0
STRIPE_POINTS = 12.0
LEG_POINTS = 3.0
NODE_POINTS, SOCKET_POINTS = 5.0, 4.0
# Writes compute a second parity, small ones read and write one more drive.
SECOND_PARITY_POINTS = -3.0
# With single parity: 2 x 9 drives of 7.68 TB, which are measured, keep it; weeks without redundancy do not.
DAY_POINTS, UNREADABLE_POINTS = -6.0, -200.0
RULES = (
    f"{CAPACITY_POINTS:g} points for the share of the drives that holds data, {STRIPE_POINTS:g} for a full stripe "
    f"that divides 1 MiB, {LEG_POINTS:g} for each leg after the first, up to {NODE_POINTS:g} for legs within one NUMA "
    f"node and {SOCKET_POINTS:g} within one socket, {SECOND_PARITY_POINTS:g} for a second parity; with single parity "
    f"{DAY_POINTS:g} for each day after the first until a rebuild ends ({REPLACED:g} hours until a drive is replaced "
    f"without a hot spare in each leg) and {UNREADABLE_POINTS / 100:g} for each percent of the chance that the rebuild "
    f"meets an unreadable sector ({UBER:g} for each bit read)"
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
    rebuild: Rebuild

    @property
    def parity(self) -> float:
        """The points that it loses for its parity: what two cost, what a rebuild risks with one."""
        lost = PARITY.get(self.shape.level, 0)
        if lost != 1:
            return SECOND_PARITY_POINTS if lost else 0.0
        days = max(self.rebuild.exposed / 24 - 1, 0)
        # adding nothing makes 0 of -0
        return round(DAY_POINTS * days + UNREADABLE_POINTS * self.rebuild.unreadable, 1) + 0.0

    @property
    def score(self) -> float:
        """The sum of its points."""
        return round(self.capacity + self.stripe + self.more_legs + self.nodes + self.parity, 1)

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
            "parity": self.parity,
            "score": self.score,
        }


def scored(drives: list[Drive], found: list[Shape], policy: Policy, places: SocketPlaces) -> list[Candidate]:
    """Return every layout with its points, the best first."""
    candidates = [_candidate(drives, shape, policy, places) for shape in found]
    return sorted(
        candidates, key=lambda one: (-one.score, -one.capacity, one.shape.spares, -one.shape.legs, one.shape.size)
    )


def _candidate(drives: list[Drive], shape: Shape, policy: Policy, places: SocketPlaces) -> Candidate:
    legs, spares = split(drives, shape.legs, shape.size, places)
    chunk = None
    if shape.level != "raid1":
        chunk = policy.layout.chunk_kib * KIB if policy.layout.chunk_kib else CHUNK
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
        rebuild=rebuild(shape, min(drive.size for drive in drives), guaranteed(policy.md)),
    )


def _nearness(leg: Leg, places: SocketPlaces) -> float:
    if places.in_one_node(leg):
        return NODE_POINTS
    return SOCKET_POINTS if places.in_one_socket(leg) else 0.0
