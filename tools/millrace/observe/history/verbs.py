# SPDX-License-Identifier: Apache-2.0
"""`millrace history`."""

import re

import click

from millrace.system.output import Output, prints

SPANS = {"m": 60, "h": 3600, "d": 86_400}
LONGEST = 366 * 86_400
SHORTEST = 600


class Span(click.ParamType):  # type: ignore[type-arg]
    """A time before now: `90m`, `24h`, `7d`."""

    name = "span"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return seconds."""
        match = re.fullmatch(r"(\d{1,6})([mhd])", str(value))
        seconds = int(match[1]) * SPANS[match[2]] if match else 0
        if not SHORTEST <= seconds <= LONGEST:
            self.fail(f"'{value}' is not a span from 10 minutes to a year: write it like 24h, 7d or 365d")
        return seconds


@click.command()
@click.argument("series", nargs=-1)
@click.option("--since", type=Span(), default="24h", show_default=True, help="Span until now, like 90m, 24h or 365d.")
@click.option(
    "--points", type=click.IntRange(10, 1500), default=240, show_default=True, help="Points of a series, at most."
)
@click.option("--store", is_flag=True, hidden=True, help="Copy the history to the pool; print nothing.")
@prints("millrace.observe.history.model:HistoryReport")
def history(series: tuple[str, ...], since: int, points: int, store: bool, show: Output) -> None:
    """Show throughput, latency, capacity, temperatures, CPU and network over time, and when the pool is full.

    A value a minute is kept for a day, one an hour for a year. SERIES is a kind such as nfs-read, the beginning of
    several such as nfs, or one of a kind such as share-read:home; all by default.
    """
    if store:
        from millrace.observe.history import pool_copy
        from millrace.system.users import as_root

        with as_root():
            pool_copy.store()
        return
    from millrace.observe.history import query, text

    show(query.history(series, since, points), text.lines)
