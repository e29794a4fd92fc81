# SPDX-License-Identifier: Apache-2.0
"""The contract of `millrace history --json`."""

from typing import Literal

from millrace.observe.history.series import Unit
from millrace.system.documents import Contract


class HistorySeries(Contract):
    """One series; `of` is the share, client, port or serial number, empty where there is one only.

    `points` are means over a step each, the first one over the step that begins at `since`; null where nothing was
    kept, which is not zero. `peak` is the highest value that was kept. `last` is the newest value, of a step that may
    be incomplete.
    """

    name: str
    of: str
    unit: Unit
    points: list[float | None]
    mean: float | None
    peak: float | None
    last: float | None


class CapacityForecast(Contract):
    """When the pool is full, from the median of its growth between all pairs of days of the last three months.

    `days` are those with a value; without enough of them, `bytes_per_day` is null. `full_in_days` is null where the
    pool does not grow, or is full in more than ten years. `earliest` and `latest` are with the quartiles of the growth;
    `latest` is null where one of them is no growth. `sentence` says all of it.
    """

    days: int
    bytes_per_day: float | None
    full_in_days: float | None
    earliest: float | None
    latest: float | None
    sentence: str


class HistoryReport(Contract):
    """Series of a span: `since` and `at` in seconds since 1970, `step` in seconds.

    Rates of shares and clients are of the ten that transferred most. `stored` is when the history was last copied to
    the pool. `notes` are what is not known, and why.
    """

    schema_version: Literal[1] = 1
    at: float
    since: int
    step: int
    series: list[HistorySeries]
    forecast: CapacityForecast | None
    stored: float | None
    notes: list[str]
