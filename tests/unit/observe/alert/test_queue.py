# SPDX-License-Identifier: Apache-2.0
"""Messages reach each route in their order, once; a dead server neither loses nor multiplies them."""

from datetime import datetime, timedelta

from millrace.observe.alert import queue
from millrace.observe.alert.model import AlertState
from millrace.observe.health.deliveries import MOST, Delivery
from millrace.observe.health.model import Level
from tests.unit.observe.alert.samples import BEGAN, HOOK, LOG, finding, health, stamp

NOW = BEGAN.timestamp()
ROUTES = [HOOK, LOG]


def known(*names: str) -> AlertState:
    return AlertState(deliveries=[Delivery(route=name) for name in names or ("chat", "log")])


def waiting(state: AlertState) -> list[tuple[str, str, int]]:
    return [(one.route, one.message.event, len(one.message.alerts)) for one in state.queue]


def test_each_route_gets_the_beginning_and_the_end_once() -> None:
    state = known()
    for seconds in (0, 30):
        state = queue.checked(state, health(finding(), seconds=seconds), ROUTES)
        state = queue.released(state, stamp(seconds), ["chat", "log"])
    assert waiting(state) == [("chat", "opened", 1), ("log", "opened", 1)]
    for seconds in (60, 90, 120):
        state = queue.checked(state, health(seconds=seconds), ROUTES)
    assert waiting(state)[2:] == [("chat", "closed", 1), ("log", "closed", 1)]
    assert [one.message.number for one in state.queue] == [1, 1, 2, 2]


def test_same_document_is_followed_once() -> None:
    state = queue.checked(known(), health(finding()), ROUTES)
    assert queue.checked(state, health(finding(), finding("nfs")), ROUTES) is state


def test_many_at_once_are_one_message_for_each_route() -> None:
    shelf = [finding("drives", f"S{number}", Level.FAIL) for number in range(12)]
    state = queue.released(queue.checked(known(), health(*shelf), ROUTES), stamp(5), ["chat", "log"])
    assert waiting(state) == [("chat", "opened", 12), ("log", "opened", 12)]


def test_what_is_held_is_reported_as_it_is_when_it_is_released() -> None:
    state = queue.checked(known("chat"), health(finding()), [HOOK])
    state = queue.checked(state, health(finding(level=Level.FAIL), seconds=2), [HOOK])
    assert waiting(state) == []
    state = queue.released(state, stamp(5), ["chat"])
    assert waiting(state) == [("chat", "opened", 1)] and state.queue[0].message.alerts[0].level is Level.FAIL
    state = queue.checked(state, health(finding(), seconds=30), [HOOK])
    state = queue.checked(state, health(finding(level=Level.FAIL), seconds=60), [HOOK])
    assert waiting(state)[1:] == [("chat", "worse", 1)]


def test_end_of_what_is_still_held_does_not_overtake_its_beginning() -> None:
    state = queue.checked(known("chat"), health(finding()), [HOOK])
    for seconds in (30, 60):
        state = queue.checked(state, health(seconds=seconds), [HOOK])
    assert waiting(state) == [("chat", "opened", 1), ("chat", "closed", 1)]
    assert state.held == []


def test_route_that_is_added_while_news_is_held_gets_it_once() -> None:
    state = queue.checked(known("log"), health(finding()), [LOG])
    state = queue.routed(state, [HOOK, LOG], BEGAN)
    assert sorted(waiting(state)) == [("chat", "opened", 1), ("log", "opened", 1)] and state.held == []


def test_later_message_waits_for_the_earlier_one_of_its_route() -> None:
    state = queue.enqueued(known(), "opened", stamp(), [], ["chat", "log"])
    state = queue.enqueued(state, "closed", stamp(), [], ["chat"])
    assert [(queued.route, queued.message.event) for queued in queue.due(state, [], NOW)] == [
        ("chat", "opened"),
        ("log", "opened"),
    ]
    assert [queued.route for queued in queue.due(state, ["chat"], NOW)] == ["log"]
    first = queue.due(state, [], NOW)[0]
    state = queue.delivered(state, first, stamp(5))
    assert queue.due(state, ["log"], NOW)[0].message.event == "closed"
    assert state.deliveries[0] == Delivery(route="chat", delivered=stamp(5))


def test_attempts_follow_with_growing_pauses_and_never_end() -> None:
    state, now = queue.enqueued(known(), "opened", stamp(), [], ["chat"]), NOW
    pauses = []
    for _ in range(60):
        [queued] = queue.due(state, [], now)
        state = queue.failed(state, queued, "chat.example.com replied with status 500", now)
        pauses.append(state.queue[0].not_before - now)
        assert queue.due(state, [], now + pauses[-1] - 1) == []
        now += pauses[-1]
    assert pauses[:4] == [15, 30, 60, 120] and pauses[-1] == queue.LONGEST_SECONDS
    assert state.deliveries[0].problem == "chat.example.com replied with status 500"
    state = queue.delivered(state, state.queue[0], stamp())
    assert state.deliveries[0].problem is None and not state.queue


def test_clock_that_was_put_back_holds_nothing() -> None:
    state = queue.enqueued(known(), "opened", stamp(), [], ["chat"])
    state = queue.failed(state, state.queue[0], "no", NOW)
    assert queue.due(state, [], NOW - 86400)


def test_queue_is_bounded_and_says_what_it_dropped() -> None:
    state = known()
    for _ in range(MOST + 5):
        state = queue.enqueued(state, "opened", stamp(), [], ["chat"])
    numbers = [one.message.number for one in state.queue]
    assert len(numbers) == MOST
    # the first may be on its way; of the others the oldest go
    assert numbers[:2] == [1, 7] and numbers[-1] == MOST + 5
    assert [one.dropped for one in state.deliveries] == [5, 0]


def test_without_a_route_nothing_waits() -> None:
    state = queue.checked(AlertState(), health(finding()), [])
    assert state.queue == [] and len(state.open) == 1


def test_new_route_gets_what_is_open_and_a_removed_one_leaves_nothing() -> None:
    state = queue.checked(known("log"), health(finding()), [LOG])
    state = queue.routed(state, [HOOK], BEGAN)
    assert waiting(state) == [("chat", "opened", 1)]
    assert [one.route for one in state.deliveries] == ["chat"]
    # a restart adds nothing
    assert queue.routed(state, [HOOK], BEGAN) == state


def test_sign_of_life_comes_once_a_day_after_its_time() -> None:
    daily = HOOK.model_copy(update={"daily": "08:00"})
    morning = datetime(2026, 11, 22, 7, 59)
    state = queue.routed(AlertState(), [daily, LOG], morning)
    state = queue.greeted(state, [daily, LOG], health(), morning)
    assert waiting(state) == []
    for minutes in (1, 2, 600):
        state = queue.greeted(state, [daily, LOG], health(), morning + timedelta(minutes=minutes))
    assert waiting(state) == [("chat", "daily", 0)]
    assert state.queue[0].message.note == "Daily sign of life: health is OK, no problem is open."
    state = queue.greeted(state, [daily, LOG], None, morning + timedelta(days=1, minutes=1))
    assert state.queue[1].message.note == "Daily sign of life: health is UNKNOWN, no problem is open."


def test_route_that_is_added_after_its_time_begins_tomorrow() -> None:
    daily = HOOK.model_copy(update={"daily": "08:00"})
    noon = datetime(2026, 11, 22, 12, 0)
    state = queue.greeted(queue.routed(AlertState(), [daily], noon), [daily], health(), noon)
    assert waiting(state) == []
    assert waiting(queue.greeted(state, [daily], health(), noon + timedelta(days=1))) == [("chat", "daily", 0)]
