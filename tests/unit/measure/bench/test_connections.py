# SPDX-License-Identifier: Apache-2.0
"""One load over more and more connections: what is mounted, and what is said of it."""

import os
import pwd
from pathlib import Path

import pytest

from millrace.measure.bench.plan import connections
from millrace.measure.bench.plan.steps import planned_steps
from millrace.measure.bench.report.knee import knees
from millrace.measure.bench.result.figures import completed
from millrace.measure.bench.result.model import BenchState, Rung
from millrace.measure.bench.run import loopback
from millrace.measure.bench.run.remote import target as remote
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from tests.fakes.mounts import mount
from tests.unit.measure.bench.rungs import repeat, waiting
from tests.unit.measure.bench.runs import run
from tests.unit.measure.bench.sites import request, site
from tests.unit.measure.bench.tools import Mounts


def test_only_targets_of_its_own_are_measured() -> None:
    steps = planned_steps(request(profiles=["connections", "seq"], layers=["L2"]), site())
    swept = [step.target for step in steps if step.work.profile == "connections"]
    assert swept == [name for name in connections.TARGETS for _ in ("stream", "small")]
    assert not {step.target for step in steps if step.work.profile == "seq"} & set(swept)


def test_it_is_for_clients_of_nfs() -> None:
    with pytest.raises(Refused, match="this workload needs clients of NFS; choose L2 or L3"):
        planned_steps(request(profiles=["connections"], layers=["L1"]), site())


def test_a_client_is_mounted_as_the_server_mounts_itself() -> None:
    for name, wanted in connections.TO_ONE_ADDRESS.items():
        assert remote.OPTIONS[name].endswith(f",proto=tcp,nconnect={wanted.first}")
    assert loopback.over(connections.TARGETS["nfs-tcp-4-addresses"]).endswith("nconnect=1,max_connect=4")


def measured(target: str, operation: str, rate: float) -> Rung:
    return completed(waiting(f"L2/{target}/connections/{operation}"), [repeat(operations=rate)] * 3, [], 3)


def test_the_least_number_that_comes_near_the_best_is_named() -> None:
    to_one = zip(connections.TO_ONE_ADDRESS, (400, 700, 970, 1000, 980), strict=True)
    over = zip(connections.OVER_ADDRESSES, (500, 700, 1000), strict=True)
    rungs = [measured(target, "stream", rate) for target, rate in (*to_one, *over)]
    assert knees(run(*rungs)) == [
        "L2, 1 MiB reads over connections: 1: 40%, 2: 70%, 4: 97%, 8: 100%, 16: 98% of the best; 4 are enough",
        "L2, 1 MiB reads over addresses: 1: 40%, 2: 50%, 4: 70%, 8: 100% of the best; more than 8 may bring more",
    ]


def test_one_number_alone_says_nothing() -> None:
    failed = measured("nfs-tcp-2", "small", 9).model_copy(update={"state": BenchState.FAILED})
    assert knees(run(measured("nfs-tcp-1", "small", 9), failed)) == []


def mountstats(root: Path, where: Path, connections: int) -> None:
    lines = [f"device 127.0.0.1:/srv/pool/.millrace-bench mounted on {where} with fstype nfs4 statvers=1.1"]
    lines += ["\topts:\trw,vers=4.2", *["\txprt:\ttcp 700 1 2 0 0 9 9 0 9 0 2 0 0"] * connections]
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountstats").write_text("\n".join(lines) + "\n")


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mounts:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(pwd, "getpwnam", lambda _: pwd.getpwuid(os.getuid()))
    mount(tmp_path, "/dev/md127", "/srv/pool", "xfs")
    return Mounts()


def test_further_addresses_are_mounted_beside_the_first_and_unmounted_before_it(tmp_path: Path, mounts: Mounts) -> None:
    where = tmp_path / "m"
    mountstats(tmp_path, where, connections=2)
    opened = loopback.PROTOCOLS["nfs-tcp-2-addresses"](Path("/srv/pool/.millrace-bench"), where, mounts)
    with opened as mounted:
        assert mounted == where
    done = [call for call in mounts.calls if call[2:3] in (["mount"], ["umount"])]
    assert [(call[2], call[-2:]) for call in done[:2]] == [
        ("mount", ["127.0.0.1:/srv/pool/.millrace-bench", str(where)]),
        ("mount", ["127.0.0.2:/srv/pool/.millrace-bench", f"{where}.2"]),
    ]
    assert all("nconnect=1,max_connect=2" in call[6] for call in done[:2])
    assert [call[-1] for call in done[2:]] == [f"{where}.2", str(where)]


def test_fewer_connections_than_wanted_are_not_measured_as_if_they_were_there(tmp_path: Path, mounts: Mounts) -> None:
    mountstats(tmp_path, tmp_path / "m", connections=8)
    opened = loopback.PROTOCOLS["nfs-tcp-16"](Path("/srv/pool/.millrace-bench"), tmp_path / "m", mounts)
    with pytest.raises(Failed, match="the client has 8 connections instead of 16"), opened:
        raise AssertionError
    assert mounts.calls[-1][:2] == ["exportfs", "-u"]


def test_session_of_a_mount_that_this_server_has_of_itself_is_not_measured(tmp_path: Path, mounts: Mounts) -> None:
    mount(tmp_path, "10.0.0.9:/data", "/mnt", "nfs4", "rw,vers=4.2,clientaddr=10.0.0.2,addr=10.0.0.9")
    where = tmp_path / "m"
    mountstats(tmp_path, where, connections=16)
    with loopback.PROTOCOLS["nfs-tcp-16"](Path("/srv/pool/.millrace-bench"), where, mounts):
        pass
    mount(tmp_path, "10.0.0.2:/srv/pool/data", "/run/d\\040e", "nfs4", "rw,vers=4.2,clientaddr=10.0.0.2,addr=10.0.0.2")
    opened = loopback.PROTOCOLS["nfs-tcp-16"](Path("/srv/pool/.millrace-bench"), where, mounts)
    with pytest.raises(Failed, match=r"has mounted 10.0.0.2:/srv/pool/data from itself.*: umount '/run/d e'$"), opened:
        raise AssertionError
