# SPDX-License-Identifier: Apache-2.0
"""Runs as text."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

import click

from millrace.measure.bench.report.compare import Comparison
from millrace.measure.bench.report.knee import knees
from millrace.measure.bench.result.client import BenchClients
from millrace.measure.bench.result.model import Accelerators, BenchRun, BenchState, Quantity, Rung
from millrace.measure.bench.result.outputs import BenchEstimate, BenchProgress, BenchRunList
from millrace.system.command import command
from millrace.system.printing import Cell, table
from millrace.system.text import size

MEASURED = ("Rung", "Median", "Range", "p99", "Of predicted", "Of below", "Flags")
COMPARED = ("Rung", "Figure", "Ratio", "95 % interval", "Repeats", "Verdict")
EMULATED = "Emulated server: only ratios are meaningful, so no bandwidth is shown."


def estimate(forecast: BenchEstimate) -> list[str]:
    """Return the expected duration and size of a run, and what it skips."""
    rungs = [rung for rung in forecast.rungs if rung.skipped is None]
    skipped = dict.fromkeys(f"{rung.target}: {rung.skipped}" for rung in forecast.rungs if rung.skipped)
    each = f"{forecast.repeats} repeats of {forecast.repeat_seconds:g} s"
    return [
        f"{len(rungs)} workloads, {each}: about {_clock(forecast.seconds)}.",
        f"Holds up to {size(forecast.space)} in the pool, writes about {size(forecast.written)}.",
        *(f"Skipped: {line}." for line in skipped),
        *(f"Obstacle: {line}" for line in forecast.obstacles),
    ]


def runs(found: BenchRunList) -> Iterator[str]:
    """Yield the table of runs."""
    rows = [
        (one.id, one.state, one.mode, " ".join(one.layers), f"{one.done} of {one.rungs}", ", ".join(one.labels))
        for one in found.runs
    ]
    yield from table(("Run", "State", "Mode", "Layers", "Workloads", "Labels"), rows)
    if not found.runs:
        yield "No runs yet: start one with `millrace bench run --quick`."
    yield from (f"{name} cannot be read." for name in found.broken)


def run(record: BenchRun) -> Iterator[str]:
    """Yield one run: a table of rungs, then the bottleneck of each."""
    emulated = "emulated" in record.labels
    labels = f" ({', '.join(record.labels)})" if record.labels else ""
    yield f"{record.id}: {record.state}{labels}" + (f": {record.reason}" if record.reason else "")
    if emulated:
        yield EMULATED
    yield ""
    rows = [_row(rung, emulated) for rung in record.rungs if rung.state is not BenchState.SKIPPED]
    yield from table(MEASURED, rows, right=MEASURED[1:-1], indent=2)
    yield ""
    yield from (f"{rung.id}: {rung.diagnosis}" for rung in record.rungs if rung.diagnosis)
    yield from [] if emulated else accelerators(record)
    yield from knees(record)
    reasons = dict.fromkeys(rung.reason for rung in record.rungs if rung.reason)
    yield from (f"Not measured: {reason}" for reason in reasons)
    yield record.provenance.statement


def accelerators(record: BenchRun) -> list[str]:
    """Return how many accelerators each rung keeps busy, measured or by the formula, and how long checkpoints take."""
    lines = []
    for rung in record.rungs:
        took = rung.checkpoint
        for word, seconds in (("saves", took.save_seconds), ("loads", took.load_seconds)) if took else ():
            if took and seconds is not None:
                lines.append(f"{rung.id} {word} {took.model} ({size(took.size)}) in {seconds:.1f} s")
        parts = [
            f"{accelerator.count} {_name(accelerator)} {_utilised(accelerator.au)}"
            for accelerator in rung.accelerators
            if accelerator.enough
        ]
        for accelerator in rung.accelerators:
            if not accelerator.enough:
                lines.append(
                    f"{rung.id} does not keep {accelerator.count} {_name(accelerator)} busy "
                    f"(at least {accelerator.floor:g} %) {_utilised(accelerator.au)}"
                )
        if parts:
            lines.append(f"{rung.id} keeps busy (at least {rung.accelerators[0].floor:g} %): {', '.join(parts)}")
    return lines


def clients(found: BenchClients) -> Iterator[str]:
    """Yield the table of clients."""
    rows = [
        (one.name, one.address, one.facts.fio, one.facts.cpus, "yes" if one.facts.rdma else "no")
        for one in found.clients
    ]
    yield from table(("Client", "Address", "fio", "Processors", "RDMA"), rows, right=("Processors",))
    if not found.clients:
        yield "No clients yet: add one with `millrace bench clients add HOST`."


def rate(quantity: Quantity, value: float) -> str:
    """Return a figure with its unit; `value` in bytes/s or operations/s."""
    return f"{size(round(value))}/s" if quantity == "bandwidth" else f"{value:,.0f}/s"


def _name(one: Accelerators) -> str:
    return f"{one.accelerator} (retired type, to compare)" if one.retired else one.accelerator


def _utilised(au: float | None) -> str:
    return "by the formula" if au is None else f"at {au:.1f} % utilisation"


def comparison(found: Comparison) -> Iterator[str]:
    """Yield what changed from the first run to the second."""
    rows: list[list[Cell]] = []
    for one in found.changes:
        span = f"{one.low:.2f} to {one.high:.2f}"
        rows.append([one.rung, f"{one.quantity} {one.direction}", f"{one.ratio:.2f}", span, one.repeats, one.verdict])
    yield from table(COMPARED, rows, right=("Ratio", "95 % interval", "Repeats"))
    yield from found.labels
    yield from (f"{name} is not comparable" for name in found.incomparable)


def bar(lines: Iterable[BenchProgress]) -> BenchProgress | None:
    """Show a bar on the terminal until the run ends; return the last line of its progress."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[step]}", markup=False),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("starting", total=1.0, step="")
        last = None
        for last in lines:
            step = f"{last.step}/{last.steps}"
            shown.update(task, description=last.what, completed=last.progress, step=step)
    if last is not None:
        click.echo(f"{last.run}: {last.state}; `{command('millrace bench show', last.run)}`", err=True)
    return last


def _row(rung: Rung, emulated: bool) -> list[str]:
    series = rung.find("bandwidth") if rung.workload.block and rung.workload.block > 1 << 16 else None
    series = series or rung.find("operations") or rung.find("bandwidth")
    if series is None:
        return [rung.id, rung.state, "", "", "", "", ""]
    median, low, high = (rate(series.quantity, value) for value in (series.median, series.low, series.high))
    span = f"{low} to {high}"
    worst = max((latency.p99 for latency in rung.latencies), default=None)
    return [
        rung.id,
        "" if emulated else median,
        f"±{series.spread:.0%}" if emulated else span,
        "" if emulated or worst is None else _seconds(worst),
        _part(rung.ceiling.of_predicted),
        _part(rung.ceiling.of_below),
        ", ".join(rung.flags),
    ]


def _seconds(value: float) -> str:
    return f"{value * 1e6:,.0f} µs" if value < 1e-3 else f"{value * 1e3:,.2f} ms"


def _part(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
