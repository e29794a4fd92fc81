# SPDX-License-Identifier: Apache-2.0
"""The routes in an exported configuration, without their secrets."""

import shlex
from collections import Counter

from pydantic import JsonValue, ValidationError

from millrace.observe.alert import routes
from millrace.observe.alert.model import MailRoute, Route, Routes, WebhookRoute
from millrace.serve.config.carried import Carried, register
from millrace.system.command import command
from millrace.system.errors import BadInput
from millrace.system.model_errors import sentence
from millrace.system.run import Runner
from millrace.system.text import shown


class CarriedRoutes(Carried):
    """The routes of alerts. One keeps its secret where this server has the same route already."""

    key = "alert_routes"
    title = "alert routes"

    def exported(self) -> JsonValue:
        """Return the routes. BadInput: their file cannot be read."""
        return [route.model_dump(mode="json") for route in routes.load()]

    def check(self, value: JsonValue) -> None:
        """Verify the routes as if each were added. BadInput: one is not valid."""
        _parsed(value)

    def take(self, value: JsonValue, run: Runner) -> list[str]:
        """Replace the routes; return the remedy for each whose secret is missing.

        BadInput: a route is not valid. Failed: systemd does not start the service.
        """
        return [_remedy(route) for route in routes.replace(_parsed(value), run)]


def _parsed(value: JsonValue) -> list[Route]:
    try:
        new_routes = Routes.model_validate({"routes": value}).routes
    except ValidationError as error:
        raise BadInput(f"alert routes: {sentence(error)}") from error
    if len(new_routes) > routes.MOST:
        raise BadInput(f"alert routes: there are {len(new_routes)}, and {routes.MOST} are possible")
    twice = [name for name, count in Counter(route.name for route in new_routes).items() if count > 1]
    if twice:
        raise BadInput(f"alert routes: {twice[0]} is there twice")
    for route in new_routes:
        try:
            same = _made_again(route) == route
        except (ValueError, BadInput) as error:
            raise BadInput(f"alert route {route.name}: {error}") from error
        if not same:
            raise BadInput(f"alert route {route.name}: {shown(getattr(route, 'host', ''))} is not the name of a host")
    return new_routes


def _made_again(route: Route) -> Route:
    """The route as `alert route add` makes it: only that verifies each part."""
    made = _without_authority(route)
    return routes.trusting(made, route.ca) if route.ca is not None else made


def _without_authority(route: Route) -> Route:
    if isinstance(route, MailRoute):
        return routes.mail_route(
            route.name, routes.server_of(route), route.security, route.sender, route.recipients, route.user, route.daily
        )
    if isinstance(route, WebhookRoute):
        return routes.webhook_route(route.name, route.host, route.daily)
    return routes.syslog_route(route.name, routes.server_of(route) if route.host else None, route.security, route.daily)


def _remedy(route: Route) -> str:
    again, what = ["millrace", "alert", "route", "add", route.kind, route.name], "URL"
    if isinstance(route, MailRoute):
        what = "password"
        recipients = [word for recipient in route.recipients for word in ("--to", recipient)]
        again += [
            "--server",
            routes.server_of(route),
            "--security",
            route.security,
            "--from",
            route.sender,
            *recipients,
        ]
        again += ["--user", route.user or ""]
    again += ["--ca", "FILE"] if route.ca else []
    again += ["--daily", route.daily] if route.daily else []
    return (
        f"alert route {route.name} has no {what}, which no export contains: "
        f"{command('millrace alert route remove', route.name)}, then {shlex.join(again)}"
    )


register(CarriedRoutes())
