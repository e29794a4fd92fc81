# SPDX-License-Identifier: Apache-2.0
"""The messages that wait, for each route in their order; pure. Times in seconds since 1970."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from millrace.observe.alert.diff import AlertDifference, difference, grouped
from millrace.observe.alert.model import Alert, AlertMessage, AlertState, Event, Queued, Route
from millrace.observe.health.deliveries import MOST, Delivery
from millrace.observe.health.model import Health, Level

# A message that was lost on the way is tried again after 15 s, then after twice as long each time, at most 5 minutes:
# a receiver that is back after a night has what it missed before an administrator asks for it.
FIRST_SECONDS, LONGEST_SECONDS = 15.0, 300.0
HOLD_SECONDS = 5.0
"""So long the first of new alerts waits for others: drives of a shelf that loses its power go one after the other."""


def checked(state: AlertState, health: Health, routes: Sequence[Route]) -> AlertState:
    """Update the alerts from a health document: they begin and end. What begins is held until `released`."""
    if state.health_at == health.at:
        return state
    names = [route.name for route in routes]
    change = difference(state.open, health)
    if any(alert.key in state.held for alert in change.closed):
        # no end without a beginning
        state = released(state, health.at, names)
    held = [*state.held, *(alert.key for alert in change.opened)]
    state = state.model_copy(update={"open": change.open, "held": held, "health_at": health.at})
    for event, alerts in _news(change, held):
        state = enqueued(state, event, health.at, alerts, names)
    return state


def released(state: AlertState, at: str, routes: Sequence[str]) -> AlertState:
    """Queue what is held, as it is now: a few apart, many in one message."""
    alerts = [one for one in state.open if one.key in state.held]
    state = state.model_copy(update={"held": []})
    for together in grouped(alerts):
        state = enqueued(state, "opened", at, together, routes)
    return state


def _news(found: AlertDifference, held: Sequence[str]) -> Iterable[tuple[Event, list[Alert]]]:
    for alerts in grouped([one for one in found.worse if one.key not in held]):
        yield "worse", alerts
    for alerts in grouped(found.closed):
        yield "closed", alerts


def enqueued(
    state: AlertState, event: Event, at: str, alerts: Sequence[Alert], routes: Sequence[str], note: str = ""
) -> AlertState:
    """Queue one message for each of `routes`; the oldest of a route whose queue is full is dropped and counted.

    What waits before it is tried at once: news need not wait for the pause after an old failure.
    """
    if not routes:
        return state
    state = at_once(state, routes)
    message = AlertMessage(number=state.number + 1, event=event, at=at, alerts=list(alerts), note=note)
    queue = [*state.queue, *(Queued(route=name, message=message) for name in routes)]
    deliveries = list(state.deliveries)
    for name in routes:
        waiting = [queued for queued in queue if queued.route == name]
        if len(waiting) > MOST:
            # Not the head: that one may be on its way.
            queue.remove(waiting[1])
            deliveries = _updated(deliveries, name, lambda delivery: {"dropped": delivery.dropped + 1})
    return state.model_copy(update={"number": message.number, "queue": queue, "deliveries": deliveries})


def at_once(state: AlertState, routes: Iterable[str]) -> AlertState:
    """Let what waits for these routes wait no longer; a further failure makes the pause longer, as before."""
    names = set(routes)
    queue = [one.model_copy(update={"not_before": 0.0}) if one.route in names else one for one in state.queue]
    return state.model_copy(update={"queue": queue})


def routed(state: AlertState, routes: Sequence[Route], now: datetime) -> AlertState:
    """Follow a change of the routes: what a removed one had is dropped, a new one gets what is open now."""
    names = [route.name for route in routes]
    known = [delivery.route for delivery in state.deliveries]
    state = released(state, now.astimezone().isoformat(timespec="seconds"), known)
    state = state.model_copy(
        update={
            "queue": [queued for queued in state.queue if queued.route in names],
            "deliveries": [
                *(delivery for delivery in state.deliveries if delivery.route in names),
                *(Delivery(route=route.name, daily=_past(route, now)) for route in routes if route.name not in known),
            ],
        }
    )
    new = [name for name in names if name not in known]
    at = now.astimezone().isoformat(timespec="seconds")
    for alerts in grouped(state.open):
        state = enqueued(state, "opened", at, alerts, new)
    return state


def greeted(state: AlertState, routes: Sequence[Route], health: Health | None, now: datetime) -> AlertState:
    """Queue the daily sign of life where its time has come; `now` is local time."""
    for route in routes:
        day = _past(route, now)
        had = next((delivery.daily for delivery in state.deliveries if delivery.route == route.name), day)
        if day is None or had == day:
            continue
        # A day in which the server was off is not made up for.
        level = health.level if health else Level.UNKNOWN
        count = len(state.open)
        problems = "no problem is open" if not count else f"{count} problem{'s are' if count > 1 else ' is'} open"
        note = f"Daily sign of life: health is {level}, {problems}."
        state = enqueued(state, "daily", now.isoformat(timespec="seconds"), state.open, [route.name], note)
        deliveries = _updated(state.deliveries, route.name, lambda _, day=day: {"daily": day})  # type: ignore[misc]
        state = state.model_copy(update={"deliveries": deliveries})
    return state


def _past(route: Route, now: datetime) -> str | None:
    """The day whose sign of life is due or over; None before its time and without one."""
    return now.date().isoformat() if route.daily and now.strftime("%H:%M") >= route.daily else None


def due(state: AlertState, busy: Iterable[str], now: float) -> list[Queued]:
    """Return the first message of each idle route, where its time has come: a later one never overtakes it."""
    heads: dict[str, Queued] = {}
    for queued in state.queue:
        heads.setdefault(queued.route, queued)
    # A clock that was put back does not hold anything for longer than the longest pause.
    return [
        queued
        for queued in heads.values()
        if queued.route not in set(busy) and not now < queued.not_before <= now + LONGEST_SECONDS
    ]


def delivered(state: AlertState, sent: Queued, at: str) -> AlertState:
    """Take a message off the queue; the route works."""
    return state.model_copy(
        update={
            "queue": [one for one in state.queue if not _same(one, sent)],
            "deliveries": _updated(state.deliveries, sent.route, lambda _: {"delivered": at, "problem": None}),
        }
    )


def failed(state: AlertState, tried: Queued, problem: str, now: float) -> AlertState:
    """Try a message again later."""
    # 2 ** 20 is longer than any pause; a year of attempts would overflow a float.
    pause = min(FIRST_SECONDS * 2 ** min(tried.attempts, 20), LONGEST_SECONDS)
    again = {"attempts": tried.attempts + 1, "not_before": now + pause}
    return state.model_copy(
        update={
            "queue": [queued.model_copy(update=again) if _same(queued, tried) else queued for queued in state.queue],
            "deliveries": _updated(state.deliveries, tried.route, lambda _: {"problem": problem}),
        }
    )


def _same(one: Queued, other: Queued) -> bool:
    return one.route == other.route and one.message.number == other.message.number


def _updated(
    deliveries: Sequence[Delivery], route: str, change: Callable[[Delivery], dict[str, object]]
) -> list[Delivery]:
    return [one.model_copy(update=change(one)) if one.route == route else one for one in deliveries]
