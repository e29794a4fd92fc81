# SPDX-License-Identifier: Apache-2.0
"""`millrace alert …`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar

import click

from millrace.system.errors import BadInput, Failed
from millrace.system.names import several
from millrace.system.output import Output, prints
from millrace.system.printing import Cell, table
from millrace.system.run import attempt
from millrace.system.text import shown
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.observe.alert.model import AlertList, Route, RouteList, TestReport

Made = TypeVar("Made")

_alerts = prints("millrace.observe.alert.model:AlertList")
_routes = prints("millrace.observe.alert.model:RouteList")
_name = click.argument("name", metavar="NAME")
_ca = click.option(
    "--ca",
    metavar="FILE",
    help="CA certificate in PEM format that alone verifies the receiver, instead of the public CAs; `-` reads stdin, "
    "after the line of a secret.",
)
_daily = click.option("--daily", metavar="HH:MM", help="Send a sign of life every day at this local time.")


@click.group(cls=VerbGroup)
def alert() -> None:
    """Report problems by mail, webhook or syslog: once when they begin, once when they end."""


@alert.command("list")
@_alerts
def list_alerts(show: Output) -> None:
    """List open alerts, the worst first."""
    from millrace.observe.alert import open_alerts

    show(open_alerts.alerts(), _alert_lines)


@alert.command()
@click.argument("keys", metavar="KEY…", nargs=-1, required=True)
@_alerts
def ack(keys: tuple[str, ...], show: Output) -> None:
    """Acknowledge alerts by the keys that `millrace alert list` shows; they stay listed until they end."""
    from millrace.observe.alert import open_alerts

    show(open_alerts.acknowledge(keys), _alert_lines)


@alert.command("test")
@click.argument("names", metavar="[ROUTE]…", nargs=-1)
@prints("millrace.observe.alert.model:TestReport")
def test_routes(names: tuple[str, ...], show: Output) -> None:
    """Deliver a test message by these routes, or by all; fail where one does not arrive."""
    from millrace.observe.alert import open_alerts

    show(open_alerts.test(names, attempt), _test_lines)


@alert.command(hidden=True)
def deliver() -> None:
    """Deliver alerts until the process ends; what millrace-alert.service runs."""
    from millrace.observe.alert import service

    service.run()


@alert.group(cls=VerbGroup)
def route() -> None:
    """Manage where alerts go."""


@route.group(cls=VerbGroup)
def add() -> None:
    """Add a route by mail, webhook or syslog."""


@add.command()
@_name
@click.option("--server", metavar="HOST[:PORT]", required=True, help="Mail server; the port follows --security.")
@click.option("--to", "recipients", metavar="ADDRESS", multiple=True, required=True, help="Recipient; repeatable.")
@click.option("--from", "sender", metavar="ADDRESS", required=True, help="Sender address.")
@click.option(
    "--security",
    type=click.Choice(["starttls", "tls", "none"]),
    default="starttls",
    show_default=True,
    help="Encryption: STARTTLS (port 587), TLS (465) or none (25).",
)
@click.option("--user", metavar="USER", help="User of the mail server; prompts for the password.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input, one line.")
@_ca
@_daily
@_routes
def mail(
    name: str,
    server: str,
    recipients: tuple[str, ...],
    sender: str,
    security: str,
    user: str | None,
    password_stdin: bool,
    ca: str | None,
    daily: str | None,
    show: Output,
) -> None:
    """Send alerts by mail."""
    from millrace.observe.alert import routes
    from millrace.observe.alert.model import Security
    from millrace.system.prompt import secret

    if password_stdin and user is None:
        raise click.UsageError("--password-stdin needs --user.")
    route = _valid(lambda: routes.mail_route(name, server, Security(security), sender, list(recipients), user, daily))
    password = secret("Password", password_stdin, "--password-stdin") if user is not None else None
    routes.add(_trusting(route, ca), password, attempt)
    _show_routes(show)


@add.command()
@_name
@click.option("--url-stdin", is_flag=True, help="Read the URL from standard input, one line.")
@_ca
@_daily
@_routes
def webhook(name: str, url_stdin: bool, ca: str | None, daily: str | None, show: Output) -> None:
    """Post alerts as JSON to a URL, which is kept like a password and never read from the command line."""
    from millrace.observe.alert import routes
    from millrace.system.prompt import secret

    url = secret("URL", url_stdin, "--url-stdin")
    route = _valid(lambda: routes.webhook_route(name, url, daily))
    routes.add(_trusting(route, ca), url, attempt)
    _show_routes(show)


@add.command()
@_name
@click.option(
    "--server",
    metavar="HOST[:PORT]",
    help="Syslog receiver (RFC 5424 by TCP); without it alerts are lines in the journal of this server.",
)
@click.option(
    "--security",
    type=click.Choice(["tls", "none"]),
    default="tls",
    show_default=True,
    help="Encryption of the connection to --server: TLS (port 6514) or none (514).",
)
@_ca
@_daily
@_routes
def syslog(name: str, server: str | None, security: str, ca: str | None, daily: str | None, show: Output) -> None:
    """Send alerts to a syslog receiver, or log them in the journal, which the policy can forward to another host."""
    from millrace.observe.alert import routes
    from millrace.observe.alert.model import Security

    route = _valid(lambda: routes.syslog_route(name, server, Security(security), daily))
    routes.add(_trusting(route, ca), None, attempt)
    _show_routes(show)


@route.command("list")
@_routes
def list_routes(show: Output) -> None:
    """List routes with their last delivery."""
    _show_routes(show)


@route.command()
@_name
@_routes
def remove(name: str, show: Output) -> None:
    """Remove a route with its secret and its undelivered messages."""
    from millrace.observe.alert import routes

    routes.remove(name, attempt)
    _show_routes(show)


def _trusting(route: "Route", ca: str | None) -> "Route":
    """The route with the authority in the file `ca`. BadInput: it cannot be read, or holds none that is valid."""
    from millrace.observe.alert import authority, routes

    if ca is None:
        return route
    try:
        with click.open_file(ca, encoding="ascii", errors="replace") if ca != "-" else nullcontext(sys.stdin) as file:
            text = file.read(authority.LONGEST_INPUT + 1)
    except OSError as error:
        raise BadInput(f"{shown(ca)} cannot be read: {error.strerror}") from error
    made = _valid(lambda: routes.trusting(route, text))
    _valid(lambda: authority.in_time(made.ca or ""))
    return made


def _valid(make: Callable[[], Made]) -> Made:
    """What `make` returns; BadInput where it refuses what was typed."""
    try:
        return make()
    except ValueError as error:
        raise BadInput(str(error)) from error


def _alert_lines(found: "AlertList") -> Iterator[str]:
    rows: list[list[Cell]] = []
    for one in found.alerts:
        by = f"acknowledged by {one.acknowledged}" if one.acknowledged else ""
        rows.append([one.level, one.key, one.since, [line for line in (one.sentence, one.todo, by) if line]])
    yield from table(("Level", "Key", "Since", "Problem"), rows)
    if not found.alerts:
        yield "No alert is open."
    if found.waiting:
        yield f"Not delivered yet: {found.waiting}. millrace alert route list shows the reason."


def _test_lines(found: "TestReport") -> Iterator[str]:
    for one in found.results:
        yield f"{one.route}: {one.problem or 'delivered'}"
    failed = [one.route for one in found.results if one.problem]
    if failed:
        raise Failed(f"the test message did not arrive by {several(failed)}")


def _show_routes(show: Output) -> None:
    from millrace.observe.alert import open_alerts, routes

    show(routes.listed(open_alerts.report()), _route_lines)


def _route_lines(route_list: "RouteList") -> Iterator[str]:
    rows: list[list[Cell]] = []
    for listed in route_list.routes:
        daily = f", sign of life at {listed.daily}" if listed.daily else ""
        about = [f"{listed.to}{'' if listed.secure else ', unencrypted'}{daily}"]
        about += [f"verified against {ca.subject}, which ends on {ca.not_after[:10]}" for ca in listed.authorities]
        about += [listed.problem] if listed.problem else []
        rows.append([listed.name, listed.kind, listed.delivered or "none yet", listed.waiting, about])
    yield from table(("Route", "Kind", "Last delivery", "Waiting", "Receiver"), rows, right=("Waiting",))
    if not route_list.routes:
        yield "There is no route: millrace alert route add --help"
