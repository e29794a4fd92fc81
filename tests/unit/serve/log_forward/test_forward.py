# SPDX-License-Identifier: Apache-2.0
"""The journal is forwarded to the host that the policy names, and to none without one."""

import os
import time
from pathlib import Path

import pytest

from millrace.observe.health.checks import journal
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.plan.policy.policy_file import parse_policy
from millrace.serve.log_forward import forward
from millrace.serve.render import rendered
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result
from tests.fakes.commands import Commands
from tests.unit.boot.units import unit

UNIT = "systemd-journal-upload.service"
RESTART = ["systemctl", "--no-block", "restart", UNIT]
START = ["systemctl", "--no-block", "start", UNIT]
STOP = ["systemctl", "--no-block", "stop", UNIT]
HTTPS = "https://logs.example.com:19532"


class Systemd(Commands):
    """systemctl as forwarding uses it."""

    TAKEN = tuple(" ".join(argv) for argv in (RESTART, START, STOP))

    def __init__(self, status: int = 0) -> None:
        super().__init__()
        if status:
            self.broken["systemctl"] = Result(status, "", "Unit is on fire")


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server with the authorities of the system, long after its start."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(time, "monotonic", lambda: 1e6)
    authorities = tmp_path / forward.SYSTEM_CA.lstrip("/")
    authorities.parent.mkdir(parents=True)
    authorities.touch()
    return tmp_path


def policy(text: str) -> None:
    paths.policy_file().parent.mkdir(parents=True, exist_ok=True)
    paths.policy_file().write_text(text)


def settings() -> list[str]:
    return [line for line in forward.settings_file().read_text().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("https://logs.example.com", HTTPS),
        ("https://Logs.Example.COM:443/", "https://logs.example.com:443"),
        ("http://10.0.0.9", "http://10.0.0.9:19532"),
        ("https://[fd00::0:9]:65535", "https://[fd00::9]:65535"),
    ],
)
def test_receiver_has_one_spelling_with_its_port(written: str, meant: str) -> None:
    assert parse_policy(f'[journal]\nforward = "{written}"\n', "policy").journal.forward == meant


def test_without_a_receiver_nothing_is_written_or_started(root: Path) -> None:
    systemd = Systemd()
    assert forward.apply(systemd) == "The journal is not forwarded."
    assert systemd.calls == [] and not forward.settings_file().exists()


def test_named_receiver_gets_the_journal_over_tls_with_the_certificate_of_the_server() -> None:
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    systemd = Systemd()
    assert forward.apply(systemd) == f"The journal is forwarded to {HTTPS}."
    assert systemd.calls == [RESTART]
    credentials = f"/run/credentials/{UNIT}"
    assert settings() == [
        "[Upload]",
        f"URL={HTTPS}",
        f"ServerKeyFile={credentials}/key",
        f"ServerCertificateFile={credentials}/certificate",
        f"TrustedCertificateFile={forward.SYSTEM_CA}",
    ]
    # the names of the credentials are those that the unit is given
    loaded = {line.split(":")[0] for line in unit(UNIT)["LoadCredential"]}
    assert loaded == {"key", "certificate"}
    # the same policy again is no reason to break the connection; a unit that was stopped is started
    forward.apply(systemd)
    assert systemd.calls == [RESTART, START]


def test_unencrypted_where_http_is_written() -> None:
    policy('[journal]\nforward = "http://10.0.0.9:8080"\n')
    forward.apply(Systemd())
    assert settings() == ["[Upload]", "URL=http://10.0.0.9:8080"]


def test_authority_of_the_policy_is_the_one_that_is_checked(root: Path) -> None:
    (root / "etc/millrace").mkdir(parents=True)
    (root / "etc/millrace/logs-ca.pem").touch()
    policy(f'[journal]\nforward = "{HTTPS}"\nca = "/etc/millrace/logs-ca.pem"\n')
    forward.apply(Systemd())
    assert "TrustedCertificateFile=/etc/millrace/logs-ca.pem" in settings()


def test_authority_that_is_not_there_is_named_and_nothing_changes() -> None:
    policy(f'[journal]\nforward = "{HTTPS}"\nca = "/etc/millrace/none.pem"\n')
    systemd = Systemd()
    with pytest.raises(BadInput, match=r"/etc/millrace/none\.pem does not exist: copy the certificate"):
        forward.apply(systemd)
    assert systemd.calls == [] and not forward.settings_file().exists()


def test_authority_that_only_root_can_read_is_refused_with_the_remedy(root: Path) -> None:
    (root / forward.SYSTEM_CA.lstrip("/")).chmod(0o600)
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    with pytest.raises(BadInput, match=f"readable by root only: run chmod 644 {forward.SYSTEM_CA}"):
        forward.apply(Systemd())
    assert not forward.settings_file().exists()


def test_receiver_that_goes_from_the_policy_ends_forwarding() -> None:
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    systemd = Systemd()
    forward.apply(systemd)
    policy("")
    assert forward.apply(systemd) == "The journal is not forwarded."
    assert systemd.calls == [RESTART, STOP] and not forward.settings_file().exists()


def test_settings_of_an_administrator_stay_where_the_policy_names_no_receiver() -> None:
    forward.settings_file().parent.mkdir(parents=True)
    forward.settings_file().write_text("[Upload]\nURL=https://own\n")
    systemd = Systemd()
    assert forward.apply(systemd).startswith("/etc/systemd/journal-upload.conf is not managed by Millrace")
    assert systemd.calls == [] and settings() == ["[Upload]", "URL=https://own"]


def test_settings_of_an_administrator_are_kept_as_a_copy_where_the_policy_names_a_receiver() -> None:
    forward.settings_file().parent.mkdir(parents=True)
    forward.settings_file().write_text("[Upload]\nURL=https://own\n")
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    forward.apply(Systemd())
    assert f"URL={HTTPS}" in settings()
    [copy] = rendered.aside_dir().iterdir()
    assert copy.name.startswith("journal-upload.conf.") and copy.read_text() == "[Upload]\nURL=https://own\n"


def test_unit_that_systemd_refuses_is_an_error() -> None:
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    with pytest.raises(Failed, match="Unit is on fire"):
        forward.apply(Systemd(status=1))


def test_only_root_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **more: object) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Refused, match="requires root"):
        forward.apply(Systemd())


def test_unit_is_off_without_settings_and_tries_for_days() -> None:
    found = unit(UNIT)
    assert found["ConditionPathExists"] == [f"/{forward.SETTINGS}"]
    assert found["StartLimitIntervalSec"] == ["0"]
    assert "millrace-journal.service" in found["After"][0]


def age(path: Path, seconds: float) -> None:
    """Make a file that was written so long ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    then = time.time() - seconds
    os.utime(path, (then, then))


def levels() -> list[Level]:
    return [one.level for one in journal.check(Host(Systemd()))]


def test_health_says_nothing_where_nothing_is_forwarded() -> None:
    assert levels() == []


def test_health_warns_of_a_policy_that_was_not_applied() -> None:
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    [finding] = journal.check(Host(Systemd()))
    assert (finding.level, finding.todo) == (Level.WARN, "millrace journal apply")


@pytest.mark.parametrize(
    ("applied", "sent", "level"),
    [
        (30, None, Level.OK),
        (3600, None, Level.WARN),
        (3600, 30, Level.OK),
        (3600, 3000, Level.WARN),
        (30, 3000, Level.OK),
    ],
)
def test_health_warns_where_nothing_was_accepted_for_ten_minutes(applied: int, sent: int | None, level: Level) -> None:
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    forward.apply(Systemd())
    age(forward.settings_file(), applied)
    if sent is not None:
        age(forward.sent_file(), sent)
    [finding] = journal.check(Host(Systemd()))
    assert finding.level == level and HTTPS in finding.sentence
    if level == Level.WARN:
        assert f"for {min(applied, sent or applied) // 60} minutes" in finding.sentence
        assert finding.todo and f"journalctl -u {UNIT}" in finding.todo


def test_file_of_a_clock_that_was_ahead_does_not_hide_that_nothing_arrives() -> None:
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    forward.apply(Systemd())
    age(forward.settings_file(), 3600)
    age(forward.sent_file(), -1e9)
    assert levels() == [Level.WARN]
    age(forward.sent_file(), 30)
    assert levels() == [Level.OK]


def test_health_gives_a_server_its_time_after_a_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    forward.apply(Systemd())
    age(forward.settings_file(), 1e6)
    monkeypatch.setattr(time, "monotonic", lambda: 60.0)
    assert levels() == [Level.OK]


def test_health_does_not_take_what_goes_to_another_host_for_what_the_policy_names() -> None:
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    forward.apply(Systemd())
    age(forward.sent_file(), 30)
    policy('[journal]\nforward = "https://other.example.com"\n')
    [finding] = journal.check(Host(Systemd()))
    assert (finding.level, finding.todo) == (Level.WARN, "millrace journal apply")
    assert finding.sentence.endswith("and the server to another host.")


def test_health_says_that_nothing_was_accepted_yet() -> None:
    policy(f'[journal]\nforward = "{HTTPS}"\n')
    forward.apply(Systemd())
    [finding] = journal.check(Host(Systemd()))
    assert finding.level is Level.OK and "nothing has been accepted there yet" in finding.sentence
    age(forward.sent_file(), 30)
    [finding] = journal.check(Host(Systemd()))
    assert finding.sentence == f"The journal is forwarded to {HTTPS}."
