# SPDX-License-Identifier: Apache-2.0
"""When the rated endurance of a drive is used up, from the days on which its wear rose. Pure functions."""

from collections.abc import Sequence
from datetime import date, timedelta

from millrace.system.documents import Contract

YEAR = timedelta(days=365)
"""Today's rate is that of the last year: a drive may have had another life before."""

KEPT = 40
"""Steps that are kept of a drive."""


class WearStep(Contract):
    """The day on which a drive was first seen at this percentage of its rated endurance."""

    percent: int
    day: date


def stepped(steps: Sequence[WearStep], percent: int | None, today: date) -> list[WearStep]:
    """Return the steps with what the drive reports today; None leaves them as they are."""
    if percent is None or (steps and steps[-1].percent == percent):
        return list(steps)
    step = WearStep(percent=percent, day=today)
    # a drive that is less worn than before was reset by its maker's tool, or is another of the same number
    return [step] if steps and percent < steps[-1].percent else [*steps, step][-KEPT:]


def ends(steps: Sequence[WearStep], today: date) -> date | None:
    """Return the day on which 100 % is reached at the rate of the last year; None where it is not known.

    A drive counts whole percents. It is not known when the first percent that was seen began, so that a rate takes two
    that were seen to begin; a drive that has not had two in a year lasts for decades. A day that is yet to come was
    recorded while the clock was wrong, and says nothing.
    """
    began = [(step.day, step.percent) for step in steps[1:]]
    recent = [step for step in began if today - YEAR <= step[0] <= today]
    if len(recent) < 2:
        return None
    (first, low), (last, high) = recent[0], recent[-1]
    if high >= 100 or today <= first or last <= first:
        return None
    # It has not reached the next percent yet: a drive that does less than before is not judged by its worst week.
    days_a_percent = max((last - first).days / (high - low), (today - first).days / (high + 1 - low))
    return last + timedelta(days=int((100 - high) * days_a_percent))
