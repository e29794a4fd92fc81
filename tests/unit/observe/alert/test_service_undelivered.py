# SPDX-License-Identifier: Apache-2.0
"""A route that does not deliver is an alert of its own: reported by the others, and once to itself when it is back."""

from collections import Counter
from pathlib import Path

import pytest

from millrace.observe.alert.model import Routes
from millrace.observe.health.checks import alerts
from millrace.observe.health.model import HealthFinding
from millrace.system import paths
from millrace.system.documents import write_model
from tests.unit.observe.alert.samples import HOOK, LOG, finding
from tests.unit.observe.alert.test_service import World
from tests.unit.observe.health.servers import host

WHY = "chat.example.com replied with status 500"


class Server(World):
    """A server whose health check reads the report of the service; `dead` are the routes whose receivers are down."""

    def __init__(self) -> None:
        self.dead = {"chat"}
        super().__init__([HOOK, LOG])
        write_model(paths.alert_routes_file(), Routes(routes=[HOOK, LOG]))

    def hours(self, count: float, *others: HealthFinding) -> None:
        """So many hours, with a health check in each half minute."""
        for _ in range(int(count * 120)):
            for one in self.begun:
                one.end(WHY if one.parcel.route.name in self.dead else None)
            self.document(*alerts.check(host(), self.now()), *others)
            self.later(10)
            self.seconds += 20

    def told(self, route: str, number: int = 0) -> list[tuple[str, str]]:
        """The messages that a route delivered from the attempt of this number on: event and key of the alert."""
        done = [one.parcel for one in self.begun[number:] if one.over and one.why is None]
        return [(one.message.event, one.message.alerts[0].key) for one in done if one.route.name == route]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return Server()


def test_dead_route_is_reported_once_by_the_others_and_does_not_fill_its_own_queue(server: Server) -> None:
    problem = finding("drives", "S1")
    server.hours(0.9, problem)
    assert server.told("log") == [("opened", "drives/S1")]
    server.hours(0.3, problem)
    undelivered = ("opened", "alerts/undelivered/chat")
    assert server.told("log") == [("opened", "drives/S1"), undelivered]
    # the problem, and that it was not delivered: no more of it in a day
    server.hours(24, problem)
    assert server.report.queued == {"chat": 2} and server.told("chat") == []
    assert server.told("log") == [("opened", "drives/S1"), undelivered]

    server.dead.clear()
    begun = len(server.begun)
    server.hours(0.3, problem)
    ended = ("closed", "alerts/undelivered/chat")
    assert Counter(server.told("chat", begun)) == Counter([("opened", "drives/S1"), undelivered, ended])
    assert server.told("log", begun) == [ended]
    assert [alert.key for alert in server.report.open] == ["drives/S1"] and server.report.queued == {}


def test_finding_ends_with_a_dead_route_that_is_removed(server: Server) -> None:
    server.hours(1.2, finding("drives", "S1"))
    assert [one.kind for one in alerts.check(host(), server.now())] == ["undelivered"]
    server.routes = [LOG]
    write_model(paths.alert_routes_file(), Routes(routes=[LOG]))
    server.service = server.start()
    server.later(1)
    assert [one.level.value for one in alerts.check(host(), server.now())] == ["OK"]
