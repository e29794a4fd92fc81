# SPDX-License-Identifier: Apache-2.0
"""What smbd counts, and who is connected."""

from pathlib import Path
from typing import NoReturn

import pytest

from millrace.errors import Failed
from millrace.metrics.family import exposition
from millrace.metrics.sources import smb
from millrace.system.run import Runner
from tests.fakes.files.running import server
from tests.unit.metrics.scrape import parsed, value


def test_traffic_sessions_and_open_files(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        found = parsed(exposition(smb.families()))
    assert value(found, "millrace_smbd_read_bytes_total") > 1 << 20
    assert value(found, "millrace_smbd_requests_total") > 0
    counted = [value(found, f"millrace_smbd_{name}") for name in ("clients", "sessions", "open_files")]
    assert counted == [1, 1, 1]


def test_server_without_smbd_has_no_figures_of_it(tmp_path: Path) -> None:
    with server(tmp_path):
        assert smb.families() == []


def test_smbd_that_shows_nothing_is_a_failure(tmp_path: Path) -> None:
    with server(tmp_path, user=1001) as box:
        box.provision()
        with pytest.raises(Failed, match="require"):
            smb.families()


def test_sessions_are_not_asked_for_where_nobody_is_connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(run: Runner) -> NoReturn:
        raise AssertionError("asked")

    with server(tmp_path) as box:
        box.provision()
        monkeypatch.setattr(smb, "smb_sessions", never)
        monkeypatch.setattr(smb.counters, "tcp_clients", lambda port: 0)
        found = parsed(exposition(smb.families()))
    counted = [value(found, f"millrace_smbd_{name}") for name in ("clients", "sessions", "open_files")]
    assert counted == [0, 0, 0]
