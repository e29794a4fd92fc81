# SPDX-License-Identifier: Apache-2.0
"""The pool is written to, synced and read; what a client could plant there is not followed."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millrace.observe.health import heartbeat_client, heartbeat_daemon
from millrace.system import heartbeat, paths
from millrace.system.heartbeat import Heartbeat
from millrace.system.run import Result
from tests.fakes.samples import Tools
from tests.fakes.xfs import FSGEOMETRY, V5_OF_6_1, Xfs


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(heartbeat_daemon, "_is_mounted", lambda descriptor, mountpoint: True)
    (tmp_path / "pool").mkdir()
    return tmp_path / "pool"


def beat(pool: Path) -> Heartbeat:
    result = pool.parent / "heartbeat.json"
    heartbeat_daemon.record(str(pool), ".millrace", str(result))
    return Heartbeat.model_validate_json(result.read_text())


def test_a_pool_that_takes_and_returns_data(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    for _ in range(2):
        found = beat(pool)
        assert found.problem is None and found.size and found.free is not None and found.used is not None
    assert synced == [str(pool / ".millrace/heartbeat")] * 2
    assert oct((pool / ".millrace").stat().st_mode) == "0o40700"
    assert oct((pool / ".millrace/heartbeat").stat().st_mode) == "0o100600"


@pytest.mark.parametrize("call", ["open", "fsync", "pread", "fstatvfs"])
def test_whichever_call_fails_is_a_result(pool: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    beat(pool)

    def shut_down(*args: object, **kwargs: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(heartbeat_daemon.os, call, shut_down)
    found = beat(pool) if call != "open" else _without_open(pool)
    assert (found.problem, found.error, found.size) == ("Input/output error", "EIO", None)


def _without_open(pool: Path) -> Heartbeat:
    return beat(pool)


def test_other_content_than_was_written_is_a_result(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat_daemon.os, "pread", lambda *args: b"something else")
    assert beat(pool).error == "EUCLEAN"


@pytest.mark.parametrize("name", [".millrace", ".millrace/heartbeat"])
def test_a_link_is_not_followed(pool: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / "target"
    if name == ".millrace":
        target.mkdir()
    else:
        target.write_text("of somebody else")
        (pool / ".millrace").mkdir(mode=0o700)
    (pool / name).symlink_to(target)
    assert beat(pool).error in ("ELOOP", "ENOTDIR")
    assert target.is_dir() or target.read_text() == "of somebody else"


def test_a_directory_that_others_may_write_is_not_used(pool: Path) -> None:
    (pool / ".millrace").mkdir()
    (pool / ".millrace").chmod(0o777)
    assert beat(pool).error == "EPERM"
    assert not list((pool / ".millrace").iterdir())


def test_features_of_xfs_are_those_that_its_ioctl_shows(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert beat(pool).features is None
    fake = Xfs(V5_OF_6_1)
    monkeypatch.setattr(fcntl, "ioctl", fake.ioctl)
    assert (beat(pool).features, fake.asked) == (V5_OF_6_1, [FSGEOMETRY])


def test_room_of_the_records_of_clients(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert beat(pool).records_free is None
    (pool / ".millrace/nfsdcld").mkdir()
    assert beat(pool).records_free is None
    # another file system: that of /dev is in memory
    (pool / ".millrace/nfsdcld").rmdir()
    opened = os.open

    def elsewhere(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        return opened("/dev/shm" if path == "nfsdcld" else path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(heartbeat_daemon.os, "open", elsewhere)
    monkeypatch.setattr(heartbeat_daemon.os, "fstat", _device_of_its_own(os.open("/dev/shm", os.O_RDONLY)))
    assert (beat(pool).records_free or 0) > 0


def _device_of_its_own(directory: int) -> Callable[[int], os.stat_result]:
    inode, status = os.stat(directory).st_ino, os.fstat

    def shown(descriptor: int) -> os.stat_result:
        found = list(status(descriptor))
        # st_dev
        found[2] += found[1] == inode
        return os.stat_result(found)

    return shown


def test_nothing_is_written_where_nothing_is_mounted(tmp_path: Path) -> None:
    (tmp_path / "pool").mkdir()
    assert beat(tmp_path / "pool").error == "ENODEV"
    assert not list((tmp_path / "pool").iterdir())


def test_the_result_is_there_at_once_or_not_at_all(pool: Path) -> None:
    beat(pool)
    assert set(json.loads((pool.parent / "heartbeat.json").read_text())) >= {"uptime", "problem", "size"}
    assert sorted(path.name for path in pool.parent.iterdir()) == ["heartbeat.json", "pool"]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], "subprocess.Popen[str]"]]:
    """Start the process as its unit does: no site, no path of Millrace; return it when it says that it is ready."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "run/millrace").mkdir(parents=True)
    (tmp_path / "pool").mkdir()
    started: list[subprocess.Popen[str]] = []
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.settimeout(60)

    def start() -> "subprocess.Popen[str]":
        where = [str(tmp_path / "pool"), ".millrace", str(paths.heartbeat_file()), str(paths.heartbeat_requests())]
        argv = [sys.executable, "-I", "-S", "-X", "importtime", heartbeat_daemon.__file__, *where]
        env = {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        started.append(subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True))
        assert manager.recv(100) == b"READY=1"
        return started[-1]

    yield start
    manager.close()
    for process in started:
        process.kill()
        process.communicate()


Start = Callable[[], "subprocess.Popen[str]"]
STARTS = "systemctl start millrace-heartbeat.service"


def test_it_beats_without_the_libraries(start: Start) -> None:
    process = start()
    process.terminate()
    _, err = process.communicate(timeout=60)
    imported = {line.rpartition("|")[2].strip() for line in err.splitlines()}
    assert "errno" in imported
    assert not imported & {"json", "re", "enum", "socket", "pathlib", "contextlib", "site", "millrace", "runpy"}
    found = heartbeat.last()
    assert found and found.error == "ENODEV"


def test_one_that_stays_is_asked_for_each_heartbeat(start: Start) -> None:
    """No unit is started for it."""
    start()
    found = [heartbeat_client.request(Tools({})).uptime for _ in range(3)]
    assert sorted(set(found)) == found
    assert oct(paths.heartbeat_requests().stat().st_mode) == "0o10600"


def test_where_none_stays_its_unit_is_started(start: Start) -> None:
    def starts(argv: object) -> Result:
        start()
        return Result(0, "", "")

    assert heartbeat_client.request(starts).error == "ENODEV"


def test_the_fifo_of_one_that_ended_is_not_waited_for(start: Start) -> None:
    process = start()
    process.kill()
    process.wait()
    failed = heartbeat_client.request(Tools({STARTS: Result(1, "", "Unit millrace-heartbeat.service not found.\n")}))
    assert not failed.known and "does not run: Unit millrace-heartbeat.service not found" in str(failed.problem)


def test_a_pool_that_hangs_has_one_process_however_often_it_is_asked(start: Start) -> None:
    process = start()
    process.send_signal(signal.SIGSTOP)
    for _ in range(2):
        hangs = heartbeat_client.request(Tools({}), seconds=0.1)
        assert hangs.problem and hangs.problem.startswith("no answer") and hangs.known
    process.send_signal(signal.SIGCONT)
    assert heartbeat_client.request(Tools({})).error == "ENODEV"


def test_one_that_ends_while_it_is_asked_is_no_pool_that_hangs(start: Start) -> None:
    process = start()
    process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    again = Result(1, "", "Job for millrace-heartbeat.service failed.\n")

    threading.Timer(0.2, process.kill).start()
    failed = heartbeat_client.request(Tools({STARTS: again}), seconds=60)
    assert not failed.known and "does not run: Job for millrace-heartbeat.service failed" in str(failed.problem)
    assert time.monotonic() - began < 30
