# SPDX-License-Identifier: Apache-2.0
"""Whatever ends a run, its files, its export and its half-written result are taken away; what is somebody's stays."""

import os
import pwd
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import ValidationError

from millrace import paths
from millrace.bench.result import live
from millrace.bench.result import store as results
from millrace.bench.result.environment import Environment
from millrace.bench.result.model import Provenance, Run, State
from millrace.bench.result.outputs import Progress
from millrace.bench.run import cleanup, loopback, order, space, unit
from millrace.errors import BadInput, Failed, Refused
from millrace.plan.policy import Policy
from millrace.share import desired
from millrace.state import model as config_model
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.unit.bench.rungs import done, waiting
from tests.unit.bench.sites import request, site
from tests.unit.bench.tools import Tools

EXPORTS = (
    "/srv/pool/data  10.0.0.0/24(sync,wdelay,fsid=1)\n/srv/pool/.millrace-bench  127.0.0.1(sync,no_wdelay,fsid=2)\n"
)


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The mounted pool of this server, with a share of somebody in it."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path).endswith("srv/pool"))
    monkeypatch.setattr(os, "chown", lambda *arguments, follow_symlinks: None)
    me = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwnam", lambda name: me)
    (tmp_path / "srv/pool/data").mkdir(parents=True)
    (tmp_path / "srv/pool/data/file").write_text("somebody's")
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/mounts").write_text("/dev/md127 /srv/pool xfs rw,prjquota 0 0\n")
    write_model(paths.pool_file(), site().pool)
    return tmp_path / "srv/pool"


def run(name: str, state: State) -> Run:
    rungs = [done("L1/xfs/seq/read"), waiting("L1/xfs/seq/write").model_copy(update={"state": State.RUNNING})]
    return Run(
        id=name,
        started="2026-01-01T00:00:00+00:00",
        state=state,
        request=request(),
        provenance=Provenance(version="1", workload_hash="0", fio="fio-3.41", started_by="admin"),
        environment=Environment.model_construct(),
        rungs=rungs,
    )


def whole(made: Run) -> Run:
    """With an environment that is complete."""
    values = dict.fromkeys(("host", "product", "kernel", "cpu", "pool"), "x") | dict.fromkeys(
        ("sockets", "cores", "memory"), 1
    )
    empty = {"virtual": None, "plan_sha256": None, "drives": [], "ports": [], "packages": {}, "settings": {}}
    return made.model_copy(update={"environment": Environment.model_validate({**values, **empty})})


def test_the_space_is_limited_and_for_nobody_else(pool: Path) -> None:
    tools = Tools()
    where = space.make("/srv/pool", 1 << 30, tools)
    assert where == pool / ".millrace-bench"
    assert where.stat().st_mode & 0o777 == 0o700
    limits = [call[3] for call in tools.calls if call[0] == "xfs_quota"]
    assert limits == [f"project -s -p {where} 1000", "limit -p bsoft=0 bhard=1245184k 1000"]


def test_no_client_reaches_the_directory_of_a_benchmark(pool: Path) -> None:
    """fio opens its files by name: what keeps others from planting a link is that no share is there or above it."""
    where = space.make("/srv/pool", 1 << 30, Tools())
    for name in (where.name, f"{where.name}/x", ".", "..", ""):
        with pytest.raises(ValidationError):
            config_model.Share.model_validate({"name": name, "profile": "mixed", "project": 1001})
    shares = desired.resolve_all(config_model.first_config(), desired.surroundings(site().pool, Policy(), []))
    shared = [pool.parent.parent / share.path.lstrip("/") for share in shares]
    assert shared and not any(where.is_relative_to(path) for path in shared)


def test_a_limit_that_cannot_be_set_leaves_nothing(pool: Path) -> None:
    broken = Tools({"xfs_quota -x -c limit": Result(0, "", "xfs_quota: cannot set limits")})
    with pytest.raises(Failed, match="cannot be limited"):
        space.make("/srv/pool", 1 << 30, broken)
    assert os.listdir(pool) == ["data"]


def test_a_pool_that_cannot_be_written_is_one_sentence(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mkdir(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(Refused, match=r"/srv/pool cannot be written \(Read-only file system\)"):
        space.make("/srv/pool", 1 << 30, Tools())


def test_after_a_crash_everything_of_the_benchmark_goes_and_nothing_else(pool: Path) -> None:
    (pool / ".millrace-bench/common").mkdir(parents=True)
    (pool / ".millrace-bench/common/f.0.0").write_text("x")
    os.symlink(pool / "data", pool / ".millrace-bench/common/link")
    results.save(whole(run("20260101-000000", State.RUNNING)))
    tools = Tools({"exportfs -s": Result(0, EXPORTS, "")})
    found = cleanup.clean_up(tools)
    assert found == [
        "the export 127.0.0.1:/srv/pool/.millrace-bench",
        "files in /srv/pool",
        "run 20260101-000000 is marked as interrupted",
    ]
    assert [call for call in tools.calls if call[:2] == ["exportfs", "-u"]] == [
        ["exportfs", "-u", "127.0.0.1:/srv/pool/.millrace-bench"]
    ]
    assert os.listdir(pool) == ["data"]
    assert (pool / "data/file").read_text() == "somebody's"


def test_an_interrupted_run_keeps_what_it_had_measured(pool: Path) -> None:
    results.save(whole(run("20260101-000000", State.RUNNING)))
    live.begin()
    live.write(Progress(run="20260101-000000", time=1, state=State.RUNNING, what="L1/xfs/seq/write"))
    cleanup.clean_up(Tools())
    last = live.latest()
    assert last is not None and last.state is State.INTERRUPTED
    (kept,) = results.listing().runs
    assert (kept.state, kept.done, kept.reason) == (State.INTERRUPTED, 1, cleanup.WHY)
    states = [rung.state for rung in results.load("latest").rungs]
    assert states == [State.DONE, State.INTERRUPTED]


def test_a_run_that_has_ended_stays_as_it_is(pool: Path) -> None:
    results.save(whole(run("20260101-000000", State.DONE)))
    assert cleanup.clean_up(Tools()) == []
    assert results.load("latest").state is State.DONE


def test_what_is_not_a_directory_of_a_benchmark_is_not_removed(pool: Path) -> None:
    os.symlink(pool / "data", pool / ".millrace-bench")
    with pytest.raises(Failed, match="not a directory of a benchmark"):
        cleanup.clean_up(Tools())
    assert (pool / "data/file").exists()


def test_an_empty_mount_point_is_left_alone(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pool / ".millrace-bench").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: False)
    assert cleanup.clean_up(Tools()) == []
    assert (pool / ".millrace-bench").exists()


def test_nothing_is_swept_from_under_a_run(pool: Path) -> None:
    with order.alone(), pytest.raises(Refused, match="running already"):
        cleanup.clean_up(Tools())


def test_a_refused_start_leaves_nothing(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(unit, "active", lambda: True)
    monkeypatch.setattr("millrace.bench.plan.site.site", site)
    with pytest.raises(Refused):
        order.ready(request(size=1 << 50))
    with pytest.raises(Refused, match="running already"):
        order.ready(request())
    assert not (paths.run_dir() / "bench").exists()
    assert not results.home().exists()


def test_names_of_runs_are_no_paths(pool: Path) -> None:
    for name in ("../../etc", "20260101-000000/..", ""):
        with pytest.raises(BadInput, match="not the name of a run"):
            results.load(name)
    with pytest.raises(BadInput, match="there is no benchmark run yet"):
        results.load("latest")


def test_emulated_runs_have_no_headlines(pool: Path) -> None:
    made = whole(run("20260101-000000", State.DONE))
    assert results.headlines(made)
    assert results.headlines(made.model_copy(update={"labels": ["emulated"]})) == []


def test_the_second_smbd_keeps_everything_in_its_own_place(pool: Path, tmp_path: Path) -> None:
    text = loopback.smbd_configuration(pool / ".millrace-bench", tmp_path / "smb")
    after = text.rpartition("[global]")[2]
    lines: Sequence[str] = after.strip().splitlines()
    own = dict(line.split(" = ", 1) for line in lines)
    for name in loopback.DIRECTORIES:
        assert own[name].startswith(str(tmp_path / "smb")), name
    assert own["passdb backend"].startswith(f"tdbsam:{tmp_path}/smb")
    assert "hosts allow = 127.0.0.1 ::1\n" in text
    assert f"valid users = {loopback.USER} " in text
