# SPDX-License-Identifier: Apache-2.0
"""A clone from its order to its end: one at a time, followed, cancelled, and shown as it is."""

from dataclasses import replace

import pytest

from millrace.serve.clone import clone_job, clone_model
from millrace.serve.clone.clone_job import JOB, ORDER, PROGRESS
from millrace.serve.clone.clone_model import Clone, CloneOrder, CloneProgress
from millrace.serve.share.server import ShareServer
from millrace.system.errors import Failed, Refused
from millrace.system.jobs.job import KILLED
from tests.fakes.appliance import Appliance
from tests.fakes.jobs import JOBS, JobManager


class Systemd(JobManager):
    TAKEN = (*JOBS, "systemctl stop millrace-reflink@clone.service")


@pytest.fixture
def systemd(appliance: Appliance) -> Systemd:
    return Systemd("millrace-reflink@clone.service")


@pytest.fixture
def server(appliance: Appliance, systemd: Systemd) -> ShareServer:
    return replace(appliance.server(), run=systemd)


def order(name: str) -> CloneOrder:
    return CloneOrder(id=name, source="data/imagenet", target=f"data/{name}", seal=False, size=None, by="anna")


def clone(name: str, state: clone_model.CloneState, reason: str | None = None) -> Clone:
    return Clone(
        id=name,
        source="data/imagenet",
        target=f"data/{name}",
        sealed=False,
        share=False,
        by="anna",
        state=state,
        boot="5f0e",
        began="2026-11-29T00:00:00+00:00",
        reason=reason,
    )


def progress(done: int) -> CloneProgress:
    return CloneProgress(
        source="data/imagenet", target="data/x", phase="clone", done=done, total=8, seconds_left=4 - done // 2
    )


def test_second_order_does_not_take_the_place_of_the_first(server: ShareServer, systemd: Systemd) -> None:
    # it has not read its order yet
    systemd.states = ["activating"]
    clone_job.start(order("x"), server)
    with pytest.raises(Refused, match="another clone is under way"):
        clone_job.start(order("y"), server)
    assert ORDER.read() == order("x")
    last = JOB.last(systemd)
    assert last is not None and (last.what, last.by) == ("data/imagenet to data/x", "anna")


def test_clone_does_not_start_while_an_update_is_installed(server: ShareServer, systemd: Systemd) -> None:
    systemd.others = {"millrace-update.service": "activating"}
    with pytest.raises(Refused, match="an update is being installed"):
        clone_job.start(order("x"), server)
    assert ORDER.get() is None


def test_clone_is_followed_to_its_end(server: ShareServer, systemd: Systemd) -> None:
    systemd.run = lambda: PROGRESS.write(progress(2))
    # one look of the start itself, and two that follow
    systemd.states = ["active", "active", "inactive"]
    clone_job.start(order("x"), server)
    clone_model.save(clone("x", "done"))
    assert list(clone_job.follow(order("x"), server)) == [progress(2), clone("x", "done")]


def test_clone_that_did_not_begin_says_why(server: ShareServer, systemd: Systemd) -> None:
    systemd.line = "share data does not exist"
    clone_model.save(clone("before", "done"))
    clone_job.start(order("x"), server)
    with pytest.raises(Failed, match="data/imagenet is not cloned: share data does not exist"):
        list(clone_job.follow(order("x"), server))


def test_cancelled_clone_is_returned(server: ShareServer, systemd: Systemd) -> None:
    with pytest.raises(Refused, match="no share clone is under way"):
        clone_job.cancel(systemd)
    clone_job.start(order("x"), server)
    systemd.states = ["active", "inactive"]
    systemd.before["systemctl stop"] = lambda: clone_model.save(clone("x", "cancelled", "it was cancelled"))
    assert clone_job.cancel(systemd) == clone("x", "cancelled", "it was cancelled")
    last = JOB.last(systemd)
    assert last is not None and (last.state, last.reason) == ("cancelled", "by root")


def test_clone_that_does_not_end_is_not_taken_for_cancelled(server: ShareServer, systemd: Systemd) -> None:
    clone_job.start(order("x"), server)
    clone_model.save(clone("x", "running"))
    systemd.states, systemd.line = ["active", "active", "inactive"], "the pool does not reply"
    with pytest.raises(Failed, match="the clone did not end: the pool does not reply"):
        clone_job.cancel(systemd)


@pytest.mark.parametrize(("unit", "state"), [("active", "running"), ("deactivating", "running"), ("failed", None)])
def test_record_of_a_clone_whose_unit_is_gone_is_not_shown_as_running(
    server: ShareServer, systemd: Systemd, unit: str, state: str | None
) -> None:
    clone_job.start(order("x"), server)
    clone_model.save(clone("x", "running"))
    PROGRESS.write(progress(4))
    systemd.states = [unit]
    shown = clone_job.status(systemd)
    assert shown.clone is not None
    assert (shown.clone.state, shown.clone.reason) == (("running", None) if state else ("interrupted", KILLED))
    assert (shown.progress is not None) == (state is not None)


def test_list_of_jobs_shows_how_far_it_is(server: ShareServer) -> None:
    assert JOB.glance() is None
    PROGRESS.write(progress(4))
    assert JOB.glance() == ("data/imagenet to data/x", 0.5, 2, None)
