# SPDX-License-Identifier: Apache-2.0
"""nfsd that runs on one of two NUMA nodes is a finding."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import nfsd_nodes
from millrace.observe.health.collect import collect
from millrace.observe.health.model import Level
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.samples import pool
from tests.unit.observe.health.servers import host, sentences
from tests.unit.tune.fake_sysfs import add_nfsd, add_nfsd_threads, add_node


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two nodes of 24 cores with two threads each."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    add_node(tmp_path, 0, "0-23,48-71")
    add_node(tmp_path, 1, "24-47,72-95")
    add_nfsd(tmp_path, 48, ["tcp 2049"])
    write_model(paths.pool_file(), pool())
    return tmp_path


def test_threads_that_run_anywhere(serving: Path) -> None:
    add_nfsd_threads(serving, *["0-95"] * 8)
    [finding] = nfsd_nodes.check(host())
    assert (finding.level, finding.sentence) == (Level.OK, "Threads of the NFS server run on all 2 NUMA nodes.")


def test_a_pool_for_each_node(serving: Path) -> None:
    add_nfsd_threads(serving, *["0-23,48-71"] * 8, *["24-47,72-95"] * 8)
    assert nfsd_nodes.check(host())[0].level is Level.OK


def test_threads_that_the_kernel_keeps_on_one_node(serving: Path) -> None:
    add_nfsd_threads(serving, *["0-23,48-71"] * 48)
    [finding] = nfsd_nodes.check(host())
    assert finding.level is Level.FAIL
    assert "NUMA node 1" in finding.sentence and "truenas/linux#322" in (finding.todo or "")


def test_while_the_server_starts_it_is_not_an_alarm(serving: Path) -> None:
    add_nfsd_threads(serving, "0-23,48-71")
    [finding] = nfsd_nodes.check(host(running=Result(1, "starting\n", "")))
    assert finding.level is Level.WARN


def test_a_node_without_processors_needs_no_threads(serving: Path) -> None:
    add_node(serving, 2, "")
    add_nfsd_threads(serving, "0-95")
    assert nfsd_nodes.check(host())[0].level is Level.OK


def test_a_program_that_is_called_nfsd_does_not_count(serving: Path) -> None:
    add_nfsd_threads(serving, "0-23,48-71")
    add_nfsd_threads(serving, "0-95", parent=1, first=900)
    assert nfsd_nodes.check(host())[0].level is Level.FAIL


def test_threads_that_cannot_be_seen_are_unknown(serving: Path) -> None:
    health = collect(host(), {"nfsd_nodes": nfsd_nodes.check})
    assert health.level is Level.UNKNOWN, sentences(health.findings)


def test_a_thread_that_ends_meanwhile_is_no_matter(serving: Path) -> None:
    add_nfsd_threads(serving, "0-95", "0-95")
    (serving / "proc/101/status").unlink()
    assert nfsd_nodes.check(host())[0].level is Level.OK


@pytest.mark.parametrize("threads", ["0", ""])
def test_where_nfsd_does_not_serve_there_is_nothing_to_say(serving: Path, threads: str) -> None:
    (serving / "proc/fs/nfsd/threads").write_text(f"{threads}\n")
    assert nfsd_nodes.check(host()) == []


def test_on_one_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    (tmp_path / "sys/devices/system/cpu/online").write_text("0-3\n")
    add_nfsd(tmp_path, 16, ["tcp 2049"])
    add_nfsd_threads(tmp_path, "0-3")
    write_model(paths.pool_file(), pool())
    assert nfsd_nodes.check(host())[0].sentence == "Threads of the NFS server run on all CPUs."
