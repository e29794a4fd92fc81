# SPDX-License-Identifier: Apache-2.0
"""One delivery is one process with a deadline; its secret is on no command line."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from host.layout import REPO
from millrace.observe.alert.attempt import Attempt
from millrace.observe.alert.model import SyslogRoute
from millrace.observe.alert.send import Parcel
from millrace.system.wait import wait_until
from tests.unit.observe.alert.receivers import Receiver, closed_port, serving, silent
from tests.unit.observe.alert.samples import HOOK, mail_route, message


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPO / "tools"))


def parcel(url: str) -> Parcel:
    return Parcel(route=HOOK, secret=url, message=message(), host="nas7")


def ended(attempt: Attempt) -> str | None:
    assert wait_until(attempt.ended, bool, [0.05] * 600)
    return attempt.problem()


def test_message_arrives() -> None:
    made = Receiver()
    with serving(made):
        assert ended(Attempt(parcel(made.url))) is None
    assert len(made.bodies) == 1


def test_failure_is_the_sentence_of_the_delivery() -> None:
    made = Receiver()
    made.status = 500
    with serving(made):
        assert ended(Attempt(parcel(made.url))) == "127.0.0.1 replied with status 500"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda port: parcel(f"http://127.0.0.1:{port}/s3cret"), "https://chat.example.com: Connection refused"),
        (
            lambda port: Parcel(route=mail_route(port), secret="", message=message(), host="nas7"),
            "127.0.0.1: Connection refused",
        ),
    ],
)
def test_nobody_there_names_the_host_without_the_secret(make: Callable[[int], Parcel], sentence: str) -> None:
    assert ended(Attempt(make(closed_port()))) == sentence


def test_journal_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    route = SyslogRoute(name="log")
    script = (
        "import sys; from pathlib import Path; from millrace.system import paths; "
        "from millrace.observe.alert import send; "
        f"paths.ROOT = Path({str(tmp_path)!r}); sys.exit(send.main())"
    )
    made = Attempt(Parcel(route=route, secret="", message=message(), host="nas7"), [sys.executable, "-c", script])
    assert ended(made) == "the journal: No such file or directory"


def test_delivery_that_hangs_is_ended() -> None:
    with silent() as port:
        assert ended(Attempt(parcel(f"http://127.0.0.1:{port}/"), seconds=0.1)) == "no reply within 0.1 s"


def test_delivery_that_breaks_is_a_sentence_too() -> None:
    broken = Attempt(parcel("http://127.0.0.1/"), [sys.executable, "-c", "raise SystemExit(3)"])
    assert ended(broken) == "the delivery ended with status 3"
