# SPDX-License-Identifier: Apache-2.0
"""What smbd counts, and who is connected."""

from pathlib import Path
from typing import NoReturn

import pytest

from millrace.observe.live.counters import ProtocolCounters
from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import smb
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.run import Runner
from tests.fakes.files.running import server
from tests.unit.observe.metrics.scrape import parsed, value


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
        series = parsed(exposition(smb.families()))
    counted = [value(series, f"millrace_smbd_{name}") for name in ("clients", "sessions", "open_files")]
    assert counted == [0, 0, 0]


def test_smbd_without_clients_is_asked_again_when_one_of_its_processes_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    clients = [0]

    def profile(run: Runner) -> tuple[ProtocolCounters, None]:
        asked.append(len(asked))
        return ProtocolCounters(read=len(asked), written=0, operations=1), None

    def read() -> float:
        return value(parsed(exposition(smb.families())), "millrace_smbd_read_bytes_total")

    with server(tmp_path) as box:
        box.provision()
        pid = int((box.root / "run/samba/smbd.pid").read_text())
        stat = box.root / f"proc/{pid}/stat"
        stat.parent.mkdir(parents=True, exist_ok=True)
        fields = ["S", *map(str, range(1, 52))]

        def ended(faults: int = 8, started: int = 19) -> None:
            fields[8], fields[19] = str(faults), str(started)
            stat.write_text(f"{pid} (smbd [a) b]) {' '.join(fields)}\n")

        ended()
        monkeypatch.setattr(smb.counters, "tcp_clients", lambda port: clients[0])
        monkeypatch.setattr(smb.counters, "smb", profile)
        monkeypatch.setattr(smb, "smb_sessions", lambda run: ([], None))
        assert (read(), read()) == (1, 1)
        assert oct(paths.smbd_idle_file().stat().st_mode) == "0o100600"
        # somebody is connected: it counts
        clients[0] = 1
        assert (read(), read()) == (2, 3)
        # and is gone, with its process
        clients[0] = 0
        ended(faults=900)
        assert (read(), read()) == (4, 4)
        ended(faults=900, started=7000)
        assert (read(), read()) == (5, 5)
        stat.unlink()
        assert (read(), read()) == (6, 7)
