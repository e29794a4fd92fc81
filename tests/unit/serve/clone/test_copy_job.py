# SPDX-License-Identifier: Apache-2.0
"""A copy from another server as a job: from the verb over the order to the result, cancelled, and killed."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from millrace.cli.program import run
from millrace.serve.clone import copy_job, copy_run
from millrace.serve.clone.copy_job import JOB, ORDER, PROGRESS, RESULT
from millrace.serve.clone.copy_model import CopyLine, CopyProgress, CopyReport
from millrace.serve.share.server import ShareServer
from millrace.system.errors import Failed, Refused
from tests.fakes.appliance import Appliance
from tests.fakes.jobs import JOBS, JobManager

SOURCE = "10.9.0.7:/srv/pool/models"
WHAT = f"{SOURCE} to data"
HALF = CopyProgress(entries=1, bytes=4, total_entries=2, total_bytes=8, rate=2, seconds_left=2)


class Systemd(JobManager):
    TAKEN = (*JOBS, "systemctl stop millrace-copy.service")


@pytest.fixture
def systemd() -> Systemd:
    return Systemd("millrace-copy.service")


@pytest.fixture
def server(appliance: Appliance, systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> ShareServer:
    found = appliance.server()
    nfsd = found.nfsd.model_copy(update={"copy_from": ["10.9.0.7"]})
    found = replace(found, run=systemd, pause=lambda seconds: None, nfsd=nfsd)
    monkeypatch.setattr("millrace.serve.share.server.this_server", lambda: found)
    return found


def report(order: str, unreadable: int = 0) -> CopyReport:
    return CopyReport(
        id=order, source=SOURCE, target="data", entries=2, bytes=8, kept=1, unreadable=unreadable, changed=0, skipped=0
    )


def copying(monkeypatch: pytest.MonkeyPatch, unreadable: int = 0) -> None:
    """Let the unit copy two files, without a mount."""

    def copied(export: object, place: object, order: str, server: object) -> Iterator[CopyLine]:
        yield HALF
        glance = JOB.glance()
        assert glance is not None and glance == (WHAT, 0.5, 2, 2)
        yield report(order, unreadable)

    monkeypatch.setattr(copy_run, "copy", copied)


def test_order_is_carried_out_by_the_unit(
    server: ShareServer, systemd: Systemd, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copying(monkeypatch)
    systemd.run = lambda: copy_job.execute(server)
    assert run(["share", "copy", SOURCE, "data"]) == 0
    assert f"{SOURCE} is copied to data: 2 entries, 8 B, 1 files of an earlier copy" in capsys.readouterr().out
    last = JOB.last(systemd)
    assert last is not None and (last.what, last.state, last.by) == (WHAT, "done", "root")


def test_copy_that_is_not_complete_is_recorded_as_failed(
    server: ShareServer, systemd: Systemd, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copying(monkeypatch, unreadable=3)

    def execute() -> None:
        with pytest.raises(Failed, match="3 files or directories are not copied"):
            copy_job.execute(server)

    systemd.run = execute
    assert run(["share", "copy", SOURCE, "data"]) == 1
    said = capsys.readouterr()
    assert "2 entries" in said.out and "squash `none`" in said.err
    last = JOB.last(systemd)
    assert last is not None and last.state == "failed" and "root_squash" in (last.reason or "")


def test_progress_is_shown_until_the_copy_ends(server: ShareServer, systemd: Systemd) -> None:
    systemd.run = lambda: PROGRESS.write(HALF)
    systemd.states = ["active", "inactive"]
    order = copy_job.start(SOURCE, "data", server)
    RESULT.write(report(order.id))
    assert list(copy_job.follow(order, server)) == [HALF, report(order.id)]


def test_source_that_the_policy_does_not_name_starts_nothing(server: ShareServer, systemd: Systemd) -> None:
    with pytest.raises(Refused, match=r"the policy does not name 10\.9\.0\.8"):
        copy_job.start("10.9.0.8:/data", "data", server)
    assert (ORDER.get(), systemd.calls) == (None, [])


def test_source_that_the_policy_names_no_more_fails_the_job(server: ShareServer, systemd: Systemd) -> None:
    order = copy_job.start(SOURCE, "data", server)
    closed = replace(server, nfsd=server.nfsd.model_copy(update={"copy_from": []}))
    with pytest.raises(Refused, match="the policy does not name"):
        copy_job.execute(closed)
    with pytest.raises(Failed, match="not copied completely: the policy does not name"):
        list(copy_job.follow(order, server))


def test_cancelled_and_killed_copies_are_recorded(server: ShareServer, systemd: Systemd) -> None:
    order = copy_job.start(SOURCE, "data", server)
    systemd.states = ["active", "inactive"]
    cancelled = JOB.cancel(systemd)
    assert cancelled is not None and cancelled.state == "cancelled"
    with pytest.raises(Failed, match="is not copied completely: by root"):
        list(copy_job.follow(order, server))
    copy_job.start(SOURCE, "data", server)
    copy_job.clean_up()
    last = JOB.last(systemd)
    assert last is not None and last.state == "interrupted" and ORDER.get() is None
