# SPDX-License-Identifier: Apache-2.0
"""A message in words: one line, the whole of it, and as JSON for programs; pure."""

from millrace.observe.alert.model import Alert, AlertMessage
from millrace.system.documents import Contract, Count
from millrace.system.text import one_line


class Payload(Contract):
    """The body that a webhook gets. `text` is what chat services show; `id` is the same if it comes twice."""

    schema_version: int = 1
    id: str
    host: str
    event: str
    at: str
    text: str
    alerts: list[Alert]
    number: Count


def subject(message: AlertMessage, host: str) -> str:
    """Return the message on one line, beginning with the server."""
    return one_line(f"[{host}] {_title(message)}")


def body(message: AlertMessage, host: str) -> str:
    """Return the message with each problem, its remedy and when it began."""
    lines = [f"{subject(message, host)}", ""]
    if message.note:
        lines += [message.note, ""]
    for alert in message.alerts:
        lines.append(one_line(f"{alert.level}: {alert.sentence}"))
        if alert.todo and message.event != "closed":
            lines.append(one_line(f"To do: {alert.todo}"))
        until = f", ended {message.at}" if message.event == "closed" else ""
        lines += [f"Since {alert.since}{until} ({one_line(alert.key)})", ""]
    if message.event in ("opened", "worse"):
        lines += ["All open alerts: millrace alert list, or the web console of the server.", ""]
    return "\n".join(lines)


def payload(message: AlertMessage, host: str) -> Payload:
    """Return the message for programs."""
    return Payload(
        id=identifier(message, host),
        host=host,
        event=message.event,
        at=message.at,
        text=body(message, host).strip(),
        alerts=message.alerts,
        number=message.number,
    )


def identifier(message: AlertMessage, host: str) -> str:
    """Return the same id for each attempt to deliver a message, so that a receiver recognises a repetition."""
    stamp = "".join(one for one in message.at if one.isdigit())
    return f"{message.number}.{stamp}@{host}"


def _title(message: AlertMessage) -> str:
    alerts = message.alerts
    if message.event == "test":
        return "Test: alerts of this server arrive here"
    if message.event == "daily":
        return message.note
    if len(alerts) == 1:
        title = f"{alerts[0].level}: {alerts[0].sentence}"
        return {"opened": title, "worse": f"Worse: {title}", "closed": f"Ended: {alerts[0].sentence}"}[message.event]
    what = {"opened": "problems began", "worse": "problems got worse", "closed": "problems ended"}[message.event]
    return f"{len(alerts)} {what}, first: {alerts[0].level}: {alerts[0].sentence}"
