# SPDX-License-Identifier: Apache-2.0
"""Deliver one message by one route: `python3 -m millrace.observe.alert.send`, a Parcel as JSON on standard input.

A process of its own, because millrace-alert.service ends it where the other side keeps it waiting: time limits of
sockets begin again with every byte that arrives. The secret comes through the pipe, never on the command line.
"""

import sys

from pydantic import Field

from millrace.observe.alert import journal_route, mail, syslog, webhook
from millrace.observe.alert.model import AlertMessage, MailRoute, Route, WebhookRoute
from millrace.system.command import command
from millrace.system.documents import Contract
from millrace.system.errors import Failed
from millrace.system.text import one_line


class Parcel(Contract):
    """What is to be delivered. `host` is the name of this server, `secret` is empty where the route has none."""

    route: Route = Field()
    secret: str
    message: AlertMessage
    host: str


def deliver(parcel: Parcel) -> None:
    """Deliver a message. Failed: it was not delivered; one sentence without the secret."""
    route = parcel.route
    if route.needs_secret and not parcel.secret:
        what = "URL" if isinstance(route, WebhookRoute) else "password"
        raise Failed(
            f"the route has no {what}: {command('millrace alert route remove', route.name)}, then add it again"
        )
    try:
        if isinstance(route, MailRoute):
            mail.send(route, parcel.secret, parcel.message, parcel.host)
        elif isinstance(route, WebhookRoute):
            webhook.send(parcel.secret, parcel.message, parcel.host, route.ca)
        elif route.host:
            syslog.send(route, parcel.message, parcel.host)
        else:
            journal_route.send(parcel.message, parcel.host)
    except OSError as error:
        where = f"{route.host}: " if route.host else "the journal: "
        raise Failed(f"{where}{error.strerror or error or type(error).__name__}") from error


def main() -> int:
    """Deliver what standard input holds; exit status 1 with one sentence on standard error where that fails."""
    parcel = Parcel.model_validate_json(sys.stdin.read())
    try:
        deliver(parcel)
    except Failed as error:
        print(one_line(str(error)), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
