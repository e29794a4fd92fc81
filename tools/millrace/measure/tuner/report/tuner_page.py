# SPDX-License-Identifier: Apache-2.0
"""A run as one HTML page with a drawing inside; the template is `templates/tuner/report.html.j2`."""

from dataclasses import dataclass

from millrace.measure.tuner.model import TunerRun
from millrace.measure.tuner.report.sizing import sizing
from millrace.measure.tuner.report.tables import EMULATED, SIDES, changed, emulated, figure, part, titles, verdict
from millrace.system.render import render

BAR, GAP, LEFT, WIDTH = 18, 6, 300, 900
"""Pixels of the drawing."""
ROOM = (WIDTH - LEFT - 140) / 2


@dataclass(frozen=True)
class KnobBar:
    """One knob: a bar right of the middle where the plan's level is better, left of it where it is worse. Pixels."""

    name: str
    words: str
    top: int
    left: float
    length: float
    noise: float
    matters: bool

    @property
    def middle(self) -> float:
        """The middle of its thickness, in pixels from the top."""
        return self.top + BAR / 2


def page(run: TunerRun) -> str:
    """Return the whole page, which loads nothing."""
    hidden = emulated(run)
    standings = [
        [
            SIDES[standing.side],
            "" if standing.score is None else f"{standing.score:.3f}",
            *("" if hidden else figure(goal, standing.figures.get(goal.name)) for goal in run.goals),
        ]
        for standing in (run.outcome.standings if run.outcome else [])
    ]
    readings = [
        [
            str(reading.number),
            reading.phase,
            "" if reading.score is None else f"{reading.score:.3f}",
            *("" if hidden else figure(goal, reading.figures.get(goal.name)) for goal in run.goals),
            *(str(reading.combination.get(knob.name, "")) for knob in run.knobs),
            reading.reason or ("" if reading.validity == "valid" else reading.validity),
        ]
        for reading in run.readings
    ]
    names = titles(run)
    return render(
        "tuner/report.html.j2",
        run=run,
        emulated=EMULATED if hidden else "",
        bars=_bars(run),
        axis=LEFT + ROOM,
        width=WIDTH,
        thickness=BAR,
        results=[
            (names.get(effect.knob, effect.knob), verdict(effect), part(effect.confirmed)) for effect in run.effects
        ],
        standings=standings,
        readings=readings,
        changed=changed(run),
        sizing=sizing(run),
    )


def _bars(run: TunerRun) -> list[KnobBar]:
    names = titles(run)
    most = max((max(abs(effect.effect), effect.noise) for effect in run.effects), default=0.0) or 1.0
    bars = []
    for number, effect in enumerate(run.effects):
        length = round(ROOM * abs(effect.effect) / most, 1)
        left = LEFT + ROOM - (length if effect.effect < 0 else 0)
        noise = round(ROOM * effect.noise / most, 1)
        words, top = part(effect.effect), GAP + number * (BAR + GAP)
        bars.append(KnobBar(names.get(effect.knob, effect.knob), words, top, left, length, noise, effect.matters))
    return bars
