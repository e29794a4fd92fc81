# SPDX-License-Identifier: Apache-2.0
"""A source that fails, hangs or dies is reported as down, and the others go on."""

import os
import signal
import time
from pathlib import Path

import pytest

from millrace.observe.metrics.collect import SOURCES, collect
from millrace.observe.metrics.family import Family, gauge
from millrace.serve.share.usage import Usage
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Failed
from tests.fakes.files.running import server
from tests.unit.observe.metrics.scrape import parsed, value, values


def good() -> list[Family]:
    return [gauge("good", "Good.", (1, {}))]


def failing() -> list[Family]:
    raise Failed("smbd does not\nanswer")


def faulty() -> list[Family]:
    raise AssertionError("a fault of the program")


def hanging() -> list[Family]:
    signal.pause()
    return good()


def dying() -> list[Family]:
    os.kill(os.getpid(), signal.SIGKILL)
    return good()


def huge() -> list[Family]:
    return [gauge("huge", "Huge.", *((number, {"number": f"{number:064}"}) for number in range(5000)))]


def test_source_that_fails_is_down_and_the_others_go_on(capfd: pytest.CaptureFixture[str]) -> None:
    found = parsed(collect({"a": failing, "b": good, "c": faulty, "d": dying, "e": huge}))
    up = {one: value(found, "millrace_scrape_source_up", source=one) for one in "abcde"}
    assert up == {"a": 0, "b": 1, "c": 0, "d": 0, "e": 1}
    assert value(found, "millrace_good") == 1 and len(values(found, "millrace_huge")) == 5000
    said = capfd.readouterr().err.splitlines()
    assert any(line.startswith("millrace: no metrics of a: smbd does not") and "answer" in line for line in said)
    assert any("a fault of the program" in line for line in said) and len(said) == 3


def test_source_that_hangs_is_ended_at_the_deadline() -> None:
    began = time.monotonic()
    found = parsed(collect({"a": hanging, "b": good}, seconds=1.5))
    assert 1.4 < time.monotonic() - began < 6
    assert value(found, "millrace_scrape_source_up", source="a") == 0
    # on a busy host it begins later
    assert value(found, "millrace_scrape_source_duration_seconds", source="a") >= 0.5
    assert value(found, "millrace_good") == 1


def test_every_source_of_a_server_in_use_answers(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        box.shares()
        box.look()
        box.count(10)
        found = parsed(collect())
    down = [name for name in SOURCES if value(found, "millrace_scrape_source_up", source=name) != 1]
    assert down == []


@pytest.mark.parametrize("user", [0, 1001])
def test_server_without_a_pool_has_metrics_of_its_drives(tmp_path: Path, user: int) -> None:
    with server(tmp_path, user=user) as box:
        box.look()
        found = parsed(collect())
    assert len(values(found, "millrace_drive_size_bytes")) == 13
    assert not values(found, "millrace_array_running")
    assert min(values(found, "millrace_scrape_source_up")) == 1


def test_user_without_rights_gets_all_but_what_smbd_shows_to_root(tmp_path: Path) -> None:
    with server(tmp_path, user=1001) as box:
        box.provision()
        box.shares()
        box.look()
        box.count(10)
        found = parsed(collect())
    down = [name for name in SOURCES if value(found, "millrace_scrape_source_up", source=name) != 1]
    assert down == ["smb"]
    assert value(found, "millrace_share_used_bytes", share="models") == 6_600_000_000_000


def test_share_without_a_block_uses_nothing(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        box.shares()
        box.look()
        write_model(paths.usage_file(), Usage(at="2026-11-22T10:00:00+00:00", used={}))
        series = parsed(collect())
        paths.usage_file().unlink()
        unknown = parsed(collect())
    assert value(series, "millrace_share_used_bytes", share="models") == 0
    assert values(unknown, "millrace_share_used_bytes") == []
