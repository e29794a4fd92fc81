# SPDX-License-Identifier: Apache-2.0
"""The history as a table, with a sparkline of each series. Pure functions."""

from collections.abc import Iterator, Sequence

from millrace.observe.history.model import HistoryReport, HistorySeries
from millrace.observe.history.series import KINDS, Unit, text
from millrace.system.printing import Cell, table
from millrace.system.text import size

BARS = "▁▂▃▄▅▆▇█"
GAP = "·"
WIDTH = 40
HEADERS = ("Series", "What", "Now", "Mean", "Peak", "History")


def lines(report: HistoryReport) -> Iterator[str]:
    """Return the lines of a table, of the forecast and of the notes."""
    if report.series:
        yield from table(HEADERS, map(_row, report.series))
    else:
        yield "No such series has a value in this span."
    if report.forecast is not None:
        yield from ("", report.forecast.sentence)
    yield from (f"note: {note}" for note in report.notes)


def sparkline(points: Sequence[float | None], width: int = WIDTH) -> str:
    """Return points as bars from 0 to the highest, at most `width` of them; a dot is where nothing was kept."""
    merged = [_mean(part) for part in _parts(points, width)]
    most = max((value for value in merged if value is not None), default=0.0)
    return "".join(GAP if value is None else BARS[_level(value, most)] for value in merged)


def value(amount: float | None, unit: Unit) -> str | None:
    """Return a value with its unit; None where it is not known."""
    if amount is None:
        return None
    match unit:
        case "bytes":
            return size(round(amount))
        case "bytes/s":
            return f"{size(round(amount))}/s"
        case "operations/s":
            return f"{amount:,.0f}/s"
        case "seconds":
            return f"{amount * 1e3:.2f} ms"
        case "ratio":
            return f"{amount:.1%}"
        case "celsius":
            return f"{amount:.0f} °C"


def _row(series: HistorySeries) -> list[Cell]:
    shown = [value(amount, series.unit) for amount in (series.last, series.mean, series.peak)]
    return [text((series.name, series.of)), KINDS[series.name].what, *shown, sparkline(series.points)]


def _parts(points: Sequence[float | None], width: int) -> Iterator[Sequence[float | None]]:
    count = min(width, len(points))
    for number in range(count):
        yield points[number * len(points) // count : (number + 1) * len(points) // count]


def _mean(part: Sequence[float | None]) -> float | None:
    known = [value for value in part if value is not None]
    return sum(known) / len(known) if known else None


def _level(value: float, most: float) -> int:
    return min(len(BARS) - 1, int(value / most * len(BARS))) if most > 0 else 0
