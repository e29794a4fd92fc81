# SPDX-License-Identifier: Apache-2.0
"""The state of the alert routes: the part of the report of millrace-alert.service that a health check reads.

The room `alert` imports this one, so the part is here and the rest of the report in millrace.observe.alert.model.
"""

from typing import Annotated, Literal, TypeVar

from pydantic import Field

from millrace.system import paths
from millrace.system.documents import Contract, Count, parse_model
from millrace.system.trees import nofollow

UNIT = "millrace-alert.service"

MOST = 200
"""Messages of one route that wait: a mail server that is dead for weeks does not fill the boot drive."""

RESTORE = "restore the file, or remove it and add the routes again: millrace alert route add --help"
"""The remedy for a file of routes that cannot be read; no verb writes over it."""

LARGEST = 4 << 20
"""Bytes of a report; some hundred alerts and the routes that are possible have a few hundred kB."""

RouteName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]


Kind = TypeVar("Kind", bound="Deliveries")


class Delivery(Contract):
    """How a route does: when it delivered last, and since then why not. `dropped` were too many for the queue."""

    route: RouteName
    delivered: str | None = None
    problem: str | None = None
    dropped: Count = 0
    daily: str | None = None


class Deliveries(Contract):
    """How all routes do. By route: `queued` messages, and `oldest`, when the first of them was made (ISO 8601).

    `problem` is why the service has no routes: their file cannot be read. It then follows nothing and delivers nothing.
    """

    schema_version: Literal[1] = 1
    deliveries: list[Delivery]
    queued: dict[str, Count]
    oldest: dict[str, str] = Field(default_factory=dict)
    problem: str | None = None


def reported(kind: type[Kind]) -> Kind | None:
    """Return what the service reports, or the part that `kind` is; None where it does not run.

    The service speaks with the network, and its directory is its own: no link is followed, and nothing is waited for.
    BadInput, Failed: the report cannot be read.
    """
    path = paths.alert_report_file()
    try:
        return parse_model(nofollow.read_file(path, LARGEST), path, kind)
    except FileNotFoundError:
        return None
