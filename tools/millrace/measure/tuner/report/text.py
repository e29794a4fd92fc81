# SPDX-License-Identifier: Apache-2.0
"""A run of the tuner on a terminal."""

from collections.abc import Iterator

from millrace.measure.tuner.model import TunerRun, TunerState
from millrace.measure.tuner.report.sizing import sizing
from millrace.measure.tuner.report.tables import EMULATED, SIDES, changed, emulated, figure, part, titles, verdict
from millrace.system.command import command
from millrace.system.printing import Cell, notes, table

EFFECTS = ("Setting", "Planned", "Compared with", "Gain of the plan's", "Noise", "Result")


def run(record: TunerRun) -> Iterator[str]:
    """Yield what mattered, the winner beside the plan and the default, and the sizing by formula."""
    state = f"{record.id}: {record.state}, {len(record.readings)} readings"
    yield state + (f": {record.reason}" if record.reason else "")
    goals = ", ".join(f"{goal.title} ({100 * goal.weight:.0f} %)" for goal in record.goals)
    yield f"Goals: {goals}." + (f" Profile: {record.profile}." if record.profile else "")
    yield from (f"Not tried: {refusal.name}: {refusal.reason}." for refusal in record.refused)
    if emulated(record):
        yield EMULATED
    if record.effects:
        yield "What mattered:"
        yield from table(EFFECTS, _effects(record), right=("Gain of the plan's", "Noise"), indent=2)
    if record.outcome:
        figures = tuple(goal.name for goal in record.goals)
        yield ""
        yield from table(("Set", "Score", *figures), _standings(record), right=("Score", *figures), indent=2)
        yield ""
        yield record.outcome.reason
        yield from notes(changed(record))
        if record.outcome.verdict == "candidate" and record.state is TunerState.DONE:
            yield f"Apply it: {command('millrace tuner apply', record.id)}"
    for number in sizing(record):
        yield f"{number.name} by formula: {number.value} ({number.terms}); here: {number.here}."


def _effects(found: TunerRun) -> Iterator[list[Cell]]:
    names = titles(found)
    for one in found.effects:
        levels = (str(one.planned), str(one.other))
        noise = f"±{100 * one.noise:.1f} %"
        yield [names.get(one.knob, one.knob), *levels, part(one.effect), noise, verdict(one)]


def _standings(found: TunerRun) -> Iterator[list[Cell]]:
    for one in found.outcome.standings if found.outcome else []:
        figures = ["" if emulated(found) else figure(goal, one.figures.get(goal.name)) for goal in found.goals]
        yield [SIDES[one.side], "" if one.score is None else f"{one.score:.3f}", *figures]
