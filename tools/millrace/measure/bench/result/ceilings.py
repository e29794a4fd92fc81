# SPDX-License-Identifier: Apache-2.0
"""A rung compared with the plan's prediction and the layer below, and one sentence that names the bottleneck. Pure."""

from collections.abc import Mapping, Sequence

from millrace.inventory.model import Inventory
from millrace.measure.bench.result.choices import BenchLayer, BenchProfile
from millrace.measure.bench.result.model import BenchState, Binding, Ceiling, Direction, Moment, Rung, Series
from millrace.plan.model import LayerName, MdArray, PlanOutcome, Transport
from millrace.plan.predict import predict

# What of the model a rung can be bound by: no network card on the loopback, no processor between a drive and fio.
REACH: dict[BenchLayer, tuple[LayerName, ...]] = {
    BenchLayer.L0: ("drives",),
    BenchLayer.L1: ("drives", "md"),
    BenchLayer.L2: ("drives", "md", "memory", "cpu"),
    BenchLayer.L3: ("drives", "md", "memory", "cpu", "pcie", "nic"),
}
STREAMING = ("read", "load", "train")
STREAMS = (BenchProfile.SEQ, BenchProfile.UNET3D, BenchProfile.RETINANET, BenchProfile.CHECKPOINT)

_BINDING: dict[str, Binding] = {
    "drives": "drives",
    "pcie": "pcie",
    "memory": "memory",
    "cpu": "cpu",
    "md": "md",
    "nic": "nic",
}

CLOSE = 0.85
"""From this part of a limit on, the limit is what binds."""
FULL = 0.90
QUEUED = 0.10


def with_ceilings(rungs: Sequence[Rung], inventory: Inventory, arrays: Sequence[MdArray], degraded: bool) -> list[Rung]:
    """Return all rungs with their ceilings, their bottlenecks and a sentence."""
    outcomes = predict(inventory, arrays).outcomes if arrays else []
    known = {rung.id: rung for rung in rungs if rung.state is BenchState.DONE}
    return [_placed(rung, known, outcomes, degraded) if rung.state is BenchState.DONE else rung for rung in rungs]


def _placed(rung: Rung, known: Mapping[str, Rung], outcomes: Sequence[PlanOutcome], degraded: bool) -> Rung:
    main = headline(rung)
    if main is None:
        return rung
    predicted, layer = _predicted(rung, main, outcomes, degraded)
    below = _below(rung, known)
    lower = below.find(main.quantity, main.direction) if below else None
    ceiling = Ceiling(
        predicted=predicted,
        predicted_by=layer,
        of_predicted=main.median / predicted if predicted else None,
        below=below.id if below and lower else None,
        below_measured=lower.median if lower else None,
        of_below=main.median / lower.median if lower and lower.median else None,
    )
    binding = bound(rung, ceiling)
    return rung.model_copy(
        update={"ceiling": ceiling, "binding": binding, "diagnosis": sentence(rung, ceiling, binding)}
    )


def headline(rung: Rung) -> Series | None:
    """Return the figure that a rung is judged by."""
    if rung.workload.profile in (*STREAMS, BenchProfile.KVCACHE):
        return rung.find("bandwidth")
    if rung.workload.profile is BenchProfile.FSYNC:
        return rung.find("operations", "commit")
    return rung.find("operations")


def _predicted(
    rung: Rung, main: Series, outcomes: Sequence[PlanOutcome], degraded: bool
) -> tuple[float | None, LayerName | None]:
    """The lowest known limit that can bind this rung. Only streams of large blocks: the model knows no others."""
    one_drive = rung.layer is BenchLayer.L0 and rung.target != "drives"
    if rung.workload.profile not in STREAMS or one_drive:
        return None, None
    known: tuple[Transport, ...] = ("rdma", "smb")
    transport: Transport = next((name for name in known if name in rung.target), "tcp")
    state = "degraded" if degraded else "healthy"
    by_transport = {
        outcome.transport: outcome
        for outcome in outcomes
        if (outcome.direction, outcome.state) == (main.direction, state)
    }
    # without RDMA hardware the model has no figures for it; nothing of the network is measured on the loopback
    outcome = by_transport.get(transport) or (by_transport.get("tcp") if rung.layer is not BenchLayer.L3 else None)
    layers = outcome.layers if outcome else []
    limits = [(layer.limit, layer.name) for layer in layers if layer.limit and layer.name in REACH[rung.layer]]
    return min(limits, default=(None, None))


def _below(rung: Rung, known: Mapping[str, Rung]) -> Rung | None:
    """The same work one layer down; a stream of files stands beside the stream of the array."""
    work = f"{rung.workload.profile}/{rung.workload.operation}"
    chains: dict[BenchLayer, list[str]] = {
        BenchLayer.L0: [],
        BenchLayer.L1: ["L0/drives"] if rung.target == "array" else ["L1/array", "L0/drives"],
        BenchLayer.L2: ["L1/xfs"],
        BenchLayer.L3: [f"L2/{rung.target}", "L1/xfs"],
    }
    names = [f"{where}/{work}" for where in chains[rung.layer]]
    if rung.layer is BenchLayer.L1 and rung.workload.profile in STREAMS and rung.workload.operation in STREAMING:
        names += [f"{where}/seq/read" for where in chains[rung.layer]]
    return next((known[name] for name in names if name in known), None)


def bound(rung: Rung, ceiling: Ceiling) -> Binding:
    """Return the bottleneck that was observed; `unknown` where nothing was at its limit."""
    now = rung.median or Moment(at=0)
    if rung.layer is not BenchLayer.L0 and "cached" not in rung.flags and _at(ceiling.of_below, CLOSE):
        return "drives" if (ceiling.below or "").startswith("L0") else _inherited(rung)
    if _at(ceiling.of_predicted, FULL) and ceiling.predicted_by:
        return _BINDING[ceiling.predicted_by]
    if _at(now.cpu, FULL):
        return "cpu"
    if rung.layer is BenchLayer.L0:
        return "drives"
    if _at(now.nfsd_queued, QUEUED) and rung.target.startswith("nfs"):
        return "nfsd"
    if rung.workload.depth == 1 and rung.jobs == 1:
        return "latency"
    if _at(now.busiest, FULL):
        return "md" if rung.layer is BenchLayer.L1 and writes(rung) else "cpu"
    # this server to itself did more
    if rung.layer is BenchLayer.L3 and (ceiling.below or "").startswith("L2") and not _at(ceiling.of_below, CLOSE):
        return "client"
    return "unknown"


def _inherited(rung: Rung) -> Binding:
    return "md" if writes(rung) else "drives"


def writes(rung: Rung) -> bool:
    """Whether the main figure of the rung is of writing, which makes parity."""
    main = headline(rung)
    directions: tuple[Direction, ...] = ("write", "commit", "create", "delete")
    return main is not None and main.direction in directions


def sentence(rung: Rung, ceiling: Ceiling, binding: Binding) -> str:
    """Return one sentence: how much of its ceiling, the bottleneck, and what was observed."""
    return f"{_reached(ceiling)}; {_reason(rung, ceiling, binding)}{_caveat(rung)}."


def _reached(ceiling: Ceiling) -> str:
    parts = []
    if ceiling.of_below is not None:
        parts.append(f"{ceiling.of_below:.0%} of {ceiling.below}")
    if ceiling.of_predicted is not None:
        parts.append(f"{ceiling.of_predicted:.0%} of the predicted limit of the {ceiling.predicted_by}")
    return "Reached " + " and ".join(parts) if parts else "Nothing below it was measured, and no limit is known"


def _reason(rung: Rung, ceiling: Ceiling, binding: Binding) -> str:
    now = rung.median or Moment(at=0)
    reasons: dict[Binding, str] = {
        "drives": "bottleneck: drives",
        "pcie": "bottleneck: PCIe links",
        "memory": "bottleneck: memory",
        "md": "bottleneck: md parity threads",
        "nic": "bottleneck: network ports",
        "network": "bottleneck: network",
        "client": "bottleneck: clients or their network; no resource of this server was at its limit",
        "cpu": _cpus(now),
        "nfsd": f"{now.nfsd_queued or 0:.0%} of the requests waited for an nfsd thread; more threads may help",
        "latency": f"one request at a time: {_latency(rung)} each is what binds",
        "unknown": "no resource was at its limit",
    }
    seen = "" if binding in ("cpu", "nfsd") else _seen(now)
    return reasons[binding] + seen


def _cpus(now: Moment) -> str:
    if _at(now.cpu, FULL):
        return f"bottleneck: CPUs ({now.cpu or 0:.0%} busy, {now.interrupts or 0:.0%} of it in interrupts)"
    return f"one CPU is full ({now.busiest or 0:.0%}) while all CPUs together are {now.cpu or 0:.0%} busy"


def _seen(now: Moment) -> str:
    parts = []
    if now.cpu is not None:
        parts.append(f"CPUs {now.cpu:.0%} busy")
    if now.drives_busy is not None:
        parts.append(f"the busiest drive {now.drives_busy:.0%}")
    if now.rpc_queue is not None and now.rpc_queue >= 0.001:
        parts.append(f"requests waited {now.rpc_queue * 1000:.0f} ms before they were sent")
    return f" ({', '.join(parts)})" if parts else ""


def _latency(rung: Rung) -> str:
    found = next((one for one in reversed(rung.latencies)), None)
    return f"{found.p50 * 1e6:.0f} microseconds" if found else "the time of a request"


def _caveat(rung: Rung) -> str:
    words = {
        "cached": "mostly read from the server's page cache, not from the drives",
        "not-repeatable": "the repeats differ by more than 5 %",
        "short-reads": "some reads were short",
        "scaled": rung.workload.equivalent or "scaled down",
    }
    found = [words[flag] for flag in rung.flags]
    return f"; {'; '.join(found)}" if found else ""


def _at(value: float | None, limit: float) -> bool:
    return value is not None and value >= limit
