# SPDX-License-Identifier: Apache-2.0
"""What the verbs print as text, beside a run itself."""

from collections.abc import Iterable, Iterator

from millrace.measure.tuner.model import TunerKnob
from millrace.measure.tuner.run.outputs import (
    Applied,
    Reverted,
    TunerEstimate,
    TunerProgress,
    TunerRunList,
    TunerRunSummary,
    TunerStatus,
    TunerStopped,
)
from millrace.plan.measured import source
from millrace.system.printing import Cell, fields, table
from millrace.system.text import moment, size

RUNS = ("Run", "Started", "State", "Readings", "Gain", "Notes")


def estimate(found: TunerEstimate) -> Iterator[str]:
    """Yield what a run would try, how long it takes, and what prevents it."""
    yield f"Goals: {', '.join(f'{one.title} ({one.weight:.0%})' for one in found.goals)}."
    yield f"{len(found.knobs)} settings, {found.each:.0f} s for each reading:"
    yield from table(("Name", "Levels", "Setting"), map(_knob, found.knobs), indent=2)
    yield from (f"Not tried: {one.name}: {one.reason}." for one in found.left_out)
    yield f"Takes at least {found.least / 60:.0f} minutes; the budget is {found.budget / 60:.0f} minutes."
    yield f"Holds up to {size(found.space)} in the pool while it runs."
    yield from (f"Obstacle: {line}" for line in found.obstacles)


def progress(lines: Iterable[TunerProgress]) -> TunerProgress | None:
    """Print a line for each reading, not for each of its tests; return the last line of progress."""
    import click

    last = shown = None
    for last in lines:
        if (last.state, last.what, last.phase) == shown:
            continue
        shown = last.state, last.what, last.phase
        left = "" if last.seconds_left is None else f", {last.seconds_left / 60:.0f} minutes left"
        phase = f" ({last.phase})" if last.phase else ""
        best = "" if last.best is None else f", best {last.best:.2f} of the plan"
        click.echo(f"{last.state}: {last.what}{phase}{best}{left}")
    return last


def status(report: TunerStatus) -> Iterator[str]:
    """Yield whether a run is active, and what is applied."""
    last = report.progress
    if report.running and last is not None:
        left = "" if last.seconds_left is None else f", {last.seconds_left / 60:.0f} minutes left"
        since = f" since {moment(last.started)}" if last.started else ""
        yield f"Run {last.run} is active{since}: {last.doing}{left}."
        if last.combination:
            yield f"Set now: {', '.join(f'{name} = {level}' for name, level in last.combination.items())}."
    elif last is not None:
        yield f"Run {last.run} ended: {last.state}: {last.what}"
    else:
        yield "The tuner did not run since the server was started."
    if report.applied is not None:
        yield f"Applied: {source(report.applied)}."
    yield from (f"warning: {setting} is still as a run set it: millrace tuner stop" for setting in report.left)


def stopped(ended: TunerStopped) -> Iterator[str]:
    """Yield what a stop ended and put back."""
    yield "the tuner has been stopped; the plan's settings are in force" if ended.running else "the tuner does not run"
    yield from (f"restored: {one}" for one in ended.restored)


def runs(found: TunerRunList) -> Iterator[str]:
    """Yield a line for each run."""
    if not found.runs:
        yield "No runs yet: start one with `millrace tuner run`."
    yield from table(RUNS, map(_run, found.runs), right=("Readings", "Gain"))
    yield from (f"{name} cannot be read." for name in found.broken)


def applied(found: Applied) -> Iterator[str]:
    """Yield the settings that are in the policy now."""
    yield f"In force, {found.source}:"
    yield from fields(((name, str(value)) for name, value in found.values.items()), indent=2)


def reverted(found: Reverted) -> Iterator[str]:
    """Yield the settings that are not in the policy any more."""
    yield f"The settings of run {found.run} are no longer in force: {', '.join(found.values) or 'none'}"


def _run(one: TunerRunSummary) -> list[Cell]:
    gain = None if one.gain is None else f"{one.gain:+.1%}"
    about = "; ".join(filter(None, ("applied" if one.applied else "", one.reason)))
    return [one.id, moment(one.started), one.state, one.readings, gain, about]


def _knob(one: TunerKnob) -> list[Cell]:
    levels = ", ".join(f"[{level}]" if level == one.planned else str(level) for level in one.levels)
    return [one.name, levels, one.title]
