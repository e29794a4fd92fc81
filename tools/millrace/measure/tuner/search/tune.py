# SPDX-License-Identifier: Apache-2.0
"""The search from the first reading to the outcome: screen, refine, confirm, guard."""

from collections.abc import Sequence

from millrace.measure.tuner.model import Combination, Effect, Goal, TunerKnob, TunerOutcome
from millrace.measure.tuner.search.budget import guarded
from millrace.measure.tuner.search.confirm import confirm, moved, readings
from millrace.measure.tuner.search.design import default_of, plan_of
from millrace.measure.tuner.search.guard import Guarded, guard, sides
from millrace.measure.tuner.search.meter import Measure, Meter, Notes, TimeLeft
from millrace.measure.tuner.search.refine import refine
from millrace.measure.tuner.search.screen import preferred, screen
from millrace.measure.tuner.search.statistics import gain, percent


def tune(
    knobs: Sequence[TunerKnob], goals: Sequence[Goal], measure: Measure, time_left: TimeLeft, notes: Notes
) -> TunerOutcome:
    """Return the best combination that is proven, or the plan's.

    Failed: the plan's settings, or half of the screen, could not be measured. What `measure` raises goes through.
    """
    plan, default = plan_of(knobs), default_of(knobs)
    meter = Meter(goals, measure, time_left, notes)
    meter.begin(plan)
    table = screen(knobs, meter)
    notes.effects(table)
    last = guarded(knobs)
    confirmable = meter.affordable >= last + readings(2)
    # what cannot be confirmed must be beyond noise in the screen itself
    candidate = preferred(plan, table, only_proven=not confirmable)
    if confirmable:
        candidate = refine(candidate, knobs, table, meter, lambda best: last + readings(len(moved(best, plan))))
        if meter.affordable >= last + readings(len(moved(candidate, plan))):
            candidate, table = _confirmed(candidate, plan, knobs, table, meter, last)
        else:
            candidate = preferred(plan, table, only_proven=True)
    table = [_final(effect, candidate, plan) for effect in table]
    notes.effects(table)
    comparison = guard(sides(candidate, plan, default), meter)
    return _outcome(comparison, candidate, plan, default, len(meter.readings))


def _confirmed(
    candidate: Combination,
    plan: Combination,
    knobs: Sequence[TunerKnob],
    table: Sequence[Effect],
    meter: Meter,
    keep: int,
) -> tuple[Combination, list[Effect]]:
    """The candidate without the knobs that do nothing, and the table with what was measured of them."""
    if not readings(len(moved(candidate, plan))):
        return candidate, list(table)
    confirmation = confirm(candidate, plan, knobs, meter, keep)
    changed = {
        name: {"tried": candidate[name], "confirmed": gain(amount), "confirmed_noise": gain(confirmation.noise)}
        for name, amount in confirmation.gains.items()
    }
    return confirmation.candidate, [effect.model_copy(update=changed.get(effect.knob, {})) for effect in table]


def _final(one: Effect, candidate: Combination, plan: Combination) -> Effect:
    """An effect with whether its knob is moved in the end."""
    moves = candidate[one.knob] != plan[one.knob]
    return one.model_copy(update={"moved": moves, "tried": candidate[one.knob] if moves else one.tried})


def _outcome(
    comparison: Guarded, candidate: Combination, plan: Combination, default: Combination, measured: int
) -> TunerOutcome:
    return TunerOutcome(
        verdict="candidate" if comparison.kept else "plan",
        winner=candidate if comparison.kept else plan,
        plan=plan,
        default=default,
        candidate=None if candidate == plan else candidate,
        gain=None if comparison.gain is None else gain(comparison.gain),
        noise=None if comparison.noise is None else gain(comparison.noise),
        rounds=comparison.rounds,
        reason=_reason(comparison, candidate == plan, measured),
        standings=comparison.standings,
    )


def _reason(comparison: Guarded, alone: bool, measured: int) -> str:
    if alone:
        return f"No combination was better than the plan's settings in {measured} readings."
    if comparison.failed:
        return f"The plan's settings stay: {comparison.failed}."
    if comparison.gain is None or comparison.noise is None:
        return f"The plan's settings stay: the budget ended after {comparison.rounds} rounds of the comparison."
    size = percent(comparison.gain)
    if comparison.gain <= 0:
        return f"The plan's settings stay: the candidate is {size} slower."
    noise = percent(comparison.noise)
    if comparison.gain <= comparison.noise:
        return f"The plan's settings stay: the candidate measured {size} faster, and noise alone explains {noise}."
    if not comparison.kept:
        return f"The plan's settings stay: the candidate is {size} faster, and less than 3 % is not worth a change."
    return f"The candidate is {size} faster than the plan's settings; noise explains at most {noise} of it."
