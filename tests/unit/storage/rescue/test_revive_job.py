# SPDX-License-Identifier: Apache-2.0
"""A confirmed revival goes on without its terminal, says how it ended, and is recorded where it is killed."""

import pytest

from millrace.cli.program import run
from millrace.storage.rescue import revive_job
from millrace.storage.rescue.revive_job import JOB, ORDER, PROGRESS, RESULT
from millrace.storage.rescue.revive_model import RevivalProgress
from millrace.system.errors import Failed, Refused
from tests.fakes.drives.without_log import WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.rescue.reviving import gone, revive, world

__all__ = ["root", "world"]


def broken(world: WithoutLog) -> None:
    gone(world, ("D0",), ("D1",), ("D2",))


def test_unit_carries_out_what_was_confirmed(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    broken(world)
    status, out, error = revive(capsys, "--yes")
    assert status == 0 and "started" in out
    assert "/srv/pool is mounted and served" in error.splitlines()
    assert ["systemctl", "start", "--no-block", JOB.unit] in world.calls
    last = JOB.last(world.attempt)
    assert last is not None and (last.what, last.state) == (revive_job.WHAT, "done")
    assert (ORDER.get(), PROGRESS.get()) == (None, None)


def test_order_that_fails_says_why_and_leaves_none_for_the_next_run(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    world.mounted_pool()
    broken(world)
    world.busy = True
    status, _, error = revive(capsys, "--yes")
    assert status == 1 and "/srv/pool is still in use" in error.splitlines()[-1]
    last = JOB.last(world.attempt)
    assert last is not None and last.state == "failed" and "is still in use" in (last.reason or "")
    assert ORDER.get() is None


def test_revival_without_an_order_is_of_the_server(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    broken(world)
    assert run(["pool", "revive", "--automatic"]) == 0
    last = JOB.last(world.attempt)
    assert last is not None and (last.state, last.by) == ("done", "the server")
    assert "is mounted and served" in capsys.readouterr().err


def test_plan_of_other_drives_is_not_carried_out(world: WithoutLog) -> None:
    broken(world)
    world.calls.clear()
    with pytest.raises(Failed, match="the drives have changed since this was shown; nothing was written"):
        revive_job.start(world, [], "0")
        revive_job.follow(world, lambda line: None)
    assert not [command for command in world.calls if "--force" in command]


def test_progress_is_shown_while_it_runs(world: WithoutLog) -> None:
    world.unit_hangs = True
    revive_job.start(world, ["D0"], "0")
    glance = JOB.glance()
    assert glance is not None and glance.what == revive_job.WHAT
    PROGRESS.write(RevivalProgress(lines=["RAID6 data is started"]))
    glance = JOB.glance()
    assert glance is not None and glance.what == f"{revive_job.WHAT}: RAID6 data is started"
    with pytest.raises(Refused, match="are being started again; wait for its end: millrace job follow revive"):
        revive_job.start(world, [], "0")
    with pytest.raises(Refused, match="a revival is not cancelled"):
        JOB.cancel(world.attempt)


def test_no_revival_starts_beside_what_changes_the_pool(world: WithoutLog) -> None:
    world.jobs["millrace-rescue.service"] = "active"
    with pytest.raises(Refused, match="the pool is being rescued"):
        revive_job.start(world, [], "0")
    assert (ORDER.get(), PROGRESS.get(), RESULT.get()) == (None, None, None)


def test_killed_revival_is_recorded_as_interrupted(world: WithoutLog) -> None:
    world.unit_hangs = True
    revive_job.start(world, [], "0")
    world.unit_runs = False
    revive_job.clean_up()
    last = JOB.last(world.attempt)
    assert last is not None and last.state == "interrupted" and ORDER.get() is None
    with pytest.raises(Failed, match="it was ended from outside, or the server was restarted"):
        revive_job.follow(world, lambda line: None)
