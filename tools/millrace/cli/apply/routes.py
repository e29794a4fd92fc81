# SPDX-License-Identifier: Apache-2.0
"""Routes of alerts as the file wants them, and the secrets that it names."""

from dataclasses import dataclass, field

from millrace.cli.apply.model import RouteEntry
from millrace.cli.apply.reading import Reading
from millrace.observe.alert import routes
from millrace.observe.alert.model import Route, Security, WebhookRoute
from millrace.system.errors import BadInput

ALLOWED = {
    "mail": {"server", "security", "sender", "recipients", "user", "secret_file", "ca", "daily"},
    "webhook": {"host", "secret_file", "ca", "daily"},
    "syslog": {"server", "security", "ca", "daily"},
}


@dataclass
class WantedRoutes:
    """All routes after the change, and the secrets of the file by the name of their route."""

    routes: list[Route]
    secrets: dict[str, str] = field(default_factory=dict)


def with_routes(before: list[Route], reading: Reading, prune: bool) -> WantedRoutes:
    """Return the routes with those of the file; what is wrong is noted in the reading."""
    named = reading.document.alert_routes
    secrets = routes.secrets_of_routes() if named else {}
    wanted = WantedRoutes([route for route in before if not prune or named is None or route.name in named])
    for name, entry in (named or {}).items():
        place = ("alert_routes", name)
        secret = reading.secret((*place, "secret_file"), entry.secret_file) if entry.secret_file else None
        if entry.secret_file and secret is None:
            continue
        try:
            route = _route(name, entry, secret)
        except (ValueError, BadInput) as error:
            reading.problem(place, str(error))
            continue
        if secret is None and route not in before and _lacks_secret(route, before, secrets):
            what = "the URL of the webhook" if route.kind == "webhook" else "the password of its user"
            reading.problem(place, f"secret_file is missing: {what}, which this server does not have for this receiver")
            continue
        wanted.secrets |= {name: secret} if secret is not None else {}
        if any(other.name == name for other in wanted.routes):
            wanted.routes = [route if other.name == name else other for other in wanted.routes]
        else:
            wanted.routes.append(route)
    if len(wanted.routes) > routes.MOST:
        reading.problem(("alert_routes",), f"there would be {len(wanted.routes)} routes, {routes.MOST} are possible")
    return wanted


def entry_of(route: Route) -> RouteEntry:
    """Return a route as the file has it, without its secret."""
    values = route.model_dump(mode="json", exclude={"name", "host", "port"})
    if isinstance(route, WebhookRoute):
        values |= {"host": route.host}
    elif route.host is not None:
        values |= {"server": routes.server_of(route)}
    else:
        del values["security"]
    return RouteEntry.model_validate(values)


def _lacks_secret(route: Route, before: list[Route], secrets: dict[str, str]) -> bool:
    return route.needs_secret and route.name not in routes.kept_secrets(before, [route], secrets)


def _route(name: str, entry: RouteEntry, secret: str | None) -> Route:
    given = entry.model_dump(exclude_none=True, exclude={"kind"})
    other = sorted(set(given) - ALLOWED[entry.kind])
    if other:
        raise BadInput(f"{other[0]} is no key of a {entry.kind} route; allowed are {', '.join(ALLOWED[entry.kind])}")
    route = _made(name, entry, secret)
    return route if entry.ca is None else routes.trusting(route, entry.ca)


def _made(name: str, entry: RouteEntry, secret: str | None) -> Route:
    if entry.kind == "webhook":
        url = secret or entry.host
        if url is None:
            raise BadInput("secret_file is missing: a file with the URL of the webhook")
        return routes.webhook_route(name, url, entry.daily)
    if entry.kind == "syslog":
        security = Security(entry.security or "tls")
        return routes.syslog_route(name, entry.server, security, entry.daily)
    missing = [key for key in ("server", "sender", "recipients") if getattr(entry, key) is None]
    if missing or entry.server is None or entry.sender is None or entry.recipients is None:
        raise BadInput(f"{missing[0]} is missing")
    if entry.secret_file and not entry.user:
        raise BadInput("secret_file is the password of user: add user")
    security = Security(entry.security or "starttls")
    return routes.mail_route(name, entry.server, security, entry.sender, entry.recipients, entry.user, entry.daily)
