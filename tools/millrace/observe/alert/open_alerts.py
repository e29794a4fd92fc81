# SPDX-License-Identifier: Apache-2.0
"""The open alerts with their acknowledgements, and tests of routes, for the command line."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from millrace.observe.alert import diff, routes
from millrace.observe.alert.model import (
    Acknowledgement,
    Acknowledgements,
    Alert,
    AlertList,
    ListedAlert,
    Report,
    TestReport,
    TestRequest,
    TestResult,
)
from millrace.observe.alert.service import TEST_FILE
from millrace.observe.health.deliveries import UNIT, reported
from millrace.observe.health.host import BOOT_SECONDS
from millrace.observe.health.model import SEVERITY, Health
from millrace.serve.config.store import config_lock
from millrace.system import ages, locks, paths
from millrace.system.boot import booted_at
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.run import Runner
from millrace.system.text import shown
from millrace.system.units import is_active
from millrace.system.users import invoking_user
from millrace.system.wait import wait_until

# Longer than an attempt may take (attempt.SECONDS), as one may be under way.
TEST_SECONDS = 75
STARTED = timedelta(seconds=BOOT_SECONDS)


def acknowledged_file() -> Path:
    """The acknowledgements, with the user of each."""
    return paths.alert_dir() / "acknowledged.json"


def report() -> Report | None:
    """Return the report of the service; None where it does not run, or cannot read its routes."""
    try:
        found = reported(Report)
    except MillraceError:
        return None
    return found if found and not found.problem else None


def alerts() -> AlertList:
    """Return the open alerts, the worst first; without a route those of the last health check.

    Failed: there was no health check yet. BadInput: what it wrote cannot be read.
    """
    last = report()
    if last is None and not paths.health_file().exists():
        raise Failed("no health check has ended since this server was started; see systemctl status millrace-checker")
    opened = last.open if last else diff.difference([], read_model(paths.health_file(), Health)).open
    known = _acknowledged() if last else [_of_this_boot(alert, opened) for alert in _acknowledged()]
    worst_first = sorted(opened, key=lambda alert: SEVERITY.index(alert.level), reverse=True)
    listed = [_listed(alert, known) for alert in worst_first]
    return AlertList(alerts=listed, waiting=sum(last.queued.values()) if last else 0)


def acknowledge(keys: Sequence[str]) -> AlertList:
    """Acknowledge alerts by their keys: they are listed, and no longer counted. Refused: one is not open."""
    with config_lock():
        open_alerts = {alert.key: alert for alert in alerts().alerts}
        for key in keys:
            if key not in open_alerts:
                raise Refused(f"no open alert has the key {shown(key)}: millrace alert list")
        at = datetime.now(UTC).isoformat(timespec="seconds")
        new = [
            Acknowledgement(
                key=key, since=open_alerts[key].since, level=open_alerts[key].level, who=invoking_user(), at=at
            )
            for key in keys
        ]
        # Those of alerts that have ended are of no use any more.
        kept = [
            acknowledgement
            for acknowledgement in _acknowledged()
            if acknowledgement.key in open_alerts and acknowledgement.key not in keys
        ]
        write_model(acknowledged_file(), Acknowledgements(acknowledged=[*kept, *new]))
    return alerts()


def test(names: Sequence[str], run: Runner, pauses: Sequence[float] = (1.0,) * TEST_SECONDS) -> TestReport:
    """Deliver a test message by these routes, or by all; the service delivers it, with its privileges.

    Refused: there is no such route, or none. Failed: the service does not run or does not report in time.
    """
    known = [route.name for route in routes.load()]
    for name in names:
        if name not in known:
            raise Refused(routes.unknown(name))
    if not known:
        raise Refused("there is no route yet: millrace alert route add --help")
    with locks.held(paths.alert_dir() / "test.lock"):
        if not is_active(UNIT, run):
            raise Failed(f"{UNIT} does not run: systemctl status {UNIT}")
        request = TestRequest(id=uuid.uuid4().hex, routes=list(names) or known)
        file = paths.alert_dir() / TEST_FILE
        write_model(file, request)
        try:
            results = wait_until(
                lambda: _results(request.id), lambda results: len(results) == len(set(request.routes)), pauses
            )
        finally:
            file.unlink()
    if len(results) < len(set(request.routes)):
        raise Failed(f"{UNIT} did not report in {TEST_SECONDS} s: journalctl -u {UNIT}")
    return TestReport(results=results)


def _results(id_: str) -> list[TestResult]:
    last = report()
    return [one for one in last.tests if one.id == id_] if last else []


def _acknowledged() -> list[Acknowledgement]:
    if not acknowledged_file().exists():
        return []
    return read_model(acknowledged_file(), Acknowledgements).acknowledged


def _of_this_boot(known: Acknowledgement, open_alerts: Sequence[Alert]) -> Acknowledgement:
    """An acknowledgement from before a restart is for the alert of its key that was there when the server came up.

    Health documents begin again with each boot; the service keeps since when an alert is open, and does not run here.
    """
    booted = booted_at()
    for alert in open_alerts:
        began = ages.when(alert.since)
        if alert.key == known.key and ages.when(known.since) < booted and began <= booted + STARTED:
            return known.model_copy(update={"since": alert.since})
    return known


def _listed(alert: Alert, known: Sequence[Acknowledgement]) -> ListedAlert:
    """An alert that began again, or got worse since, is not the one that was acknowledged."""
    severity = SEVERITY.index(alert.level)
    by = next(
        (
            acknowledgement.who
            for acknowledgement in known
            if (acknowledgement.key, acknowledgement.since) == (alert.key, alert.since)
            and severity <= SEVERITY.index(acknowledgement.level)
        ),
        None,
    )
    return ListedAlert(
        key=alert.key,
        subject=alert.subject,
        level=alert.level,
        sentence=alert.sentence,
        todo=alert.todo,
        since=alert.since,
        acknowledged=by,
    )
