# SPDX-License-Identifier: Apache-2.0
"""Is the clock right, synchronised, and did it jump? Certificates, Kerberos and all that comes round need it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from millrace.observe.health import clock
from millrace.observe.health.clock import ClockState
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import ages, paths
from millrace.system.text import duration, moment

NAME = "clock"

SLACK = timedelta(days=1)
LATEST = timedelta(days=15 * 365)
"""So long after the image was made no server runs it: systemd takes a later time for wrong, too, when it starts."""

SYNCHRONISE = (
    "Name a time server that this server reaches: NTP= below [Time] in /etc/systemd/timesyncd.conf, "
    "then: systemctl restart systemd-timesyncd.service; timedatectl timesync-status"
)


def check(host: Host, now: datetime | None = None) -> list[HealthFinding]:
    """Return what is wrong with the clock, else that it is synchronised; nothing while that is not known."""
    at, state = now or datetime.now(UTC), clock.last()
    wrong = _wrong(at)
    # a clock that is behind takes any time for one to come
    saved = [] if wrong else _saved(at)
    findings = [*wrong, *_jumped(state), *_unsynchronised(state), *saved]
    if findings or state is None or state.synchronised is None:
        return findings
    return [HealthFinding(check=NAME, level=Level.OK, sentence="The clock is synchronised with a time server.")]


def made() -> datetime:
    """Return when this image was made, at the earliest when there was a Millrace."""
    try:
        return max(ages.when((paths.ROOT / "usr/lib/clock-epoch").stat().st_mtime), ages.EARLIEST)
    except OSError:
        return ages.EARLIEST


def _wrong(now: datetime) -> list[HealthFinding]:
    """A clock that no server of this version can have, however it was set."""
    image = made()
    if image - SLACK <= now <= image + LATEST:
        return []
    than = "before this version was made" if now < image else "15 years or more after this version was made"
    sentence = (
        f"The clock is wrong: it shows {moment(now.isoformat())}, {than} ({image.date().isoformat()}). Certificates "
        "and Kerberos fail, and what is recorded now has a wrong time."
    )
    todo = f"Set it: timedatectl set-ntp false; timedatectl set-time 'YYYY-MM-DD hh:mm:ss'. {SYNCHRONISE}"
    return [HealthFinding(check=NAME, kind="wrong", level=Level.FAIL, sentence=sentence, todo=todo)]


def _jumped(state: ClockState | None) -> list[HealthFinding]:
    if state is None or not state.jumps:
        return []
    last, more = state.jumps[-1], len(state.jumps) - 1
    where = "forward" if last.seconds > 0 else "back"
    before = f", and {more} time{'s' * (more > 1)} before in 24 hours" if more else ""
    sentence = (
        f"The clock jumped {where} by {duration(abs(last.seconds))} while the server ran, from {moment(last.before)} "
        f"to {moment(last.after)}{before}."
    )
    todo = (
        "If the time is right now, nothing; else see what sets it: journalctl -b -u systemd-timesyncd.service. "
        "If it jumps after each start, replace the battery of the board."
    )
    return [HealthFinding(check=NAME, kind="jumped", level=Level.WARN, sentence=sentence, todo=todo)]


def _unsynchronised(state: ClockState | None) -> list[HealthFinding]:
    if state is None or state.synchronised is None or (state.synchronised and state.client):
        return []
    if not state.client:
        # the kernel counts the clock as synchronised for hours after that
        sentence = "The clock is not synchronised: the time client is switched off."
        todo = "Switch it on: timedatectl set-ntp true"
    else:
        sentence, todo = "The clock is not synchronised with a time server.", SYNCHRONISE
    return [HealthFinding(check=NAME, kind="unsynchronised", level=Level.WARN, sentence=sentence, todo=todo)]


def _saved(now: datetime) -> list[HealthFinding]:
    """The time client starts with no earlier time than the one that it saved last."""
    path = saved_file()
    try:
        saved = ages.when(path.stat().st_mtime)
    except OSError:
        return []
    if not ages.is_ahead(saved, now + SLACK):
        return []
    sentence = (
        f"The clock was ahead: the time client has saved {moment(saved.isoformat())} and sets the clock to it at the "
        "next start where no time server responds."
    )
    todo = f"If the time is right now: touch /{path.relative_to(paths.ROOT)}"
    return [HealthFinding(check=NAME, kind="saved", level=Level.WARN, sentence=sentence, todo=todo)]


def saved_file() -> Path:
    """The file whose time is the last one that the time client was sure of (systemd-timesyncd.service(8))."""
    return paths.ROOT / "var/lib/systemd/timesync/clock"
