# SPDX-License-Identifier: Apache-2.0
"""millrace-alert.service: reads the health document, keeps the queue, delivers.

A service that stays: started with each health document it would take Python's start twice a minute, and the pauses
between attempts would need a timer. It reads what everybody may read and its credentials, and writes its own files.
"""

import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from millrace.observe.alert import queue
from millrace.observe.alert.attempt import Attempt
from millrace.observe.alert.model import (
    AlertMessage,
    AlertState,
    Queued,
    Report,
    Route,
    Routes,
    RouteSecrets,
    TestRequest,
    TestResult,
)
from millrace.observe.alert.send import Parcel
from millrace.observe.health.checks import alerts
from millrace.observe.health.current import STALE_SECONDS, overdue
from millrace.observe.health.model import Health, Level
from millrace.system import ages, paths
from millrace.system.documents import parse_model, read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.units import notify

Document = TypeVar("Document", bound=BaseModel)

# Seconds between two checks of the files' times.
PAUSE = 1.0
# Results of test messages that are kept until the command that started them reads them.
TESTS = 20
ROUTES, SECRETS = "routes", "secrets"
"""The names of the credentials in the unit."""
TEST_FILE = "test.json"


class Delivering(Protocol):
    """An attempt to deliver, as millrace.observe.alert.attempt makes it."""

    def ended(self) -> bool:
        """Whether it is over."""

    def problem(self) -> str | None:
        """Return why it failed; None where it was delivered."""


class AlertService:
    """The service between two rounds; `begin` starts an attempt, `now` is the time, `uptime` one that never jumps."""

    def __init__(
        self,
        routes: Iterable[Route],
        secrets: RouteSecrets,
        begin: Callable[[Parcel], Delivering] = Attempt,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        uptime: Callable[[], float] = time.monotonic,
    ) -> None:
        self._routes = {route.name: route for route in routes}
        self._secrets = secrets.secrets
        self._begin, self._now, self._uptime = begin, now, uptime
        self._health = _Watched(paths.health_file(), Health)
        self._tests = _Watched(paths.alert_dir() / TEST_FILE, TestRequest)
        self._changed = uptime()
        self._under_way: dict[str, tuple[Queued, Delivering]] = {}
        self._testing: list[tuple[TestResult, Delivering]] = []
        self._results: list[TestResult] = []
        self._kept: dict[Path, BaseModel] = {}
        self._unwritten: dict[Path, str] = {}
        self._held_from: float | None = None
        # What kept the messages from their receiver may have been mended before the restart.
        self.state = queue.at_once(queue.routed(_recorded(), list(self._routes.values()), self._now()), self._routes)

    def step(self) -> None:
        """Run one round of checks and deliveries; never wait for a receiver."""
        routes = list(self._routes.values())
        health = self._health_now()
        if health is not None:
            self.state = queue.checked(self.state, _of_others(health), routes)
        self._release()
        self.state = queue.greeted(self.state, routes, health, self._now().astimezone())
        self._finish()
        # Before an attempt begins: what is delivered twice is better than what is forgotten.
        self._keep()
        for queued in queue.due(self.state, self._under_way, self._now().timestamp()):
            self._under_way[queued.route] = (queued, self._begin(self._parcel(queued.route, queued.message)))
        self._test()

    def _release(self) -> None:
        """Queue what began, once documents that follow at once have been awaited."""
        if self.state.held and self._held_from is None:
            self._held_from = self._uptime()
        if self._held_from is not None and self._uptime() - self._held_from >= queue.HOLD_SECONDS:
            self.state = queue.released(self.state, self._stamp(), list(self._routes))
        if not self.state.held:
            self._held_from = None

    def _health_now(self) -> Health | None:
        """The health document; one that has not changed for too long says so first."""
        if self._health.changed():
            self._changed = self._uptime()
        health = self._health.document
        if health is None or self._uptime() - self._changed <= STALE_SECONDS:
            return health
        at = ages.when(health.at) + timedelta(seconds=STALE_SECONDS)
        findings = [overdue(health.at), *health.findings]
        return health.model_copy(update={"at": at.isoformat(), "level": Level.FAIL, "findings": findings})

    def _finish(self) -> None:
        for name, (queued, attempt) in list(self._under_way.items()):
            if not attempt.ended():
                continue
            del self._under_way[name]
            problem = attempt.problem()
            if problem is None:
                self.state = queue.delivered(self.state, queued, self._stamp())
            else:
                _log(f"{name}: {problem}")
                self.state = queue.failed(self.state, queued, problem, self._now().timestamp())

    def _test(self) -> None:
        if self._tests.changed() and (request := self._tests.document):
            message = AlertMessage(number=0, event="test", at=self._stamp())
            for name in request.routes:
                if name in self._routes:
                    result = TestResult(id=request.id, route=name, problem=None)
                    self._testing.append((result, self._begin(self._parcel(name, message))))
        over = [(result, attempt) for result, attempt in self._testing if attempt.ended()]
        self._testing = [pair for pair in self._testing if pair not in over]
        results = [result.model_copy(update={"problem": attempt.problem()}) for result, attempt in over]
        self.state = queue.at_once(self.state, [result.route for result in results if result.problem is None])
        self._results += results
        del self._results[:-TESTS]

    def _parcel(self, route: str, message: AlertMessage) -> Parcel:
        secret = self._secrets.get(route, "")
        return Parcel(route=self._routes[route], secret=secret, message=message, host=socket.gethostname())

    def _keep(self) -> None:
        # The time of a document that changed nothing is not worth a write to the boot drive twice a minute.
        self._write(paths.alert_state_file(), self.state.model_copy(update={"health_at": None}))
        report = Report(
            open=self.state.open,
            deliveries=self.state.deliveries,
            queued=dict(Counter(queued.route for queued in self.state.queue)),
            # the first of each route: they wait in their order
            oldest={queued.route: queued.message.at for queued in reversed(self.state.queue)},
            tests=self._results,
        )
        self._write(paths.alert_report_file(), report)

    def _write(self, path: Path, document: BaseModel) -> None:
        if self._kept.get(path) == document:
            return
        try:
            write_model(path, document)
        except OSError as error:
            # A boot drive that is full or fails is what has to be reported; the next round tries it again.
            why = error.strerror or type(error).__name__
            if self._unwritten.get(path) != why:
                _log(f"{path} cannot be written: {why}")
            self._unwritten[path] = why
            return
        self._unwritten.pop(path, None)
        self._kept[path] = document

    def _stamp(self) -> str:
        return self._now().isoformat(timespec="seconds")


class _Watched(Generic[Document]):
    """A document that others replace, read when it is another file."""

    def __init__(self, path: Path, kind: type[Document]) -> None:
        self._path, self._kind = path, kind
        self._seen: tuple[int, int] | None = None
        self.document: Document | None = None

    def changed(self) -> bool:
        """Whether there was another one since the last call; one that cannot be read leaves the last one."""
        identity = _identity(self._path)
        if identity is None or identity == self._seen:
            return False
        self._seen = identity
        try:
            self.document = read_model(self._path, self._kind)
        except MillraceError as error:
            _log(str(error))
            return False
        return True


def _identity(path: Path) -> tuple[int, int] | None:
    """What another file at this path does not have; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def run() -> None:
    """Deliver until the process is ended. Where the routes cannot be read, return when their file is another one."""
    credentials = Path(os.environ["CREDENTIALS_DIRECTORY"])
    given = (credentials / ROUTES).read_bytes()
    try:
        # a sentence names the file that an administrator can mend, and not the credential
        routes = parse_model(given, paths.alert_routes_file(), Routes)
    except MillraceError as error:
        _wait_for_others(given, str(error))
        return
    service = AlertService(routes.routes, _secrets(credentials / SECRETS))
    while True:
        service.step()
        _pause()


def _pause() -> None:
    """Wait for the next round. A service that hangs delivers nothing and looks well: systemd hears of each round."""
    with suppress(OSError):
        notify(os.environ.get("NOTIFY_SOCKET"), "WATCHDOG=1")
    time.sleep(PAUSE)


def _wait_for_others(given: bytes, problem: str) -> None:
    """Report the problem of these routes once, and wait until there are others: systemd then starts the service again.

    Ended at once it would be started every ten seconds, each time with a line in the journal.
    """
    _log(problem)
    try:
        write_model(paths.alert_report_file(), Report(open=[], deliveries=[], queued={}, tests=[], problem=problem))
    except OSError as error:
        _log(f"{paths.alert_report_file()} cannot be written: {error.strerror}")
    file = paths.alert_routes_file()
    seen = _identity(file)
    with suppress(OSError):
        # mended while this process started; after that its time says so, also where it cannot be read
        if file.read_bytes() != given:
            return
    while seen is not None and _identity(file) == seen:
        _pause()


def _recorded() -> AlertState:
    """The state before a restart; an empty one, which reports again what is open, where it cannot be read."""
    if not paths.alert_state_file().exists():
        return AlertState()
    try:
        return read_model(paths.alert_state_file(), AlertState)
    except MillraceError as error:
        _log(str(error))
        return AlertState()


def _of_others(health: Health) -> Health:
    """What the service has to report; that it does not run would arrive when it runs again."""
    own = {f"{alerts.NAME}/{kind}" for kind in (alerts.STOPPED, alerts.ROUTES)}
    return health.model_copy(update={"findings": [one for one in health.findings if one.key not in own]})


def _secrets(path: Path) -> RouteSecrets:
    """The secrets; none where they cannot be read: each route without one says so, and the others deliver."""
    try:
        return read_model(path, RouteSecrets)
    except MillraceError as error:
        _log(str(error))
        return RouteSecrets()


def _log(sentence: str) -> None:
    print(f"millrace: {sentence}", file=sys.stderr, flush=True)
