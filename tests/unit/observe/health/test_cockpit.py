# SPDX-License-Identifier: Apache-2.0
"""The web console is well where a browser gets its login page with the certificate of this server."""

import os
import time
from pathlib import Path

import pytest

from millrace.observe.health.checks import cockpit as check
from millrace.observe.health.host import Host, Probes
from millrace.observe.health.model import HealthFinding, Level
from millrace.serve.certificate import cockpit, files, pem
from millrace.system import paths
from millrace.system.web_probe import WebReply
from tests.fakes.certificates import certify, pair
from tests.fakes.samples import Tools
from tests.unit.observe.health.servers import WELL, shown


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    certify()


def finding(problem: str | None = None, certificate: bytes | None = None) -> HealthFinding:
    """What is found where the console, whose socket systemd holds, replies so."""
    reply = WebReply(problem, shown() if certificate is None else certificate)
    [found] = check.check(Host(Tools(WELL), Probes(lambda _: None, lambda _: None, lambda _: reply)))
    return found


def settled(seconds: float) -> None:
    """The certificate was changed so long ago."""
    then = time.time() - seconds
    os.utime(files.current(), (then, then), follow_symlinks=False)


def test_console_that_shows_its_page_is_well() -> None:
    settled(3600)
    one = finding()
    assert (one.level, one.sentence) == (Level.OK, "The web console shows its login page on port 9090.")


def test_console_that_spins_behind_its_socket_is_a_failure() -> None:
    one = finding("no reply within 30 s", b"")
    assert (one.level, one.sentence) == (
        Level.FAIL,
        "The web console does not respond on port 9090: no reply within 30 s.",
    )
    assert one.todo and one.todo.startswith("systemctl restart cockpit.service")


def test_earlier_certificate_is_a_warning_once_the_console_was_restarted() -> None:
    other = pem.first_der(pair("other")[0])
    settled(5)
    assert finding(certificate=other).level is Level.OK
    settled(3600)
    warning = finding(certificate=other)
    assert (warning.key, warning.level, warning.todo) == (
        "cockpit/certificate",
        Level.WARN,
        "systemctl restart cockpit.service",
    )
    # that an administrator put it there is a finding of another check
    cockpit.directory().mkdir(parents=True)
    (cockpit.directory() / "99-mine.cert").write_text("")
    assert finding(certificate=other).level is Level.OK
