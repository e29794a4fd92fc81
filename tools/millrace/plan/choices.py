# SPDX-License-Identifier: Apache-2.0
"""The layouts that an administrator may choose among before approval, each a complete plan with its own hash. Pure."""

from collections.abc import Iterator
from typing import Literal, get_args

from millrace.inventory.model import Inventory
from millrace.plan.constants import GIGA
from millrace.plan.drives import candidates, group_drives
from millrace.plan.model import Direction, Evidence, LayerName, Plan, Proposal, Refusal
from millrace.plan.override import InapplicablePolicy
from millrace.plan.policy.model import LEVELS_OF, LayoutPolicy, Policy
from millrace.plan.propose import propose
from millrace.plan.rebuild import guaranteed, rebuild
from millrace.plan.score import Candidate, scored
from millrace.plan.shapes import NESTED, PARITY, Level, Shape, shapes
from millrace.plan.sizes import partition_size
from millrace.plan.sockets import places_of
from millrace.system.documents import Contract
from millrace.system.errors import BadInput, Refused
from millrace.system.printing import Cell, notes, table
from millrace.system.text import shown, size

WIDEST_MIRROR = 3
"""Drives of which a mirror is offered where the policy does not ask for one: of more it wastes nearly all."""


class StreamLimit(Contract):
    """What the server reaches at most beside its network, in bytes/s; None is not known. It is never a promise.

    `bound_by` is the layer that sets it, `evidence` how well the constants behind it are known.
    """

    limit: int | None
    bound_by: LayerName | None
    evidence: Evidence | None


class LayoutChoice(Contract):
    """One layout. `name` and `sha256` choose it; `capacity` in bytes before the metadata of md and XFS.

    `may_fail` drives of each of the `legs` may die at a time; `rebuild_hours` at the guaranteed rate beside clients;
    `unreadable` the chance, 0 to 1, that a rebuild meets a sector that nothing replaces. `proposed`: it is the plan of
    this server. `grows`: it can use larger drives later, in place.
    """

    name: str
    title: str
    sha256: str
    proposed: bool
    capacity: int
    legs: int
    may_fail: int
    hot_spares: int
    rebuild_hours: float | None
    unreadable: float
    read: StreamLimit
    write: StreamLimit
    score: float
    grows: bool


class LayoutChoices(Contract):
    """The document of `millrace plan --layouts`, the plan of this server first, then by score."""

    schema_version: Literal[1] = 1
    choices: list[LayoutChoice]


def choices(inventory: Inventory, policy: Policy) -> LayoutChoices:
    """Return every layout that the policy allows. Refused: no plan is possible, or the pool has no arrays."""
    current = propose(inventory, policy)
    if isinstance(current, Refusal):
        raise Refused("no plan is possible yet, so that there is no layout to choose; `millrace plan` shows why")
    if current.backend != "md":
        raise Refused("the pool lies on an external device, and has no layout to choose")
    rows = [_choice(candidate, inventory, policy, current) for candidate in _candidates(inventory, policy)]
    found = [row for row in rows if row is not None]
    return LayoutChoices(choices=sorted(found, key=lambda choice: (not choice.proposed, -choice.score, choice.name)))


def chosen(inventory: Inventory, policy: Policy, name: str | None) -> Proposal:
    """Return the plan of the layout `name`, of None the one that this server proposes.

    BadInput: there is no layout of this name; lists the names.
    """
    current = propose(inventory, policy)
    if name is None or isinstance(current, Refusal) or current.backend != "md":
        return current
    shapes_by_name = {name_of(candidate.shape): candidate.shape for candidate in _candidates(inventory, policy)}
    if name not in shapes_by_name:
        raise BadInput(f"no layout is called {shown(name)}; there are: {', '.join(shapes_by_name)}")
    return _plan(shapes_by_name[name], inventory, policy, current)


def name_of(shape: Shape) -> str:
    """Return the name by which a layout is chosen: raid6, raid50-2x9-2spares."""
    legs = f"-{shape.legs}x{shape.size}" if shape.legs > 1 else ""
    spares = f"-{shape.spares}spare{'s' * (shape.spares > 1)}" if shape.spares else ""
    return f"{shape.level}{legs}{spares}"


def _candidates(inventory: Inventory, policy: Policy) -> list[Candidate]:
    """Of each level the best layouts without and with hot spares, and with each number of legs."""
    drives = group_drives(candidates(inventory.drives, policy), policy).data
    places, best = places_of(inventory), dict[str, Candidate]()
    for level in get_args(Level):
        is_wasteful = level == "raid1" and len(drives) > WIDEST_MIRROR and policy.layout.level is None
        if is_wasteful or not _is_allowed(level, policy.layout):
            continue
        try:
            layouts = shapes(len(drives), _of_level(policy.layout, level))
        except InapplicablePolicy:
            continue
        for candidate in scored(drives, layouts, policy, places):
            best.setdefault(f"{level} {candidate.shape.legs} {candidate.shape.spares > 0}", candidate)
    return list(best.values())


def _of_level(layout: LayoutPolicy, level: Level) -> LayoutPolicy:
    return layout.model_copy(update={"level": level, "resilience": None})


def _is_allowed(level: Level, layout: LayoutPolicy) -> bool:
    if layout.level is not None:
        return level == layout.level
    if layout.resilience is not None and level not in LEVELS_OF[layout.resilience]:
        return False
    return layout.legs is None or (layout.legs > 1) == (level in NESTED.values())


def _plan(shape: Shape, inventory: Inventory, policy: Policy, current: Plan) -> Proposal:
    if _is_of(shape, current):
        return current
    legs = shape.legs if shape.level in NESTED.values() else None
    wanted = {"level": shape.level, "resilience": None, "legs": legs, "spares": shape.spares}
    return propose(inventory, policy.model_copy(update={"layout": policy.layout.model_copy(update=wanted)}))


def _is_of(shape: Shape, plan: Plan) -> bool:
    """Whether a plan has this layout."""
    data = next(array for array in plan.arrays if array.name == "data")
    legs = [array for array in plan.arrays if array.name.startswith("leg")] or [data]
    # raid50 is a raid0 over legs of raid5
    level = f"{legs[0].level}0" if data.over_arrays else data.level
    spares = sum(len(array.spares) for array in legs)
    return (level, len(legs), len(legs[0].members), spares) == (shape.level, shape.legs, shape.size, shape.spares)


def _choice(candidate: Candidate, inventory: Inventory, policy: Policy, current: Plan) -> LayoutChoice | None:
    shape = candidate.shape
    plan = _plan(shape, inventory, policy, current)
    if isinstance(plan, Refusal):
        return None
    partition = partition_size([*(drive for leg in candidate.legs for drive in leg), *candidate.spares])
    risk = rebuild(shape, partition, guaranteed(policy.md))
    may_fail = shape.size - 1 if shape.level == "raid1" else PARITY[shape.level]
    return LayoutChoice(
        name=name_of(shape),
        title=plan.title,
        sha256=plan.digest(),
        proposed=_is_of(shape, current),
        capacity=plan.capacity,
        legs=shape.legs,
        may_fail=may_fail,
        hot_spares=shape.spares,
        rebuild_hours=round(risk.hours, 1) if may_fail else None,
        unreadable=round(risk.unreadable, 4) if may_fail else 0.0,
        read=_stream(plan, "read"),
        write=_stream(plan, "write"),
        score=candidate.score,
        grows=True,
    )


def _stream(plan: Plan, direction: Direction) -> StreamLimit:
    """The lowest limit of the layers that a layout decides about: the network is the same for all of them."""
    outcomes = plan.prediction.outcomes if plan.prediction else []
    healthy = next((one for one in outcomes if one.direction == direction and one.state == "healthy"), None)
    known = [layer for layer in healthy.layers if layer.limit is not None and layer.name != "nic"] if healthy else []
    if not known:
        return StreamLimit(limit=None, bound_by=None, evidence=None)
    lowest = min(known, key=lambda layer: layer.limit or 0)
    return StreamLimit(limit=lowest.limit, bound_by=lowest.name, evidence=lowest.evidence)


TITLES = ("Layout", "Capacity", "Drives that may die", "Hot spares", "Rebuild", "Read", "Write", "From", "Hash")


def lines(compared: LayoutChoices) -> Iterator[str]:
    """Yield text for a terminal: a row for each layout, and how one is chosen."""
    yield from table(TITLES, map(_row, compared.choices), right=("Capacity", "Rebuild", "Read", "Write"))
    yield from notes(
        [
            "Rebuild: hours of one drive at the guaranteed rate beside clients. Read and write: streaming, at most, "
            "without the network; from: how the lowest limit is known.",
            "To change the layout later, the pool is destroyed and built again. Each can grow in place on larger "
            "drives; RAID50 and RAID60 with a restart.",
            "See the plan of one: millrace plan --layout NAME; choose it: millrace approve HASH",
        ],
        indent=0,
    )


def _row(choice: LayoutChoice) -> list[Cell]:
    each = f" of each of {choice.legs} legs" if choice.legs > 1 else ""
    return [
        f"{choice.name}{' (proposed)' if choice.proposed else ''}",
        size(choice.capacity),
        f"{choice.may_fail or 'none'}{each}",
        str(choice.hot_spares),
        "" if choice.rebuild_hours is None else f"{choice.rebuild_hours:.0f} h",
        _rate(choice.read),
        _rate(choice.write),
        choice.read.evidence or "not known",
        choice.sha256[:12],
    ]


def _rate(stream: StreamLimit) -> str:
    return "not known" if stream.limit is None else f"{stream.limit / GIGA:.1f} GB/s ({stream.bound_by})"
