# SPDX-License-Identifier: Apache-2.0
"""A window of the week in which the server may work for itself: `Sun 01:00-07:00`."""

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAILY = "daily"
_FORM = re.compile(r"(\w+) (\d\d:\d\d)-(\d\d:\d\d)")


@dataclass(frozen=True)
class Window:
    """`days` are those on which it opens, Monday is 0. One that closes at or before it opens closes the day after."""

    days: frozenset[int]
    opens: time
    closes: time

    @property
    def length(self) -> timedelta:
        """How long it is open: up to a day."""
        closes, opens = (timedelta(hours=one.hour, minutes=one.minute) for one in (self.closes, self.opens))
        return closes - opens if closes > opens else closes - opens + timedelta(days=1)

    def open_at(self, now: datetime) -> tuple[datetime, datetime] | None:
        """Return when the window that is open at `now` opened and when it closes; None while it is closed."""
        # one that opened yesterday may still be open
        for back in (0, 1):
            found = self._on(now - timedelta(days=back))
            if found and found[0] <= now < found[1]:
                return found
        return None

    def next_opening(self, now: datetime) -> datetime:
        """Return when it opens next, after `now`."""
        openings = (self._on(now + timedelta(days=ahead)) for ahead in range(8))
        return next(found[0] for found in openings if found and found[0] > now)

    def _on(self, day: datetime) -> tuple[datetime, datetime] | None:
        """The window that opens on this day."""
        if day.weekday() not in self.days:
            return None
        opens = day.replace(hour=self.opens.hour, minute=self.opens.minute, second=0, microsecond=0)
        closes = day.replace(hour=self.closes.hour, minute=self.closes.minute, second=0, microsecond=0)
        return opens, closes if closes > opens else closes + timedelta(days=1)


def parse_window(text: str) -> Window:
    """Parse a day (`Mon` to `Sun`, or `daily`) and two times. ValueError: it is something else."""
    found = _FORM.fullmatch(text)
    if found is None or found[1] not in (*DAYS, DAILY):
        raise ValueError("must be a day (Mon to Sun, or daily) and two times: Sun 01:00-07:00")
    days = range(7) if found[1] == DAILY else [DAYS.index(found[1])]
    return Window(frozenset(days), time.fromisoformat(found[2]), time.fromisoformat(found[3]))


def checked_window(text: str) -> str:
    """Return the text of a window. ValueError: it is none."""
    parse_window(text)
    return text
