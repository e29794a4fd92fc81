# SPDX-License-Identifier: Apache-2.0
"""How many accelerators this server keeps busy now: measured by clients, measured on the server itself, or predicted.

3D-U-Net, the load of MLPerf Storage that reads the most; a run is not repeated here, and no figure is an MLPerf result.
"""

from typing import Literal

from millrace.storage.record.model import Pool
from millrace.system import paths, sysfs
from millrace.system.documents import Contract, Count
from millrace.system.errors import MillraceError

# those of a measured rung and of a prediction
Bottleneck = Literal["drives", "pcie", "memory", "cpu", "md", "nic", "nfsd", "network", "client", "latency"]
Basis = Literal["clients", "server", "predicted"]
BASIS: dict[Basis, str] = {
    "clients": "measured by clients",
    "server": "measured on this server",
    "predicted": "predicted, not measured yet",
}
NEWEST = 5
"""Runs of the benchmark that are read; an older one says little about the server of now."""


class FedCount(Contract):
    """So many accelerators of one type, each busy for at least `floor` (0..100) of the time."""

    accelerator: str
    count: Count
    floor: float


class Fed(Contract):
    """How many accelerators are kept busy. `bandwidth` in bytes/s is what all of them read.

    `bound_by` is the bottleneck, null where it is not known; `run` and `at` are those of the benchmark, null for a
    prediction. `degraded`: an array has fewer members than it should, which measurements of a healthy one do not show.
    """

    counts: list[FedCount]
    basis: Basis
    bandwidth: Count
    bound_by: Bottleneck | None
    run: str | None
    at: str | None
    degraded: bool


def fed(pool: Pool) -> Fed | None:
    """Return what this server feeds; None where nothing is measured and nothing can be predicted."""
    degraded = _is_degraded(pool)
    return _measured(degraded) or _predicted(pool, degraded)


def sentence(found: Fed) -> str:
    """Return it in one sentence."""
    counts = ", or ".join(f"{one.count} {one.accelerator}" for one in found.counts)
    when = f" on {found.at[:10]}" if found.at else ""
    bottleneck = f"; bottleneck: {found.bound_by}" if found.bound_by else ""
    state = ", degraded" if found.degraded else ""
    return f"{counts} with 3D-U-Net{state} ({BASIS[found.basis]}{when}{bottleneck})"


def _measured(degraded: bool) -> Fed | None:
    """The newest run of clients, else of the server itself, in the state in which the arrays are now."""
    # Here and not above: a server that has measured nothing loads nothing of it.
    from millrace.measure.bench.result import store
    from millrace.measure.bench.result.choices import BenchLayer, BenchProfile
    from millrace.measure.bench.result.model import BenchState

    on_server = imported = None
    for name in store.ids()[:NEWEST]:
        try:
            run = store.load(name)
        except MillraceError:
            # the list of runs names it
            continue
        if {"emulated", "rebuilding"} & set(run.labels) or ("degraded" in run.labels) != degraded:
            continue
        rungs = [
            rung
            for rung in run.rungs
            if rung.workload.profile is BenchProfile.UNET3D
            and rung.state is BenchState.DONE
            and rung.accelerators
            # an imported run has a number of accelerators that was chosen, and may be too large
            and all(each.enough for each in rung.accelerators)
        ]
        best = max(rungs, key=lambda rung: (rung.layer, rung.accelerators[0].bandwidth), default=None)
        if best is None or best.layer is BenchLayer.L0:
            continue
        counts = {count.accelerator: count for count in best.accelerators}
        made = Fed(
            counts=[
                FedCount(accelerator=count.accelerator, count=count.count, floor=count.floor)
                for count in counts.values()
            ],
            basis="clients" if best.layer is BenchLayer.L3 else "server",
            bandwidth=round(max(count.bandwidth for count in best.accelerators)),
            bound_by=None if best.binding == "unknown" else best.binding,
            run=run.id,
            at=run.started,
            degraded=degraded,
        )
        if "imported" in run.labels:
            # so many were chosen, and more may be fed
            imported = max(filter(None, (imported, made)), key=lambda feed: feed.bandwidth)
        elif made.basis == "clients":
            return max(filter(None, (made, imported)), key=lambda feed: feed.bandwidth)
        else:
            on_server = on_server or made
    return imported or on_server


def _predicted(pool: Pool, degraded: bool) -> Fed | None:
    """The roofline of the hardware: never more than this. None for an external device, whose drives do not show."""
    if pool.backend == "external":
        return None
    from millrace.inventory.model import Inventory
    from millrace.measure.bench.result import capacity
    from millrace.measure.bench.result.choices import BenchProfile
    from millrace.plan.predict import predict
    from millrace.storage.record.pool_file import current_arrays
    from millrace.system.documents import read_model

    try:
        outcomes = predict(read_model(paths.inventory_file(), Inventory), current_arrays(pool)).outcomes
    except MillraceError:
        return None
    state = "degraded" if degraded else "healthy"
    known = [
        (outcome.limit, outcome.bound_by)
        for outcome in outcomes
        if (outcome.direction, outcome.state) == ("read", state)
        and outcome.limit is not None
        and "nic" not in outcome.not_known()
    ]
    if not known:
        return None
    limit, bound_by = max(known, key=lambda pair: pair[0])
    return Fed(
        counts=[
            FedCount(accelerator=count.accelerator, count=count.count, floor=count.floor)
            for count in capacity.accelerators(BenchProfile.UNET3D, limit)
        ],
        basis="predicted",
        bandwidth=limit,
        bound_by=bound_by,
        run=None,
        at=None,
        degraded=degraded,
    )


def _is_degraded(pool: Pool) -> bool:
    from millrace.storage.array.devices import array_device, block

    devices = [array_device(one.array.name) for one in pool.arrays]
    return any(device is None or sysfs.number(block(device) / "md/degraded") for device in devices)
