# SPDX-License-Identifier: Apache-2.0
"""The routes: a document without secrets, one with them for root alone, and the service that reads both."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from millrace.observe.alert import addresses, authority, webhook
from millrace.observe.alert.model import (
    ListedRoute,
    MailRoute,
    Report,
    Route,
    RouteList,
    Routes,
    RouteSecrets,
    Security,
    SyslogRoute,
    WebhookRoute,
)
from millrace.observe.health.deliveries import RESTORE, UNIT
from millrace.serve.config.store import config_lock
from millrace.system import paths
from millrace.system.command import command
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, LaterRelease, Refused
from millrace.system.run import Runner, must
from millrace.system.text import shown

MOST = 20
LONGEST_SECRET = 2000


def secrets_file() -> Path:
    """The secrets of the routes, for root alone."""
    return paths.alert_dir() / "secrets.json"


def load() -> list[Route]:
    """Return all routes. BadInput, LaterRelease: their file cannot be read, and nothing writes over it."""
    if not paths.alert_routes_file().exists():
        return []
    try:
        return read_model(paths.alert_routes_file(), Routes).routes
    except LaterRelease:
        raise
    except BadInput as error:
        raise BadInput(f"{error}; {RESTORE}") from error


def mail_route(
    name: str,
    server: str,
    security: Security,
    sender: str,
    recipients: list[str],
    user: str | None,
    daily: str | None,
) -> MailRoute:
    """Return a route by mail. ValueError: a part of it is not valid, with one sentence."""
    if user is not None and security is Security.NONE:
        raise ValueError("a password is not sent unencrypted: use --security starttls or tls, or no --user")
    if user is not None and (not user.isprintable() or not 0 < len(user) <= 200):
        raise ValueError("a user of a mail server is one line of 1 to 200 printable characters")
    host, port = addresses.mail_server(server, security)
    return MailRoute(
        name=addresses.route_name(name),
        daily=_daily(daily),
        host=host,
        port=port,
        security=security,
        sender=addresses.mail_address(sender),
        recipients=[addresses.mail_address(recipient) for recipient in recipients],
        user=user,
    )


def webhook_route(name: str, url: str, daily: str | None) -> WebhookRoute:
    """Return a route to a webhook; the URL is its secret. ValueError, BadInput: a part of it is not valid."""
    return WebhookRoute(name=addresses.route_name(name), daily=_daily(daily), host=webhook.host_of(url))


def syslog_route(name: str, server: str | None, security: Security, daily: str | None) -> SyslogRoute:
    """Return a route to a syslog receiver, or without one to the journal. ValueError: a part of it is not valid."""
    if server is None:
        return SyslogRoute(name=addresses.route_name(name), daily=_daily(daily))
    if security is Security.STARTTLS:
        raise ValueError("a syslog receiver is reached by tls or none")
    host, port = addresses.syslog_server(server, security)
    return SyslogRoute(name=addresses.route_name(name), daily=_daily(daily), host=host, port=port, security=security)


def trusting(route: Route, text: str) -> Route:
    """Return the route with the authorities in PEM text, which alone verify its receiver from then on.

    ValueError, BadInput: there is no certificate in it, or the route leads to nothing that has one.
    """
    if isinstance(route, SyslogRoute) and route.host is None:
        raise ValueError("the journal of this server has no certificate: use --ca with --server")
    if not _is_secure(route):
        raise ValueError("a receiver without encryption has no certificate: use --ca with TLS or STARTTLS, or https")
    trusting: Route = route.model_copy(update={"ca": authority.normal(text)})
    return trusting


def add(route: Route, secret: str | None, run: Runner) -> None:
    """Add a route and restart the service.

    BadInput: the secret is not valid. Refused: the name is taken. Failed: systemd does not start the service.
    """
    if secret is not None and (not secret.isprintable() or not 0 < len(secret) <= LONGEST_SECRET):
        raise BadInput(f"a password is one line of 1 to {LONGEST_SECRET} printable characters")
    with _changing() as (routes, secrets):
        if any(other.name == route.name for other in routes):
            raise Refused(
                f"there is a route {route.name} already: {command('millrace alert route remove', route.name)}"
            )
        if len(routes) >= MOST:
            raise Refused(f"there are {MOST} routes already: remove one of them (millrace alert route list)")
        _keep([*routes, route], {**secrets, **({} if secret is None else {route.name: secret})})
        must(run, ["systemctl", "restart", UNIT])


def remove(name: str, run: Runner) -> None:
    """Remove a route with its secret and its undelivered messages. Refused: there is no such route."""
    with _changing() as (routes, secrets):
        left = [route for route in routes if route.name != name]
        if len(left) == len(routes):
            raise Refused(unknown(name))
        if left:
            _keep(left, secrets)
            must(run, ["systemctl", "restart", UNIT])
            return
        # Without the file the unit does not start; what it knew is of no use to a later route.
        paths.alert_routes_file().unlink()
        secrets_file().unlink(missing_ok=True)
        must(run, ["systemctl", "stop", UNIT])


def replace(
    wanted: list[Route], run: Runner, given: Mapping[str, str] | None = None, present: list[Route] | None = None
) -> list[Route]:
    """Replace all routes; return those whose secret is missing, each to be removed and added again.

    `given` are secrets by the name of their route. Any other secret stays with a route that signs in where it did
    before. Refused: the routes are not `present`, where that is named. Failed: systemd does not start the service.
    """
    with _changing() as (old, secrets):
        if present is not None and old != present:
            raise Refused("another change of alert routes came between")
        kept = {**kept_secrets(old, wanted, secrets), **(given or {})}
        if wanted:
            _keep(wanted, kept)
            must(run, ["systemctl", "restart", UNIT])
        elif old:
            paths.alert_routes_file().unlink()
            secrets_file().unlink(missing_ok=True)
            must(run, ["systemctl", "stop", UNIT])
        return [route for route in wanted if route.needs_secret and route.name not in kept]


def kept_secrets(old: Iterable[Route], wanted: Iterable[Route], secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets of the wanted routes that sign in as before: same host, port, security and user."""
    before = {route.name: route for route in old}
    return {
        route.name: secrets[route.name]
        for route in wanted
        if route.name in secrets and (was := before.get(route.name)) and _receiver(was) == _receiver(route)
    }


def server_of(route: MailRoute | SyslogRoute) -> str:
    """Return the server of a route as `--server` takes it."""
    host = route.host or ""
    return f"{f'[{host}]' if ':' in host else host}:{route.port}"


def unknown(name: str) -> str:
    """Return the sentence for a route that does not exist."""
    return f"there is no route {shown(name)}: millrace alert route list"


def listed(report: Report | None) -> RouteList:
    """Return all routes with the state that the service reports."""
    known = {delivery.route: delivery for delivery in report.deliveries} if report else {}
    rows = []
    for route in load():
        did = known.get(route.name)
        rows.append(
            ListedRoute(
                name=route.name,
                kind=route.kind,
                to=_to(route),
                secure=_is_secure(route),
                daily=route.daily,
                delivered=did.delivered if did else None,
                problem=did.problem if did else None,
                waiting=report.queued.get(route.name, 0) if report else 0,
                authorities=authority.described(route.ca) if route.ca else [],
            )
        )
    return RouteList(routes=rows)


def _to(route: Route) -> str:
    if isinstance(route, MailRoute):
        return f"{', '.join(route.recipients)} by {server_of(route)}"
    if isinstance(route, WebhookRoute):
        return route.host
    return server_of(route) if route.host else "the journal"


def _is_secure(route: Route) -> bool:
    if isinstance(route, WebhookRoute):
        return route.host.startswith("https:")
    return route.security is not Security.NONE


def _receiver(route: Route) -> tuple[object, ...]:
    """The receiver of the secret of a route, and the security of its way; recipients and times are no part of it."""
    return (route.kind, *(getattr(route, key, None) for key in ("host", "port", "security", "user")))


def _daily(text: str | None) -> str | None:
    return None if text is None else addresses.clock(text)


@contextmanager
def _changing() -> Iterator[tuple[list[Route], dict[str, str]]]:
    """The routes and their secrets, while no other command changes them; Refused to anyone but root."""
    with config_lock():
        yield load(), secrets_of_routes()


def secrets_of_routes() -> dict[str, str]:
    """Return the secrets by route, for root alone.

    None where their file cannot be read: the routes that it had are removed and added again.
    """
    if not secrets_file().exists():
        return {}
    try:
        return read_model(secrets_file(), RouteSecrets).secrets
    except LaterRelease:
        raise
    except BadInput:
        return {}


def _keep(routes: list[Route], secrets: Mapping[str, str]) -> None:
    names = {one.name for one in routes}
    # The secrets first: a route never waits for one.
    kept = {name: secret for name, secret in secrets.items() if name in names}
    write_model(secrets_file(), RouteSecrets(secrets=kept), 0o600)
    write_model(paths.alert_routes_file(), Routes(routes=routes))
