# SPDX-License-Identifier: Apache-2.0
"""How old what is stored is; all of Millrace asks here, since a clock may have been wrong when the time was stored.

A server without a battery for its clock starts in any year, and is put right minutes later, or never. A time that is
yet to come, or from before there was a Millrace, says nothing: what it is of counts as never done, and is due now.
"""

from datetime import UTC, datetime, timedelta

TOLERANCE = timedelta(minutes=2)
"""So far ahead a time is one of now: time servers step a clock back by less."""

EARLIEST = datetime(2025, 1, 1, tzinfo=UTC)
"""No server stored a time before this with a clock that was right."""

Stored = str | float | datetime
"""ISO 8601 with its zone, seconds since 1970, or a moment with its zone."""


def when(stored: Stored) -> datetime:
    """Return a stored time as a moment; one without a zone is in UTC. ValueError: it is no time."""
    if isinstance(stored, str):
        stored = datetime.fromisoformat(stored)
    try:
        if isinstance(stored, int | float):
            return datetime.fromtimestamp(stored, UTC)
        return stored.astimezone(UTC) if stored.tzinfo is not None else stored.replace(tzinfo=UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{stored} is no time") from error


def age(stored: Stored, now: Stored | None = None) -> timedelta | None:
    """Return how long ago something was; None where that is not known, as the clock was wrong when it was stored.

    Callers take None for longer ago than any limit. `now` is the time by the clock unless given. ValueError: as `when`.
    """
    at, by_clock = when(stored), datetime.now(UTC) if now is None else when(now)
    if at > by_clock + TOLERANCE or at < EARLIEST <= by_clock:
        return None
    return max(by_clock - at, timedelta())


def until(stored: Stored, now: Stored | None = None) -> timedelta:
    """Return how long it is until a moment that was decided, such as the end of a certificate; negative after it.

    ValueError: as `when`.
    """
    return when(stored) - (datetime.now(UTC) if now is None else when(now))


def is_recent(stored: Stored, span: timedelta, now: Stored | None = None) -> bool:
    """Whether something was less than `span` ago, or is less than that ahead: a clock was put back meanwhile.

    For what counts while it is new: a count of failures, results, news. ValueError: as `when`.
    """
    return abs(until(stored, now)) < span


def is_ahead(stored: Stored, now: Stored | None = None) -> bool:
    """Whether a stored time is yet to come. ValueError: as `when`."""
    return until(stored, now) > TOLERANCE


def why_unknown(stored: Stored, now: Stored | None = None) -> str:
    """Return why nothing is known of the age, as part of a sentence. ValueError: as `when`."""
    return f"the clock was {'ahead' if is_ahead(stored, now) else 'behind'} at that time"
