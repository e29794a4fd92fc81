# SPDX-License-Identifier: Apache-2.0
"""Are alerts delivered? A finding of a route that does not deliver is an alert, which the other routes report.

The route itself has it in its queue once: level and key stay the same, however long it takes.
"""

from datetime import UTC, datetime, timedelta

from millrace.observe.health.deliveries import MOST, RESTORE, UNIT, Deliveries, Delivery, reported
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import ages, paths
from millrace.system.command import command
from millrace.system.errors import BadInput
from millrace.system.names import several
from millrace.system.text import moment, one_line, shown

NAME = "alerts"
STOPPED, ROUTES = "stopped", "routes"
"""Kinds of findings that the service does not run, or has no routes; one that reads them has started since."""

LATE = timedelta(hours=1)
"""A message that waits for longer is a warning; a receiver that is restarted is back earlier."""


def check(host: Host, now: datetime | None = None) -> list[HealthFinding]:
    """Return each route that does not deliver, else one finding; nothing where there is no route.

    BadInput, Failed: the report of the service cannot be read.
    """
    if not paths.alert_routes_file().exists():
        return []
    report = reported(Deliveries)
    if report is None:
        return _silent(host)
    if report.problem:
        sentence = f"No alert is delivered: {one_line(report.problem).rstrip('.')}."
        return [_warning(ROUTES, "", sentence, f"{RESTORE[0].upper()}{RESTORE[1:]}")]
    at = now or datetime.now(UTC)
    late = [finding for delivery in report.deliveries for finding in _late(delivery, report, at)]
    if late or not report.deliveries:
        return late
    sentence = f"Alerts go out through {several([delivery.route for delivery in report.deliveries])}"
    untried = [delivery.route for delivery in report.deliveries if delivery.delivered is None]
    sentence += f"; nothing was delivered through {several(untried)} yet." if untried else "."
    return [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]


def _late(delivery: Delivery, report: Deliveries, now: datetime) -> list[HealthFinding]:
    waiting, oldest = report.queued.get(delivery.route, 0), report.oldest.get(delivery.route)
    if (not oldest or _is_recent(oldest, now)) and waiting < MOST:
        return []
    count = f"{waiting} message{'s' if waiting != 1 else ''} waiting"
    full = ", the most that are kept" if waiting >= MOST else ""
    since = f", the oldest since {moment(oldest)}" if oldest else ""
    why = f"; {one_line(delivery.problem).rstrip('.')}" if delivery.problem else ""
    sentence = f"Alerts through {delivery.route} are not delivered: {count}{full}{since}{why}."
    without = command("millrace alert route remove", delivery.route)
    todo = f"Check its receiver, then: {command('millrace alert test', delivery.route)}; without it: {without}"
    return [_warning("undelivered", delivery.route, sentence, todo)]


def _is_recent(stamp: str, now: datetime) -> bool:
    try:
        return ages.is_recent(stamp, LATE, now)
    except (ValueError, OverflowError) as error:
        raise BadInput(f"{paths.alert_report_file()}: {shown(stamp)} is no time") from error


def _silent(host: Host) -> list[HealthFinding]:
    if host.starting or host.active_state(UNIT) == "active":
        # its first report comes within a second or two
        return []
    sentence = f"No alert is delivered: {UNIT} does not run."
    return [_warning(STOPPED, "", sentence, f"systemctl restart {UNIT}; if it fails: journalctl -u {UNIT}")]


def _warning(kind: str, subject: str, sentence: str, todo: str) -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=subject, level=Level.WARN, sentence=sentence, todo=todo)
