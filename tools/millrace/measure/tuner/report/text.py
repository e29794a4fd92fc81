# SPDX-License-Identifier: Apache-2.0
"""A run of the tuner on a terminal."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from millrace.measure.tuner.model import Run, State
from millrace.measure.tuner.report.sizing import sizing
from millrace.measure.tuner.report.tables import EMULATED, SIDES, changed, emulated, figure, part, titles, verdict

WIDTH = 120


def run(found: Run) -> None:
    """Print what mattered, the winner beside the plan and the default, and the sizing by formula."""
    console = Console(width=WIDTH, highlight=False, markup=False)
    state = f"{found.id}: {found.state}, {len(found.readings)} readings"
    console.print(state + (f": {found.reason}" if found.reason else ""))
    goals = ", ".join(f"{one.title} ({100 * one.weight:.0f} %)" for one in found.goals)
    console.print(f"Goals: {goals}." + (f" Profile: {found.profile}." if found.profile else ""))
    for one in found.refused:
        console.print(f"Not tried: {one.name}: {one.reason}.")
    if emulated(found):
        console.print(EMULATED)
    if found.effects:
        console.print("What mattered:")
        console.print(_effects(found))
    if found.outcome:
        if found.outcome.standings:
            console.print(_standings(found))
        console.print(found.outcome.reason)
        for line in changed(found):
            console.print(f"  {line}")
        if found.outcome.verdict == "candidate" and found.state is State.DONE:
            console.print(f"Apply it: millrace tuner apply {found.id}")
    for number in sizing(found):
        console.print(f"{number.name} by formula: {number.value} ({number.terms}); here: {number.here}.")


def _effects(found: Run) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for column in ("setting", "planned", "compared with", "gain of the plan's", "noise", "result"):
        table.add_column(column)
    names = titles(found)
    for one in found.effects:
        levels = (str(one.planned), str(one.other))
        table.add_row(
            names.get(one.knob, one.knob), *levels, part(one.effect), f"±{100 * one.noise:.1f} %", verdict(one)
        )
    return table


def _standings(found: Run) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for column in ("set", "score", *(goal.name for goal in found.goals)):
        table.add_column(column)
    for one in found.outcome.standings if found.outcome else []:
        figures = [] if emulated(found) else [figure(goal, one.figures.get(goal.name)) for goal in found.goals]
        table.add_row(SIDES[one.side], "" if one.score is None else f"{one.score:.3f}", *figures)
    return table
