# SPDX-License-Identifier: Apache-2.0
"""A run as one HTML page with a drawing inside; the template is `templates/tuner/report.html.j2`."""

from dataclasses import dataclass

from millrace.measure.tuner.model import Run
from millrace.measure.tuner.report.sizing import sizing
from millrace.measure.tuner.report.tables import EMULATED, SIDES, changed, emulated, figure, part, titles, verdict
from millrace.system.render import render

BAR, GAP, LEFT, WIDTH = 18, 6, 300, 900
"""Pixels of the drawing."""
ROOM = (WIDTH - LEFT - 140) / 2


@dataclass(frozen=True)
class Bar:
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


def page(run: Run) -> str:
    """Return the whole page, which loads nothing."""
    hidden = emulated(run)
    standings = [
        [
            SIDES[one.side],
            "" if one.score is None else f"{one.score:.3f}",
            *("" if hidden else figure(goal, one.figures.get(goal.name)) for goal in run.goals),
        ]
        for one in (run.outcome.standings if run.outcome else [])
    ]
    readings = [
        [
            str(one.number),
            one.phase,
            "" if one.score is None else f"{one.score:.3f}",
            *("" if hidden else figure(goal, one.figures.get(goal.name)) for goal in run.goals),
            *(str(one.combination.get(knob.name, "")) for knob in run.knobs),
            one.reason or ("" if one.validity == "valid" else one.validity),
        ]
        for one in run.readings
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
        results=[(names.get(one.knob, one.knob), verdict(one), part(one.confirmed)) for one in run.effects],
        standings=standings,
        readings=readings,
        changed=changed(run),
        sizing=sizing(run),
    )


def _bars(run: Run) -> list[Bar]:
    names = titles(run)
    most = max((max(abs(one.effect), one.noise) for one in run.effects), default=0.0) or 1.0
    found = []
    for number, one in enumerate(run.effects):
        length = round(ROOM * abs(one.effect) / most, 1)
        left = LEFT + ROOM - (length if one.effect < 0 else 0)
        noise = round(ROOM * one.noise / most, 1)
        words, top = part(one.effect), GAP + number * (BAR + GAP)
        found.append(Bar(names.get(one.knob, one.knob), words, top, left, length, noise, one.matters))
    return found
