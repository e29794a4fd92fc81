# SPDX-License-Identifier: Apache-2.0
"""Setting permissions as a job: from the verb over the order to the result, cancelled, and killed."""

from dataclasses import replace
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.permissions import permissions_job
from millrace.serve.permissions.permissions_job import JOB, ORDER, RESULT
from millrace.serve.permissions.permissions_model import PermissionsProgress, PermissionsReport
from millrace.serve.share.server import ShareServer
from millrace.system.errors import BadInput, Failed, Refused
from tests.fakes.appliance import Appliance
from tests.fakes.jobs import JOBS, JobManager


class Systemd(JobManager):
    TAKEN = (*JOBS, "systemctl stop millrace-permissions.service")


@pytest.fixture
def systemd() -> Systemd:
    return Systemd("millrace-permissions.service")


@pytest.fixture
def server(appliance: Appliance, systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> ShareServer:
    found = replace(appliance.server(), run=systemd, pause=lambda seconds: None)
    monkeypatch.setattr("millrace.serve.share.server.this_server", lambda: found)
    return found


@pytest.fixture
def file(appliance: Appliance) -> Path:
    found = appliance.root / "srv/pool/data/notes"
    found.parent.mkdir(parents=True, exist_ok=True)
    found.touch()
    found.chmod(0o600)
    return found


def typed(share_type: str) -> store.Mutate:
    def mutate(config: Config) -> Config:
        share = config.shares[0].model_copy(update={"type": share_type})
        return config.model_copy(update={"shares": [share]})

    return mutate


def test_order_is_carried_out_by_the_unit(
    server: ShareServer, systemd: Systemd, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.parent.chmod(0o1777)
    systemd.run = lambda: permissions_job.execute(server)
    assert run(["share", "permissions", "data", "--apply"]) == 0
    assert "1 of 1 files and directories in data have new permissions" in capsys.readouterr().out
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o7777) == (0o666, 0o777)
    last = JOB.last(systemd)
    assert last is not None and (last.what, last.state) == ("share data", "done")


def test_without_apply_it_only_compares(server: ShareServer, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["share", "permissions", "data"]) == 0
    said = capsys.readouterr().out
    assert "1 of 1 files and directories in data have other permissions" in said
    assert "millrace share permissions data --apply" in said
    assert file.stat().st_mode & 0o777 == 0o600 and ORDER.get() is None


@pytest.mark.parametrize("share_type", ["home", "dataset-ro"])
def test_type_with_a_rule_of_its_own_has_nothing_to_set(server: ShareServer, share_type: str) -> None:
    store.change("root", "type", typed(share_type))
    with pytest.raises(Refused, match=f"share data has the type {share_type}, which determines who may write"):
        permissions_job.prepare("data", server)


def test_share_that_does_not_exist_is_refused(server: ShareServer) -> None:
    with pytest.raises(Refused, match="share nowhere does not exist: millrace share list"):
        permissions_job.prepare("nowhere", server)
    with pytest.raises(BadInput):
        permissions_job.prepare("no/name", server)


def test_rule_that_changes_during_the_walk_is_no_success(
    server: ShareServer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def own(config: Config) -> Config:
        share = config.shares[0].model_copy(update={"writing": "own"})
        return config.model_copy(update={"shares": [share]})

    order = permissions_job.start(permissions_job.prepare("data", server), server)
    walk = permissions_job._walk

    def walked(*given: object) -> PermissionsReport:
        store.change("root", "own", own)
        return walk(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(permissions_job, "_walk", walked)
    with pytest.raises(Failed, match="who may write in data was changed meanwhile"):
        permissions_job.execute(server)
    with pytest.raises(Failed, match="not set completely: who may write in data was changed meanwhile; run the same"):
        list(permissions_job.follow(order, server))


def test_progress_is_shown_until_it_ends(server: ShareServer, systemd: Systemd, file: Path) -> None:
    now = PermissionsProgress(share="data", done=2, total=8, seconds_left=3)
    systemd.run = lambda: permissions_job.PROGRESS.write(now)
    systemd.states = ["active", "inactive"]
    order = permissions_job.start(permissions_job.prepare("data", server), server)
    glance = JOB.glance()
    assert glance is not None and (glance.what, glance.progress) == ("share data", 0.25)
    done = PermissionsReport(id=order.id, share="data", applied=True, entries=8, differ=1, linked=0, refused=0)
    RESULT.write(done)
    assert list(permissions_job.follow(order, server)) == [now, done]


def test_cancelled_and_killed_jobs_are_recorded(server: ShareServer, systemd: Systemd, file: Path) -> None:
    share = permissions_job.prepare("data", server)
    order = permissions_job.start(share, server)
    systemd.states = ["active", "inactive"]
    cancelled = JOB.cancel(systemd)
    assert cancelled is not None and cancelled.state == "cancelled"
    with pytest.raises(Failed, match="the permissions of data are not set completely: by root"):
        list(permissions_job.follow(order, server))
    permissions_job.start(share, server)
    permissions_job.clean_up()
    last = JOB.last(systemd)
    assert last is not None and last.state == "interrupted" and ORDER.get() is None
