# SPDX-License-Identifier: Apache-2.0
"""Text for terminals: bytes in words, and foreign text without control characters."""

from datetime import UTC, datetime

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40

LONGEST = 600


def printable(text: str) -> str:
    """Return foreign text on one line: control characters become escapes such as \x1b."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def printable_name(name: bytes) -> str:
    """Return the name of a file on one line, whatever bytes a client has chosen."""
    return printable(name.decode(errors="backslashreplace"))


def shown(text: str) -> str:
    """Return input of a user, fit for one line of an error."""
    return f"'{text[:40].encode('unicode_escape').decode()}{'…' if len(text) > 40 else ''}'"


def one_line(text: str) -> str:
    """Return text that may quote foreign text: one line, no control characters, at most LONGEST characters.

    The middle of a longer text is omitted.
    """
    words = printable(text)
    if len(words) <= LONGEST:
        return words
    half = (LONGEST - 3) // 2
    return f"{words[:half]} … {words[-half:]}"


def moment(stamp: str) -> str:
    """Return an ISO 8601 time as sentences have it, `2026-11-22 10:00 UTC`; text that is none on one line."""
    try:
        return f"{datetime.fromisoformat(stamp).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError):
        return one_line(stamp)


def size(count: int) -> str:
    """Return a capacity in bytes in powers of ten, as drives are sold: `7.68 TB`, `61.4 TB`, `960 GB`."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        # 999.96 kB is 1 MB, not 1000 kB
        if float(f"{value:.3g}") < 1000:
            break
        value, unit = value / 1000, larger
    # As the pages do (cockpit-plugin/src/lib/format.ts): three digits that count.
    return f"{value:.3g} {unit}"


def duration(seconds: float) -> str:
    """Return how long something still takes, rounded up: `8 min`, `2 h 3 min`, `5 days`."""
    minutes = -int(-seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 48 * 60 else f"{round(minutes / 1440)} days"


def pace(bytes_per_second: int | None, seconds_left: float | None) -> str:
    """Return what follows a percentage: `, 1.54 GB/s, 1 h 3 min left`, without what is not known."""
    rate = f", {size(bytes_per_second)}/s" if bytes_per_second else ""
    return rate + (f", {duration(seconds_left)} left" if seconds_left is not None else "")


def binary(count: int) -> str:
    """Return an amount of memory, a chunk or a stripe in bytes in powers of two: `128 KiB`, `1 MiB`, `503.4 GiB`."""
    for factor, unit in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= factor:
            return f"{round(count / factor, 2):g} {unit}"
    return f"{count} B"
