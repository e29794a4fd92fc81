# SPDX-License-Identifier: Apache-2.0
"""The pool is written to, synced and read; what a client could plant there is not followed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.health import heartbeat
from millrace.health.heartbeats import Heartbeat


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(heartbeat, "_is_mounted", lambda descriptor, mountpoint: True)
    (tmp_path / "pool").mkdir()
    return tmp_path / "pool"


def beat(pool: Path) -> Heartbeat:
    result = pool.parent / "heartbeat.json"
    heartbeat.main([str(pool), ".millrace", str(result)])
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

    monkeypatch.setattr(heartbeat.os, call, shut_down)
    found = beat(pool) if call != "open" else _without_open(pool)
    assert (found.problem, found.error, found.size) == ("Input/output error", "EIO", None)


def _without_open(pool: Path) -> Heartbeat:
    return beat(pool)


def test_other_content_than_was_written_is_a_result(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat.os, "pread", lambda *args: b"something else")
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


def test_nothing_is_written_where_nothing_is_mounted(tmp_path: Path) -> None:
    (tmp_path / "pool").mkdir()
    assert beat(tmp_path / "pool").error == "ENODEV"
    assert not list((tmp_path / "pool").iterdir())


def test_the_result_is_there_at_once_or_not_at_all(pool: Path) -> None:
    beat(pool)
    assert set(json.loads((pool.parent / "heartbeat.json").read_text())) >= {"uptime", "problem", "size"}
    assert sorted(path.name for path in pool.parent.iterdir()) == ["heartbeat.json", "pool"]


def test_it_beats_without_the_libraries(pool: Path) -> None:
    """As its unit starts it: no site, no path of Millrace."""
    result = pool.parent / "heartbeat.json"
    argv = [sys.executable, "-I", "-S", "-X", "importtime", heartbeat.__file__, str(pool), ".millrace", str(result)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "errno" in imported
    assert not imported & {"json", "re", "enum", "pathlib", "contextlib", "site", "millrace", "runpy"}
    assert Heartbeat.model_validate_json(result.read_text()).error == "ENODEV"
