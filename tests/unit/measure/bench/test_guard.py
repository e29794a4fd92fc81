# SPDX-License-Identifier: Apache-2.0
"""A degraded array, a rebuild, clients, another run, a read-only pool: each is one sentence that says what to do."""

import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from millrace.measure.bench.run import guard
from millrace.system import paths
from millrace.system.errors import Refused
from millrace.system.run import Result
from tests.fakes.mounts import mount
from tests.unit.measure.bench.remotes import client
from tests.unit.measure.bench.sites import request, site
from tests.unit.measure.bench.tools import Tools


def smbstatus(host: str) -> str:
    channels = {"1": {"remote_address": f"ipv4:{host}:5"}}
    session = {"server_id": {"pid": "7"}, "username": "anna", "channels": channels}
    return json.dumps({"sessions": {"1": session} if host else {}})


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A healthy server on metal."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "proc/1").mkdir(parents=True)
    mount(tmp_path, "/dev/md127", "/srv/pool", "xfs", "rw,noatime")
    (tmp_path / "dev/md").mkdir(parents=True)
    for number, name in enumerate(record.array.name for record in site().pool.arrays):
        device = f"md{number}"
        os.symlink(f"../{device}", tmp_path / f"dev/md/millrace-{name}")
        md = tmp_path / "sys/class/block" / device / "md"
        md.mkdir(parents=True)
        (md / "degraded").write_text("0\n")
        (md / "sync_action").write_text("idle\n")
    return tmp_path


def md(root: Path, attribute: str, value: str) -> None:
    """Set an attribute of the data array."""
    names = [record.array.name for record in site().pool.arrays]
    (root / f"sys/class/block/md{names.index('data')}/md/{attribute}").write_text(value + "\n")


def look(
    wanted: dict[str, Any] | None = None, busy: str | None = None, host: str = "", vm: str = "none", **here: Any
) -> guard.GuardVerdict:
    answers = {
        "smbstatus": Result(0, smbstatus(host), ""),
        "systemd-detect-virt": Result(1, vm + "\n", ""),
    }
    return guard.check(request(**(wanted or {})), site(**here), Tools(answers), busy)


def test_a_healthy_server_is_measured(root: Path) -> None:
    assert look().demand() == []


@pytest.mark.parametrize(
    ("attribute", "value", "words", "label"),
    [
        ("degraded", "1", "array data is degraded", "degraded"),
        ("sync_action", "recover", "array data is resyncing", "rebuilding"),
        ("sync_action", "check", "or being checked", "rebuilding"),
    ],
)
def test_an_array_that_is_not_well_is_measured_only_on_request_and_labelled(
    root: Path, attribute: str, value: str, words: str, label: str
) -> None:
    md(root, attribute, value)
    with pytest.raises(Refused, match=f"{words}.*give --degraded"):
        look().demand()
    assert look({"degraded": True}).demand() == [label]


def test_clients_are_not_slowed_down_unasked(root: Path) -> None:
    with pytest.raises(Refused, match=r"1 client is connected \(10\.0\.0\.9\).*--with-clients"):
        look(host="10.0.0.9").demand()
    assert look({"with_clients": True}, host="10.0.0.9").demand() == ["with-clients"]


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.9"])
def test_this_server_and_the_clients_of_the_run_are_not_in_the_way(
    root: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr(guard, "ClientConnection", Mock())
    mine = [client("gpu1", "10.0.0.9")]
    assert look({"clients": ["gpu1"]}, host=host, clients=mine).demand() == []


def test_another_job_comes_first(root: Path) -> None:
    md(root, "degraded", "1")
    with pytest.raises(Refused, match="a share is being cloned"):
        look(busy="a share is being cloned").demand()


def test_a_pool_that_is_read_only_is_not_measured(root: Path) -> None:
    mount(root, "/dev/md127", "/srv/pool", "xfs", "ro,noatime")
    with pytest.raises(Refused, match="/srv/pool is read-only"):
        look().demand()


def test_figures_of_an_emulated_server_say_so(root: Path) -> None:
    assert look(vm="qemu").demand() == ["emulated"]


def test_an_estimate_names_everything_that_is_in_the_way(root: Path) -> None:
    md(root, "degraded", "1")
    assert len(look(busy="the tuner is running", host="10.0.0.9").obstacles) == 3
