# SPDX-License-Identifier: Apache-2.0
"""A run as tables, the same for the terminal, the page and the spreadsheet. Pure."""

from collections.abc import Iterator

from millrace.measure.tuner.model import Effect, Goal, Side, TunerRun
from millrace.system.text import size

Cell = str | int | float | None
SIDES: dict[Side, str] = {"candidate": "candidate", "plan": "plan", "default": "kernel defaults"}
EMULATED = "Emulated server: only ratios are meaningful, so no bandwidth is shown."


def emulated(run: TunerRun) -> bool:
    """Whether the figures are a simulation's, of which only ratios count."""
    return run.environment is not None and run.environment.virtual is not None


def titles(run: TunerRun) -> dict[str, str]:
    """Return the knobs' titles by their names."""
    return {knob.name: knob.title for knob in run.knobs}


def verdict(one: Effect) -> str:
    """Return in words what became of a knob."""
    if one.moved:
        return f"changed to {one.tried}"
    if one.tried is not None:
        return f"back to {one.planned}: {one.tried} did nothing when it was measured again"
    return f"stays at {one.planned}" if one.matters else f"stays at {one.planned}: does not matter here"


def effect_rows(run: TunerRun) -> Iterator[list[Cell]]:
    """Yield what each knob does, the largest effect first; gains as parts of 1."""
    names = titles(run)
    for one in run.effects:
        measured = [one.effect, one.noise, "yes" if one.matters else "no", one.tried]
        again = [one.confirmed, one.confirmed_noise, verdict(one)]
        yield [one.knob, names.get(one.knob, one.knob), one.planned, one.other, *measured, *again]


EFFECT_COLUMNS = ("knob", "setting", "planned", "compared with", "gain of the plan's level", "noise", "beyond noise",
                  "tried", "gain measured again", "noise of it", "result")  # fmt: skip


def run_columns(run: TunerRun) -> list[str]:
    """Return the columns of all runs: what was measured, with which settings."""
    goals = [f"{goal.name} ({goal.unit})" for goal in run.goals]
    return ["number", "phase", "started", "seconds", "score", *goals, *_knobs(run), "validity", "reason"]


def run_rows(run: TunerRun) -> Iterator[list[Cell]]:
    """Yield each measured combination with its figures; the score is relative to the first reading of the plan."""
    for one in run.readings:
        figures = [one.figures.get(goal.name) for goal in run.goals]
        levels = [one.combination.get(name) for name in _knobs(run)]
        first = [one.number, one.phase, one.started, round(one.seconds, 1), one.score]
        yield [*first, *figures, *levels, one.validity, one.reason]


def standing_columns(run: TunerRun) -> list[str]:
    """Return the columns of the comparison."""
    return ["set", "score", "readings", *(f"{goal.name} ({goal.unit})" for goal in run.goals), *_knobs(run)]


def standing_rows(run: TunerRun) -> Iterator[list[Cell]]:
    """Yield winner, plan and default beside each other; scores relative to the plan."""
    for one in run.outcome.standings if run.outcome else []:
        figures = [one.figures.get(goal.name) for goal in run.goals]
        yield [SIDES[one.side], one.score, one.readings, *figures, *(one.combination[name] for name in _knobs(run))]


def changed(run: TunerRun) -> list[str]:
    """Return the winner's settings that are not the plan's, as sentences' parts."""
    if run.outcome is None:
        return []
    names, plan = titles(run), run.outcome.plan
    return [
        f"{names.get(name, name)}: {level} in place of {plan[name]}"
        for name, level in run.outcome.winner.items()
        if level != plan[name]
    ]


def figure(goal: Goal, value: float | None) -> str:
    """Return a figure with its unit."""
    if value is None:
        return ""
    if goal.unit == "s":
        return f"{value:.3g} s"
    return f"{size(round(value))}/s" if goal.unit == "bytes/s" else f"{value:,.0f}/s"


def part(value: float | None) -> str:
    """Return a gain in percent with its sign; empty for None."""
    return "" if value is None else f"{100 * value:+.1f} %"


def _knobs(run: TunerRun) -> list[str]:
    return [knob.name for knob in run.knobs]
