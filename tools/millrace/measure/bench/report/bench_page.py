# SPDX-License-Identifier: Apache-2.0
"""A run as one HTML page with drawings inside; the template is `templates/bench/report.html.j2`."""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.measure.bench.report.knee import knees
from millrace.measure.bench.report.text import accelerators, rate
from millrace.measure.bench.result.ceilings import headline
from millrace.measure.bench.result.model import BenchRun, BenchState, Rung, Series
from millrace.system.render import render

BAR, GAP, LEFT, WIDTH = 18, 6, 260, 900
"""Pixels of a drawing."""


@dataclass(frozen=True)
class RungBar:
    """One rung of a chart: its median and the range of its repeats, in pixels."""

    name: str
    words: str
    top: int
    median: float
    low: float
    high: float

    @property
    def middle(self) -> float:
        """The middle of its range, in pixels from the top."""
        return self.top + BAR / 2


@dataclass(frozen=True)
class Chart:
    """Bars of one kind of load, from the drives up. Lengths in pixels."""

    title: str
    bars: list[RungBar]
    left: int = LEFT
    width: int = WIDTH
    thickness: int = BAR

    @property
    def height(self) -> int:
        """The height of all bars in pixels."""
        return len(self.bars) * (BAR + GAP) + GAP


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    numbers: list[str]
    diagnosis: str


def page(run: BenchRun) -> str:
    """Return the whole page, which loads nothing; a bar is as long as its median."""
    emulated = "emulated" in run.labels
    done = [
        (rung, main) for rung in run.rungs if rung.state is BenchState.DONE and (main := headline(rung)) is not None
    ]
    kinds = list(dict.fromkeys(rung.workload.profile for rung, _ in done))
    environment = run.environment
    facts = (environment.product, environment.cpu, f"Linux {environment.kernel}", environment.pool, run.provenance.fio)
    return render(
        "bench/report.html.j2",
        run=run,
        facts=[fact for fact in facts if fact],
        emulated=emulated,
        charts=[
            Chart(kind, _bars([pair for pair in done if pair[0].workload.profile is kind], emulated)) for kind in kinds
        ],
        rows=[_row(rung, main, emulated) for rung, main in done],
        lines=[*([] if emulated else accelerators(run)), *knees(run)],
    )


def _bars(headlines: Sequence[tuple[Rung, Series]], emulated: bool) -> list[RungBar]:
    most = {main.quantity: 0.0 for _, main in headlines}
    for _, main in headlines:
        most[main.quantity] = max(most[main.quantity], main.high)
    room = WIDTH - LEFT - 120
    bars = []
    for number, (rung, main) in enumerate(headlines):
        whole = most[main.quantity] or 1.0
        length, low, high = (round(room * value / whole, 1) for value in (main.median, main.low, main.high))
        words = f"{main.median / whole:.0%}" if emulated else rate(main.quantity, main.median)
        bars.append(RungBar(rung.id, words, GAP + number * (BAR + GAP), length, low, high))
    return bars


def _row(rung: Rung, main: Series, emulated: bool) -> Row:
    parts = (rung.ceiling.of_predicted, rung.ceiling.of_below)
    numbers = [
        "" if emulated else rate(main.quantity, main.median),
        f"{main.spread:.0%}",
        *("" if p is None else f"{p:.0%}" for p in parts),
    ]
    return Row(rung.id, numbers, rung.diagnosis)
