# SPDX-License-Identifier: Apache-2.0
"""Runs as text."""

from collections.abc import Iterable
from datetime import timedelta

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from millrace.measure.bench.report.compare import Comparison
from millrace.measure.bench.report.knee import knees
from millrace.measure.bench.result.client import BenchClients
from millrace.measure.bench.result.model import Accelerators, Quantity, Run, Rung, State
from millrace.measure.bench.result.outputs import Estimate, Progress, RunList
from millrace.system.text import size

WIDTH = 120
EMULATED = "Emulated server: only ratios are meaningful, so no bandwidth is shown."


def estimate(found: Estimate) -> list[str]:
    """Return the expected duration and size of a run, and what it skips."""
    rungs = [rung for rung in found.rungs if rung.skipped is None]
    skipped = dict.fromkeys(f"{rung.target}: {rung.skipped}" for rung in found.rungs if rung.skipped)
    each = f"{found.repeats} repeats of {found.repeat_seconds:g} s"
    return [
        f"{len(rungs)} workloads, {each}: about {_clock(found.seconds)}.",
        f"Holds up to {size(found.space)} in the pool, writes about {size(found.written)}.",
        *(f"Skipped: {line}." for line in skipped),
        *(f"Obstacle: {line}" for line in found.obstacles),
    ]


def runs(found: RunList) -> None:
    """Print the table of runs."""
    table = Table(box=SIMPLE_HEAD)
    for column in ("run", "state", "mode", "layers", "workloads", "labels"):
        table.add_column(column)
    for one in found.runs:
        done = f"{one.done} of {one.rungs}"
        table.add_row(one.id, one.state, one.mode, " ".join(one.layers), done, ", ".join(one.labels))
    console = Console(width=WIDTH, highlight=False)
    console.print(table if found.runs else "No runs yet: start one with `millrace bench run --quick`.")
    for name in found.broken:
        console.print(f"{name} cannot be read.")


def run(found: Run) -> None:
    """Print one run: a table of rungs, then the bottleneck of each."""
    emulated = "emulated" in found.labels
    console = Console(width=WIDTH, highlight=False)
    labels = f" ({', '.join(found.labels)})" if found.labels else ""
    console.print(f"{found.id}: {found.state}{labels}" + (f": {found.reason}" if found.reason else ""))
    if emulated:
        console.print(EMULATED)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("rung", no_wrap=True)
    for column in ("median", "range", "p99", "of predicted", "of below", ""):
        table.add_column(column)
    for rung in found.rungs:
        if rung.state is not State.SKIPPED:
            table.add_row(*_row(rung, emulated))
    console.print(table)
    for rung in found.rungs:
        if rung.diagnosis:
            console.print(f"{rung.id}: {rung.diagnosis}")
    for line in [] if emulated else accelerators(found):
        console.print(line)
    for line in knees(found):
        console.print(line)
    for reason in dict.fromkeys(rung.reason for rung in found.rungs if rung.reason):
        console.print(f"Not measured: {reason}")
    console.print(found.provenance.statement)


def accelerators(found: Run) -> list[str]:
    """Return how many accelerators each rung keeps busy, measured or by the formula, and how long checkpoints take."""
    lines = []
    for rung in found.rungs:
        took = rung.checkpoint
        for word, seconds in (("saves", took.save_seconds), ("loads", took.load_seconds)) if took else ():
            if took and seconds is not None:
                lines.append(f"{rung.id} {word} {took.model} ({size(took.size)}) in {seconds:.1f} s")
        parts = [f"{one.count} {_name(one)} {_utilised(one.au)}" for one in rung.accelerators if one.enough]
        for one in rung.accelerators:
            if not one.enough:
                lines.append(
                    f"{rung.id} does not keep {one.count} {_name(one)} busy (at least {one.floor:g} %) "
                    f"{_utilised(one.au)}"
                )
        if parts:
            lines.append(f"{rung.id} keeps busy (at least {rung.accelerators[0].floor:g} %): {', '.join(parts)}")
    return lines


def clients(found: BenchClients) -> None:
    """Print the table of clients."""
    table = Table(box=SIMPLE_HEAD)
    for column in ("client", "address", "fio", "processors", "RDMA"):
        table.add_column(column)
    for one in found.clients:
        facts = one.facts
        table.add_row(one.name, one.address, facts.fio, str(facts.cpus), "yes" if facts.rdma else "no")
    console = Console(width=WIDTH, highlight=False)
    console.print(table if found.clients else "No clients yet: add one with `millrace bench clients add HOST`.")


def rate(quantity: Quantity, value: float) -> str:
    """Return a figure with its unit; `value` in bytes/s or operations/s."""
    return f"{size(round(value))}/s" if quantity == "bandwidth" else f"{value:,.0f}/s"


def _name(one: Accelerators) -> str:
    return f"{one.accelerator} (retired type, to compare)" if one.retired else one.accelerator


def _utilised(au: float | None) -> str:
    return "by the formula" if au is None else f"at {au:.1f} % utilisation"


def comparison(found: Comparison) -> None:
    """Print what changed from the first run to the second."""
    console = Console(width=WIDTH, highlight=False)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("rung", no_wrap=True)
    for column in ("figure", "ratio", "95 % interval", "repeats", ""):
        table.add_column(column)
    for one in found.changes:
        span = f"{one.low:.2f} to {one.high:.2f}"
        table.add_row(
            one.rung, f"{one.quantity} {one.direction}", f"{one.ratio:.2f}", span, str(one.repeats), one.verdict
        )
    console.print(table)
    for line in [*found.labels, *(f"{name} is not comparable" for name in found.incomparable)]:
        console.print(line)


def bar(lines: Iterable[Progress]) -> Progress | None:
    """Show a bar on the terminal until the run ends; return the last line of its progress."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[step]}"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("starting", total=1.0, step="")
        last = None
        for last in lines:
            step = f"{last.step}/{last.steps}"
            shown.update(task, description=last.what, completed=last.progress, step=step)
    if last is not None:
        Console(stderr=True, highlight=False).print(f"{last.run}: {last.state}; `millrace bench show {last.run}`")
    return last


def _row(rung: Rung, emulated: bool) -> list[str]:
    series = rung.find("bandwidth") if rung.workload.block and rung.workload.block > 1 << 16 else None
    series = series or rung.find("operations") or rung.find("bandwidth")
    if series is None:
        return [rung.id, rung.state, "", "", "", "", ""]
    median, low, high = (rate(series.quantity, value) for value in (series.median, series.low, series.high))
    span = f"{low} to\n{high}"
    worst = max((one.p99 for one in rung.latencies), default=None)
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
