# SPDX-License-Identifier: Apache-2.0
"""The screen: which knobs matter, and which of two levels of each is better."""

from collections.abc import Sequence

from millrace.measure.tuner.model import Combination, Effect, TunerKnob
from millrace.measure.tuner.search.design import Design, alternative, design
from millrace.measure.tuner.search.meter import Meter
from millrace.measure.tuner.search.statistics import chance, clipped, gain
from millrace.system.errors import Failed

LEAST = 0.02
"""A smaller effect (as a logarithm) is none: facts of the simulation, about what one reading varies by."""


def screen(knobs: Sequence[TunerKnob], meter: Meter) -> list[Effect]:
    """Measure every run of the design; return the effects, the largest first. Failed: half of the runs failed."""
    found = design(knobs)
    logs = [meter.log(run, "screen") for run in found.runs]
    return effects(found, logs, meter)


def effects(experiment: Design, logs: Sequence[float | None], meter: Meter) -> list[Effect]:
    """Return the effects of a screen's results, the largest first. Failed: half of the runs failed."""
    missing = sum(log is None for log in logs)
    if missing * 2 >= len(logs):
        reasons = [reading.reason for reading in meter.readings if reading.validity == "failed" and reading.reason]
        why = reasons[-1] if reasons else "a figure is missing"
        raise Failed(f"{missing} of {len(logs)} combinations could not be measured: {why.rstrip('.')}.")
    values = clipped(logs)
    sizes = experiment.effects(values)
    noise = chance(experiment.contrasts(values))
    table = [
        Effect(
            knob=knob.name,
            planned=knob.planned,
            other=alternative(knob),
            effect=gain(sizes[knob.name]),
            noise=gain(noise),
            matters=abs(sizes[knob.name]) > max(noise, LEAST),
        )
        for knob in experiment.knobs
    ]
    return sorted(table, key=lambda effect: -abs(sizes[effect.knob]))


def preferred(plan: Combination, table: Sequence[Effect], only_proven: bool) -> Combination:
    """Return the better level of each knob; the plan's where the difference is below what is one (or not proven)."""
    better = [one for one in table if (one.matters if only_proven else True) and one.effect < gain(-LEAST)]
    return {**plan, **{one.knob: one.other for one in better}}
