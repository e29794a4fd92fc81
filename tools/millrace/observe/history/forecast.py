# SPDX-License-Identifier: Apache-2.0
"""When the pool is full. Pure functions.

The median of the growth between all pairs of days (Theil-Sen) follows neither a day on which a data set was copied nor
one on which it was removed; its quartiles are the range.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import combinations
from statistics import quantiles

from millrace.observe.history.model import CapacityForecast
from millrace.observe.history.series import DAY
from millrace.system.text import size

FEWEST = 7
"""Days with a value below which nothing is foretold."""
MOST = 92
FURTHEST = 3650.0


def forecast(used: Mapping[int, float], capacity: float | None, now: float) -> CapacityForecast:
    """Return when `used` reaches `capacity`; both in bytes, `used` by any times in seconds since 1970."""
    days = _days(used, now)
    if len(days) < FEWEST or capacity is None:
        sentence = f"There is not enough history for a forecast: it needs {FEWEST} days, and has {len(days)}."
        return _forecast(len(days), sentence)
    slopes = [(days[later] - days[early]) / (later - early) for early, later in combinations(sorted(days), 2)]
    low, middle, high = quantiles(slopes, n=4)
    free = max(0.0, capacity - days[max(days)])
    full, earliest, latest = (_until(free, slope) for slope in (middle, high, low))
    if full is None:
        sentence = "The pool does not grow." if middle <= 0 else "The pool has room for more than ten years."
        sentence += f" This is from {len(days)} days."
        return _forecast(len(days), sentence).model_copy(update={"bytes_per_day": middle, "earliest": earliest})
    until = f"and {_date(now, latest)}" if latest is not None else "and never"
    sentence = (
        f"The pool grows by {size(round(middle))} a day and is full on {_date(now, full)}, between "
        f"{_date(now, earliest or full)} {until}. This is from {len(days)} days."
    )
    return CapacityForecast(
        days=len(days), bytes_per_day=middle, full_in_days=full, earliest=earliest, latest=latest, sentence=sentence
    )


def _days(used: Mapping[int, float], now: float) -> dict[int, float]:
    """The last value of each day, of the last MOST days."""
    first = int(now // DAY) - MOST
    return {at // DAY: value for at, value in sorted(used.items()) if at // DAY > first and at <= now}


def _forecast(days: int, sentence: str) -> CapacityForecast:
    return CapacityForecast(
        days=days, bytes_per_day=None, full_in_days=None, earliest=None, latest=None, sentence=sentence
    )


def _until(free: float, slope: float) -> float | None:
    days = free / slope if slope > 0 else None
    return days if days is not None and days <= FURTHEST else None


def _date(now: float, days: float) -> str:
    return f"{datetime.fromtimestamp(now + days * DAY, UTC):%Y-%m-%d}"
