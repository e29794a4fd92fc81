# SPDX-License-Identifier: Apache-2.0
"""The layout of the pool: which drives make which arrays, the choice among candidates, and its risks."""

from collections.abc import Iterator
from dataclasses import dataclass

from millrace.inventory.model import Drive
from millrace.plan import sources
from millrace.plan.arrays import bitmap_decision, chunk_decision, data_arrays, log_arrays, raid0_chunk_decision
from millrace.plan.drives import Groups
from millrace.plan.log import Log, plan_log
from millrace.plan.model import Decision, MdArray
from millrace.plan.override import by_policy
from millrace.plan.policy.model import Policy
from millrace.plan.rebuild import Rebuild, guaranteed, rebuild
from millrace.plan.score import RULES, Candidate, scored
from millrace.plan.shapes import FEWEST_FOR_LEGS, PARITY, SMALLEST_LEG, Shape, shapes
from millrace.plan.sizes import partition_size
from millrace.plan.sockets import SocketPlaces
from millrace.system.text import size

LONG = 4 * 24.0
"""Hours without redundancy of which a plan warns whatever the number of drives."""


@dataclass(frozen=True)
class Layout:
    """Arrays in the order in which they are created. Sizes in bytes; `legs` holds the drives of each redundant part."""

    shape: Shape
    arrays: list[MdArray]
    legs: list[list[Drive]]
    spares: list[Drive]
    log: Log
    places: SocketPlaces
    data_partition: int
    rebuild: Rebuild

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
    def data(self) -> MdArray:
        """The array that carries the file system."""
        return next(array for array in self.arrays if array.name == "data")

    @property
    def redundant(self) -> MdArray:
        """A leg, or the data array itself where there is one leg."""
        return self.arrays[0]

    @property
    def parity(self) -> bool:
        """Whether writing less than a stripe means reading the rest of it."""
        return self.shape.level in PARITY

    @property
    def capacity(self) -> int:
        """Bytes of all data members together, without what md and XFS need."""
        return len(self.legs) * self.redundant.data_members * self.data_partition

    @property
    def full_stripe(self) -> int:
        """Bytes of one full stripe of the data array, 0 for a mirror."""
        return (self.data.chunk or 0) * self.data.data_members


def plan_layout(groups: Groups, policy: Policy, places: SocketPlaces) -> tuple[Layout, list[Decision]]:
    """Return the best layout of the data group that the policy allows. InapplicablePolicy: it allows none."""
    considered = scored(groups.data, shapes(len(groups.data), policy.layout), policy, places)
    best = considered[0]
    log, about_log = plan_log(groups, best.legs, best.chunk is not None, policy)
    partition = partition_size(groups.data) - log.partition
    layout = Layout(
        shape=best.shape,
        arrays=[*data_arrays(best, partition, policy), *log_arrays(log)],
        legs=best.legs,
        spares=best.spares,
        log=log,
        places=places,
        data_partition=partition,
        rebuild=rebuild(best.shape, partition, guaranteed(policy.md)),
    )
    return layout, [*_decisions(layout, considered, policy), about_log]


def layout_warnings(layout: Layout) -> list[str]:
    """Return what an administrator should know about the arrays before approving."""
    return [*_redundancy(layout), *_spans(layout)]


def _decisions(layout: Layout, considered: list[Candidate], policy: Policy) -> list[Decision]:
    """Everything about the arrays of the data drives, in the order in which an administrator asks."""
    return [
        _layout(layout, considered, policy),
        *_legs(layout),
        *_spares(layout, policy),
        *chunk_decision(layout.redundant, policy),
        bitmap_decision(layout.redundant, policy),
        _partition(layout),
    ]


def _layout(layout: Layout, considered: list[Candidate], policy: Policy) -> Decision:
    best = considered[0]
    count = sum(map(len, best.legs)) + len(best.spares)
    asked = [
        f"layout.{key} = {value}"
        for key, value in policy.layout.model_dump(exclude={"backend", "chunk_kib", "bitmap_chunk_mib"}).items()
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
        reason=f"{choice}; {layout.shape.survives}{_rebuilt(layout)}; usable capacity {size(layout.capacity)} "
        f"before the metadata of md and XFS. Scores: {RULES}.",
        source=f"{sources.POLICY}: layout"
        if asked
        else f"{sources.TALK_SHAPES}; {sources.SCORE}; {sources.UNREADABLE}",
        considered=[candidate.row() for candidate in considered],
    )


def _rebuilt(layout: Layout) -> str:
    if len(layout.redundant.members) == 1:
        return ""
    found = layout.rebuild
    chance = f", and meets an unreadable sector with a chance of {_percent(found.unreadable)}" * bool(found.unreadable)
    return f"; a rebuild takes {_duration(found.hours)} at the guaranteed {_rate(layout)}{chance}"


def _rate(layout: Layout) -> str:
    return f"{layout.data_partition / layout.rebuild.hours / 3600 / 10**6:.0f} MB/s"


def _allow(count: int) -> str:
    return "One drive allows" if count == 1 else f"{count} equal drives allow"


def _next(considered: list[Candidate]) -> str:
    second = considered[1]
    spares = f" with {second.shape.spares} hot spare{'s' * (second.shape.spares > 1)}" if second.shape.spares else ""
    return f"next: {second.shape.title}{spares}, {second.score:g}"


def _legs(layout: Layout) -> Iterator[Decision]:
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
    yield raid0_chunk_decision(layout.data, leg)


def _nearness(layout: Layout) -> str:
    if all(map(layout.places.in_one_node, layout.legs)):
        return "the drives of each leg are on one NUMA node"
    if all(map(layout.places.in_one_socket, layout.legs)):
        return "the drives of each leg are on one socket"
    near = sum(map(layout.places.in_one_socket, layout.legs))
    return f"{near} of them with all drives on one socket, as far as known"


def _spares(layout: Layout, policy: Policy) -> Iterator[Decision]:
    if not layout.spares:
        return
    count = len(layout.spares)
    decision = Decision(
        name="drives.spares",
        value={array.name: array.spares for array in layout.arrays if array.spares and array.name != "log"},
        reason=f"{count} of the data drives {'are hot spares' if count > 1 else 'is a hot spare'}"
        + (", distributed over the legs in turn: an md spare belongs to one array." if len(layout.legs) > 1 else "."),
        source=sources.MD_SPARES,
    )
    yield by_policy(decision, "layout.spares", "the best score") if policy.layout.spares else decision


def _partition(layout: Layout) -> Decision:
    return Decision(
        name="partition",
        value={"data": layout.data_partition, **({"log": layout.log_partition} if layout.log_partition else {})},
        reason="Partitions end 1 % (16 MiB to 4 GiB) before the end of the smallest drive of their kind, "
        "so that a slightly smaller replacement fits.",
        source=sources.DISK_RULES,
    )


def _redundancy(layout: Layout) -> Iterator[str]:
    if len(layout.redundant.members) == 1:
        yield "There is one data drive: if it fails, all data is lost. Add a second drive of its size for a mirror."
    drives = sum(map(len, layout.legs)) + len(layout.spares)
    single = PARITY.get(layout.shape.level) == 1
    if single and (drives >= FEWEST_FOR_LEGS or layout.rebuild.exposed > LONG):
        several = len(layout.legs) > 1
        yield (
            f"{layout.shape.title} has single parity: after a drive failure, a second one"
            f"{' in the same leg' if several else ''} loses all data until the rebuild ends, which takes "
            f"{_duration(layout.rebuild.hours)} at the guaranteed {_rate(layout)}, and meets an unreadable "
            f"sector with a chance of {_percent(layout.rebuild.unreadable)}. "
            + (
                f'layout.resilience = "double" in the policy gives {"each leg" if several else "it"} a second parity '
                "drive."
                if len(layout.redundant.members) >= SMALLEST_LEG["raid6"] or several
                else "With a fourth drive it gets a second parity drive."
            )
        )


def _spans(layout: Layout) -> Iterator[str]:
    if len(layout.legs) == 1:
        return
    for number, leg in enumerate(layout.legs):
        far = layout.places.on_other_sockets(leg)
        if far:
            names = ", ".join(drive.serial for drive in far)
            yield (
                f"leg{number} spans sockets: {len(far)} of its {len(leg)} drives ({names}) "
                f"{'are' if len(far) > 1 else 'is'} on another socket than the rest, and "
                f"{100 * len(far) // len(leg)} % of its traffic crosses between sockets. "
                "Use slots on the socket of the rest."
            )


def _duration(hours: float) -> str:
    return f"{hours:.0f} hours" if hours >= 1.5 else "an hour" if hours > 0.5 else "less than an hour"


def _percent(chance: float) -> str:
    return f"{100 * chance:.1f} %" if chance >= 0.001 else "less than 0.1 %"
