# SPDX-License-Identifier: Apache-2.0
"""Lines that journald dropped of access logs are a warning for a day, and the journal is not read with every check."""

import json
from pathlib import Path

import pytest

from millrace.observe.health import access_losses
from millrace.observe.health.checks import access_log as check
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.serve.config import files
from millrace.serve.config.model import Config, DesiredShare, first_config
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.samples import Tools

DROPPED = "journalctl --quiet --no-pager --output=json --output-fields=MESSAGE"
MESSAGE = {"__REALTIME_TIMESTAMP": "1795971712000000", "MESSAGE": "Suppressed 900 messages from smbd.service"}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


def audit(on: bool) -> None:
    share = DesiredShare.model_validate(
        {"name": "lab", "type": "mixed", "project": 1001, "smb": {"audit": on, "users": ["admin"]}}
    )
    write_model(files.config_file(), Config.model_validate({**first_config().model_dump(), "shares": [share]}))


def asked(uptime: float, status: int = 0) -> list[list[str]]:
    """What is asked of the journal by a check at this time after the start."""
    tools = Tools({DROPPED: Result(status, json.dumps(MESSAGE) + "\n", "")})
    access_losses.write(Host(tools, None, lambda: uptime))
    return tools.calls


def test_lines_that_were_dropped_are_a_warning_that_names_share_and_count() -> None:
    audit(on=True)
    assert len(asked(1000)) == 1
    [finding] = check.check(Host(Tools()))
    assert (finding.key, finding.level) == ("access_log/gaps", Level.WARN)
    assert finding.sentence.startswith(
        "The access log of lab has gaps: the journal dropped 900 lines of the SMB server"
    )
    assert "LogRateLimitBurst=" in (finding.todo or "")


def test_journal_is_read_again_after_five_minutes_and_after_a_restart() -> None:
    audit(on=True)
    assert [len(asked(uptime)) for uptime in (1000, 1200, 1299, 1300, 20)] == [1, 0, 0, 1, 1]


def test_journal_that_cannot_be_read_stops_no_check() -> None:
    audit(on=True)
    assert asked(1000, status=1) and access_losses.last() is None
    assert check.check(Host(Tools())) == []


def test_desired_state_that_is_damaged_stops_no_check() -> None:
    audit(on=True)
    files.config_file().write_text("{")
    assert asked(1000) == [] and access_losses.last() is None


def test_share_without_an_access_log_is_not_asked_about_and_ends_the_finding() -> None:
    audit(on=True)
    asked(1000)
    audit(on=False)
    assert asked(2000) == [] and check.check(Host(Tools())) == []
    assert not access_losses.record_file().exists()
