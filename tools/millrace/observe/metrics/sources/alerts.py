# SPDX-License-Identifier: Apache-2.0
"""Alerts and their delivery, from the report of millrace-alert.service."""

from collections import Counter

from millrace.observe.alert.model import Report
from millrace.observe.health.deliveries import reported
from millrace.observe.health.model import SEVERITY, Level
from millrace.observe.metrics.family import Family, counter, gauge
from millrace.system import ages


def families() -> list[Family]:
    """Return what is open and what waits to be delivered; none where the service does not run or has no routes.

    BadInput, Failed: its report cannot be read.
    """
    report = reported(Report)
    if report is None or report.problem:
        # health has it; "no alert is open" would be a guess
        return []
    levels = Counter(alert.level for alert in report.open)
    routes = [(delivery, {"route": delivery.route}) for delivery in report.deliveries]
    return [
        gauge(
            "alert_open",
            "Open alerts by level.",
            *((levels[level], {"level": str(level)}) for level in SEVERITY if level is not Level.OK),
        ),
        gauge(
            "alert_route_up", "Whether a route delivered its last message.", *((not a.problem, b) for a, b in routes)
        ),
        gauge(
            "alert_queue_messages",
            "Messages that a route has not delivered yet.",
            *((report.queued.get(delivery.route, 0), route) for delivery, route in routes),
        ),
        gauge(
            "alert_queue_oldest_timestamp_seconds",
            "Time of the oldest message that a route has not delivered yet.",
            *((_seconds(report.oldest.get(delivery.route)), route) for delivery, route in routes),
        ),
        gauge(
            "alert_delivery_timestamp_seconds",
            "Time at which a route delivered last.",
            *((_seconds(delivery.delivered), route) for delivery, route in routes),
        ),
        counter(
            "alert_dropped_messages",
            "Messages that were dropped because the queue of a route was full.",
            *((delivery.dropped, route) for delivery, route in routes),
        ),
    ]


def _seconds(at: str | None) -> float | None:
    return None if at is None else ages.when(at).timestamp()
