# SPDX-License-Identifier: Apache-2.0
"""The service follows the health document, survives a restart and a dead receiver, and never waits for anybody."""

import json
import socket
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.alert import queue, service
from millrace.observe.alert.model import AlertState, Report, Route, Routes, RouteSecrets, TestRequest
from millrace.observe.alert.send import Parcel
from millrace.observe.alert.service import AlertService
from millrace.observe.health.deliveries import Delivery as Delivered
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.files import write_text
from tests.unit.observe.alert.samples import BEGAN, HOOK, LOG, URL, finding, health, stamp


class Delivery:
    """An attempt that ends when the test says how."""

    def __init__(self, parcel: Parcel) -> None:
        self.parcel = parcel
        self.over = False
        self.why: str | None = None

    def end(self, problem: str | None = None) -> None:
        self.over, self.why = True, problem

    def ended(self) -> bool:
        return self.over

    def problem(self) -> str | None:
        assert self.over
        return self.why


class World:
    """A server with a service of these routes; `begun` are the attempts so far."""

    def __init__(self, routes: Sequence[Route] = (HOOK,)) -> None:
        self.begun: list[Delivery] = []
        self.seconds = 0.0
        self.routes = routes
        self.service = self.start()

    def start(self) -> AlertService:
        """A service with the files that there are, as after a restart."""
        secrets = RouteSecrets(secrets={"chat": URL})
        return AlertService(self.routes, secrets, self._begin, self.now, lambda: self.seconds)

    def _begin(self, parcel: Parcel) -> Delivery:
        self.begun.append(Delivery(parcel))
        return self.begun[-1]

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=self.seconds)

    def document(self, *findings: HealthFinding) -> None:
        """Health is checked now, and the service looks."""
        write_model(paths.health_file(), health(*findings, seconds=self.seconds))
        self.service.step()

    def look(self, *findings: HealthFinding) -> None:
        """The same, and what began is held no longer."""
        self.document(*findings)
        if self.service.state.held:
            self.later(queue.HOLD_SECONDS)

    def later(self, seconds: float) -> None:
        self.seconds += seconds
        self.service.step()

    @property
    def events(self) -> list[str]:
        return [one.parcel.message.event for one in self.begun]

    @property
    def report(self) -> Report:
        return read_model(paths.alert_report_file(), Report)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return World()


def test_problem_is_delivered_when_it_begins_and_when_it_ends(world: World) -> None:
    world.look(finding())
    assert world.events == ["opened"]
    assert world.begun[0].parcel.secret == URL and world.begun[0].parcel.route == HOOK
    world.begun[0].end()
    for _ in range(3):
        world.seconds += 30
        world.look()
    assert world.events == ["opened", "closed"]
    world.begun[1].end()
    world.later(30)
    assert world.report.open == [] and world.report.queued == {}
    assert world.report.deliveries[0].delivered is not None


def test_service_does_not_report_that_it_did_not_run(world: World) -> None:
    world.look(finding("alerts", "", kind="stopped"), finding("alerts", "", kind="routes"))
    world.later(30)
    assert world.events == [] and world.report.open == []
    # another route that does not deliver is reported
    world.look(finding("alerts", "siem", kind="undelivered"))
    assert world.events == ["opened"]


def test_shelf_that_goes_in_several_documents_is_one_message(world: World) -> None:
    lost: list[HealthFinding] = []
    for array in ("data0", "data1", "data2", "log"):
        lost.append(finding("arrays", array, Level.FAIL))
        world.document(*lost)
        world.seconds += 1
    assert world.events == []
    world.document(*lost, finding("filesystem", "", Level.FAIL), finding("nfs", "", Level.FAIL))
    world.later(1)
    assert [len(one.parcel.message.alerts) for one in world.begun] == [6]


def test_news_is_held_for_five_seconds_from_the_first_and_no_longer(world: World) -> None:
    """A problem in each second, for half a minute: the first is not kept back by those that follow."""
    lost: list[HealthFinding] = []
    for number in range(6):
        lost.append(finding("drives", f"S{number}"))
        world.document(*lost)
        assert world.events == ([] if number < 5 else ["opened"])
        world.seconds += 1
    world.begun[0].end()
    assert len(world.begun[0].parcel.message.alerts) == 6
    # what comes after it has five seconds of its own
    world.document(*lost, finding("nfs", ""))
    world.later(4)
    assert world.events == ["opened"]
    world.later(1)
    assert world.events == ["opened", "opened"]


def test_news_that_is_held_survives_a_restart(world: World) -> None:
    world.document(finding())
    world.service = world.start()
    world.later(0)
    assert world.events == ["opened"]
    world.later(60)
    assert len(world.begun) == 1


def test_message_waits_over_a_restart_and_comes_once(world: World) -> None:
    world.look(finding())
    world.begun[0].end("chat.example.com replied with status 500")
    world.later(1)
    assert world.report.deliveries[0].problem == "chat.example.com replied with status 500"
    world.service = world.start()
    world.later(0)
    assert world.events == ["opened", "opened"]
    assert world.begun[0].parcel.message == world.begun[1].parcel.message
    world.begun[1].end()
    world.later(1)
    world.service = world.start()
    world.later(3600)
    assert len(world.begun) == 2


def test_end_is_delivered_where_each_check_is_late(world: World) -> None:
    """An overloaded server: between any two documents the service finds that the checks have stopped."""

    def check_late(*findings: HealthFinding) -> None:
        for _ in range(service.STALE_SECONDS + 10):
            world.later(1)
            for one in world.begun:
                one.end()
        world.look(*findings)

    world.look(finding())
    for _ in range(4):
        check_late()
    about = [(delivery.parcel.message.event, delivery.parcel.message.alerts[0].key) for delivery in world.begun]
    assert about.count(("closed", "arrays/data")) == 1 == about.count(("opened", "arrays/data"))


def test_receiver_that_was_dead_for_hours_gets_the_message_within_minutes(world: World) -> None:
    def check_for(minutes: int, problem: str | None) -> None:
        for _ in range(minutes):
            world.begun[-1].end(problem)
            world.seconds += 60
            world.look(finding())

    world.look(finding())
    check_for(100, "chat.example.com replied with status 500")
    assert world.report.queued == {"chat": 1} and list(world.report.oldest) == ["chat"]
    check_for(6, None)
    assert world.report.queued == world.report.oldest == {} and world.report.deliveries[0].problem is None


def test_news_and_a_test_that_arrives_end_the_pause_of_what_waits(world: World) -> None:
    world.look(finding())
    world.begun[0].end("chat.example.com replied with status 500")
    world.later(1)
    world.seconds += 1
    world.look(finding(), finding("nfs", ""))
    # the earlier one first, as the order is kept
    assert [delivery.parcel.message.number for delivery in world.begun] == [1, 1]
    world.begun[1].end("chat.example.com replied with status 500")
    write_model(paths.alert_dir() / service.TEST_FILE, TestRequest(id="a1", routes=["chat"]))
    world.later(1)
    assert world.events == ["opened", "opened", "test"]
    world.begun[2].end()
    world.later(1)
    world.later(0)
    assert world.events == ["opened", "opened", "test", "opened"]


def test_message_that_was_under_way_at_a_restart_is_tried_again(world: World) -> None:
    world.look(finding())
    world.service = world.start()
    world.later(1)
    assert world.events == ["opened", "opened"]


def test_route_that_hangs_delays_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    world = World([HOOK, LOG])
    world.look(finding())
    world.begun[1].end()
    world.seconds += 1
    world.look(finding(), finding("nfs", ""))
    routes = [(one.parcel.route.name, one.parcel.message.event) for one in world.begun]
    assert routes == [("chat", "opened"), ("log", "opened"), ("log", "opened")]


def test_health_that_is_not_checked_any_more_is_an_alert_of_its_own(world: World) -> None:
    world.look()
    world.later(service.STALE_SECONDS)
    assert world.events == []
    world.later(1)
    world.later(queue.HOLD_SECONDS)
    [one] = world.begun
    assert one.parcel.message.alerts[0].key == "health/stopped"
    world.later(30)
    assert len(world.begun) == 1


def test_clock_that_jumps_is_no_stopped_check(world: World) -> None:
    world.look()
    world.service._now = lambda: BEGAN + timedelta(days=300)
    world.service.step()
    assert world.events == []


def test_nothing_is_written_while_nothing_changes(world: World) -> None:
    world.look(finding())
    world.begun[0].end()
    world.later(30)
    before = paths.alert_state_file().stat().st_ino, paths.alert_report_file().stat().st_ino
    for _ in range(3):
        world.seconds += 30
        world.look(finding())
    assert (paths.alert_state_file().stat().st_ino, paths.alert_report_file().stat().st_ino) == before


def test_boot_drive_that_is_full_keeps_no_alert_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(service, "write_model", full)
    write_model(paths.health_file(), health(finding("root", "")))
    world.service.step()
    world.later(queue.HOLD_SECONDS)
    assert world.events == ["opened"]


def test_state_is_kept_as_soon_as_the_boot_drive_has_room_again(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(service, "write_model", full)
        write_model(paths.health_file(), health(finding()))
        for _ in range(9):
            world.later(1)
        world.begun[0].end()
        for _ in range(3):
            world.later(1)
    # a line for each file, not for each round
    assert len(capsys.readouterr().err.splitlines()) == 2
    world.later(1)
    kept = read_model(paths.alert_state_file(), AlertState)
    assert [alert.key for alert in kept.open] == ["arrays/data"] and kept.queue == []


def test_files_that_cannot_be_read_are_taken_as_none(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    paths.alert_state_file().parent.mkdir(parents=True)
    paths.alert_state_file().write_text("{")
    world.service = world.start()
    assert world.service.state == AlertState(deliveries=world.service.state.deliveries)
    world.look(finding())
    paths.health_file().write_text("{")
    world.later(1)
    assert world.events == ["opened"]
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_test_is_delivered_at_once_beside_what_waits(world: World) -> None:
    world.look(finding())
    write_model(paths.alert_dir() / service.TEST_FILE, TestRequest(id="a1", routes=["chat", "gone"]))
    world.later(1)
    assert world.events == ["opened", "test"]
    world.begun[1].end("chat.example.com redirects (status 302)")
    world.later(1)
    world.later(1)
    assert [(test_result.id, test_result.problem) for test_result in world.report.tests] == [
        ("a1", "chat.example.com redirects (status 302)")
    ]
    # what fails as a test is not tried again
    assert world.events == ["opened", "test"]


def test_report_has_no_secret_and_everybody_may_read_it(world: World) -> None:
    world.look(finding())
    assert "s3cret" not in paths.alert_report_file().read_text() + paths.alert_state_file().read_text()
    assert paths.alert_report_file().stat().st_mode & 0o777 == 0o644
    assert json.loads(paths.alert_report_file().read_text())["open"][0]["key"] == "arrays/data"


@pytest.mark.parametrize("secrets", ['{"schema_version": 1, "secrets": {}}', "{}", "", "{"])
def test_service_has_its_routes_from_its_credentials_whatever_became_of_the_secrets(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secrets: str
) -> None:
    write_model(tmp_path / "credentials/routes", Routes(routes=[LOG]))
    (tmp_path / "credentials/secrets").write_text(secrets)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "credentials"))

    class Over(Exception):
        pass

    def over(_: float) -> None:
        raise Over

    monkeypatch.setattr("time.sleep", over)
    with pytest.raises(Over):
        service.run()
    assert [delivery.route for delivery in world.report.deliveries] == ["log"]


class Stopped(Exception):
    """The service runs for longer than the test looks."""


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The credential of a service whose routes are damaged, as their file is."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    given = tmp_path / "credentials/routes"
    for path in (given, paths.alert_routes_file()):
        path.parent.mkdir(parents=True)
        path.write_text("{")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(given.parent))
    return given


def rounds(monkeypatch: pytest.MonkeyPatch, count: int, then: Callable[[], None] | None = None) -> list[float]:
    """The pauses of a service that runs for so many; then `then` happens, or the test ends it."""
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == count:
            if then is None:
                raise Stopped
            then()

    monkeypatch.setattr("time.sleep", pause)
    return pauses


def test_each_round_is_a_sign_of_life(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    credentials = tmp_path / "credentials"
    credentials.mkdir(exist_ok=True)
    (credentials / "routes").write_text(Routes(routes=[LOG]).model_dump_json())
    (credentials / "secrets").write_text("{}")
    rounds: list[float] = []

    def pause(seconds: float) -> None:
        rounds.append(seconds)
        if len(rounds) == 2:
            raise KeyboardInterrupt

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
        monkeypatch.setattr(time, "sleep", pause)
        with pytest.raises(KeyboardInterrupt):
            service.run()
        assert [manager.recv(100) for _ in rounds] == [b"WATCHDOG=1"] * 2
    # nobody listens any more: the next rounds deliver all the same
    rounds.clear()
    with pytest.raises(KeyboardInterrupt):
        service.run()


def test_service_with_damaged_routes_says_so_once_and_waits(
    damaged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds(monkeypatch, 3600)
    with pytest.raises(Stopped):
        service.run()
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"millrace: {paths.alert_routes_file()}: the document: is not valid JSON")
    assert str(damaged) not in line
    report = read_model(paths.alert_report_file(), Report)
    assert report.problem is not None and report.problem in line


@pytest.mark.parametrize("text", [None, "{}", "[]"])
def test_service_with_damaged_routes_ends_when_their_file_is_another(
    damaged: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    """systemd then starts it again with the file of now, or not at all where there is none."""
    file = paths.alert_routes_file()

    def replace() -> None:
        if text is None:
            file.unlink()
        else:
            write_text(file, text)

    pauses = rounds(monkeypatch, 5, replace)
    service.run()
    assert len(pauses) == 5


def test_routes_that_were_mended_while_the_service_started_are_not_waited_for(
    damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(paths.alert_routes_file(), Routes(routes=[LOG]))
    pauses = rounds(monkeypatch, 1)
    service.run()
    assert pauses == []


def test_damaged_routes_that_nobody_may_read_are_waited_for_too(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Path.read_bytes

    def read(path: Path) -> bytes:
        if path == paths.alert_routes_file():
            raise PermissionError(13, "Permission denied")
        return plain(path)

    monkeypatch.setattr(Path, "read_bytes", read)
    pauses = rounds(monkeypatch, 5, paths.alert_routes_file().unlink)
    service.run()
    assert len(pauses) == 5


def test_queue_outlives_damaged_routes(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = queue.enqueued(AlertState(deliveries=[Delivered(route="chat")]), "opened", stamp(), [], ["chat"])
    write_model(paths.alert_state_file(), kept)
    rounds(monkeypatch, 3)
    with pytest.raises(Stopped):
        service.run()
    assert read_model(paths.alert_state_file(), AlertState) == kept
