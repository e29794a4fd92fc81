# SPDX-License-Identifier: Apache-2.0
"""Alerts, health documents and routes for the tests of alerts."""

from datetime import UTC, datetime, timedelta

from millrace.observe.alert.model import Alert, AlertMessage, MailRoute, Security, SyslogRoute, WebhookRoute
from millrace.observe.health.model import Health, HealthFinding, Level, worst

BEGAN = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
URL = "https://chat.example.com/hooks/s3cret"
HOOK = WebhookRoute(name="chat", host="https://chat.example.com")
LOG = SyslogRoute(name="log")


def stamp(seconds: float = 0) -> str:
    return (BEGAN + timedelta(seconds=seconds)).isoformat(timespec="seconds")


def finding(check: str = "arrays", subject: str = "data", level: Level = Level.WARN, kind: str = "") -> HealthFinding:
    todo = None if level is Level.OK else "Replace the drive."
    return HealthFinding(
        check=check, kind=kind, subject=subject, level=level, sentence=f"{check} {subject} is {level}.", todo=todo
    )


def health(*findings: HealthFinding, seconds: float = 0, starting: bool = False) -> Health:
    found = list(findings) or [finding(level=Level.OK)]
    return Health(at=stamp(seconds), level=worst(found), findings=found, starting=starting)


def alert(key: str = "arrays/data", level: Level = Level.FAIL, gone: str | None = None) -> Alert:
    check, _, subject = key.partition("/")
    return Alert(
        key=key,
        check=check,
        subject=subject,
        level=level,
        sentence=f"{check} {subject} is {level}.",
        todo="Replace the drive.",
        since=stamp(),
        gone=gone,
    )


def message(event: str = "opened", *alerts: Alert) -> AlertMessage:
    found = list(alerts) or [alert()]
    return AlertMessage.model_validate({"number": 7, "event": event, "at": stamp(), "alerts": found})


def mail_route(port: int = 587, security: Security = Security.NONE, user: str | None = None) -> MailRoute:
    return MailRoute(
        name="ops",
        host="127.0.0.1",
        port=port,
        security=security,
        sender="nas@example.com",
        recipients=["ops@example.com", "night@example.com"],
        user=user,
    )
