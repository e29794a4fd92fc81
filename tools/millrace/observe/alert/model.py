# SPDX-License-Identifier: Apache-2.0
"""Routes, alerts, messages and what is kept of them."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from millrace.observe.alert.authority import Authority
from millrace.observe.health.deliveries import Deliveries, Delivery, RouteName
from millrace.observe.health.model import Level
from millrace.system.documents import Contract, Count

Clock = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]


class Security(StrEnum):
    """How the connection to a mail server is encrypted."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


class MailRoute(Contract):
    """Mail by SMTP to `recipients`; `user` signs in with the secret of the route.

    `ca` of each route is PEM text: the authorities that its receiver is verified against, null for the public ones.
    """

    kind: Literal["mail"] = "mail"
    name: RouteName
    daily: Clock | None = None
    host: str
    port: int
    security: Security
    sender: str
    recipients: list[str]
    user: str | None = None
    ca: str | None = None

    @property
    def needs_secret(self) -> bool:
        """Whether it signs in with a password."""
        return self.user is not None


class WebhookRoute(Contract):
    """A POST of JSON. The URL is the secret of the route, as its path mostly is a password; `host` is what is shown."""

    kind: Literal["webhook"] = "webhook"
    name: RouteName
    daily: Clock | None = None
    host: str
    ca: str | None = None

    @property
    def needs_secret(self) -> bool:
        """Whether it needs its URL: always."""
        return True


class SyslogRoute(Contract):
    """Syslog: of `host` by TCP (RFC 5424), with `security` `tls` or `none`; without a host the journal of this server.

    `[journal] forward` of the policy takes the journal to another host.
    """

    kind: Literal["syslog"] = "syslog"
    name: RouteName
    daily: Clock | None = None
    host: str | None = None
    port: int | None = None
    security: Security = Security.TLS
    ca: str | None = None

    @property
    def needs_secret(self) -> bool:
        """Whether it needs a secret: never."""
        return False


Route = Annotated[MailRoute | WebhookRoute | SyslogRoute, Field(discriminator="kind")]


class Routes(Contract):
    """Where alerts go (`/var/lib/millrace/alert/routes.json`), without secrets."""

    schema_version: Literal[1] = 1
    routes: list[Route] = Field(default_factory=list)


class RouteSecrets(Contract):
    """The secret of each route that has one, by its name; readable by root alone."""

    schema_version: Literal[1] = 1
    secrets: dict[str, str] = Field(default_factory=dict)


class Alert(Contract):
    """A problem that is open: the finding of that key, and when it began (ISO 8601 in UTC).

    `gone` is when a health document was without it first: one that comes and goes is not reported each time.
    """

    key: str
    check: str
    subject: str
    level: Level
    sentence: str
    todo: str | None
    since: str
    gone: str | None = None


Event = Literal["opened", "worse", "closed", "test", "daily"]


class AlertMessage(Contract):
    """One thing to be reported. `number` counts the messages of this server; `at` is ISO 8601 in UTC."""

    number: int
    event: Event
    at: str
    alerts: list[Alert] = Field(default_factory=list)
    note: str = ""


class Queued(Contract):
    """A message that a route has not delivered yet. `not_before` is in seconds since 1970."""

    route: str
    message: AlertMessage
    attempts: Count = 0
    not_before: float = 0.0


class AlertState(Contract):
    """What millrace-alert.service keeps over a restart.

    `health_at` is the document that was followed last, `held` the keys of open alerts that wait for others.
    """

    schema_version: Literal[1] = 1
    number: Count = 0
    health_at: str | None = None
    open: list[Alert] = Field(default_factory=list)
    held: list[str] = Field(default_factory=list)
    queue: list[Queued] = Field(default_factory=list)
    deliveries: list[Delivery] = Field(default_factory=list)


class TestRequest(Contract):
    """A test that an administrator asks for (`/var/lib/millrace/alert/test.json`)."""

    # No test of pytest's.
    __test__ = False

    schema_version: Literal[1] = 1
    id: str
    routes: list[str]


class TestResult(Contract):
    """How a test ended: `problem` is null where the route delivered it."""

    __test__ = False

    id: str
    route: str
    problem: str | None


class Report(Deliveries):
    """What everybody may read of millrace-alert.service (`/run/millrace-alert/report.json`)."""

    open: list[Alert]
    tests: list[TestResult]


class Acknowledgement(Contract):
    """An administrator knows of an alert, as it began and as bad as it is."""

    key: str
    since: str
    level: Level
    who: str
    at: str


class Acknowledgements(Contract):
    """What was acknowledged (`/var/lib/millrace/alert/acknowledged.json`)."""

    schema_version: Literal[1] = 1
    acknowledged: list[Acknowledgement] = Field(default_factory=list)


class ListedAlert(Contract):
    """An alert that is open, and who acknowledged it."""

    key: str
    subject: str
    level: Level
    sentence: str
    todo: str | None
    since: str
    acknowledged: str | None


class AlertList(Contract):
    """`millrace alert list --json`: the open alerts, the worst first; `waiting` messages are not delivered yet."""

    schema_version: Literal[1] = 1
    alerts: list[ListedAlert]
    waiting: Count


class ListedRoute(Contract):
    """A route and how it does. `to` is where it leads, without secrets; `secure` is false where it is not encrypted.

    `authorities` are those of its own; without them the public ones verify its receiver.
    """

    name: str
    kind: Literal["mail", "webhook", "syslog"]
    to: str
    secure: bool
    daily: str | None
    delivered: str | None
    problem: str | None
    waiting: Count
    authorities: list[Authority] = Field(default_factory=list)


class RouteList(Contract):
    """`millrace alert route list --json`, and what there is after `add` or `remove`."""

    schema_version: Literal[1] = 1
    routes: list[ListedRoute]


class TestReport(Contract):
    """`millrace alert test --json`: one result for each route."""

    __test__ = False

    schema_version: Literal[1] = 1
    results: list[TestResult]
