# SPDX-License-Identifier: Apache-2.0
"""`millrace approve` shows the steps and ends when the pool exists, or says why there will be none."""

from collections.abc import Callable

import pytest

from millrace.storage.provision import provision_job
from millrace.storage.record.identity import new_transaction
from millrace.storage.record.step_journal import Journal
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.files import write_text
from millrace.system.run import Result
from tests.fakes.drives.world import World
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import propose

UNIT = provision_job.JOB.unit


class Manager(World):
    """systemd, with a unit that does one thing at each wait; then it has ended."""

    def __init__(self, world: World, acts: list[Callable[[], None]]) -> None:
        super().__init__(world.disks, world.proposal, world.writable)
        self.acts = acts
        self.jobs[UNIT] = "activating" if acts else "failed"

    def _journalctl(self, words: list[str], _: str) -> Result:
        return Result(0, "millrace: drive D1 is not blank\n", "")

    def wait(self, seconds: float) -> None:
        self.acts.pop(0)()
        self.jobs[UNIT] = "activating" if self.acts else "failed"


def begin(journal: Journal) -> None:
    Journal.open(journal.transaction)


def finish() -> None:
    write_text(paths.pool_file(), "{}")


def test_progress_is_shown_until_the_pool_exists(world: World) -> None:
    journal = Journal(new_transaction(raid6_plan(), world.now()))
    acts = [
        lambda: begin(journal),
        lambda: journal.done("partition D0"),
        finish,
    ]
    shown = list(provision_job.follow(Manager(world, acts)))
    assert [(now.done, now.total, now.step) for now in shown] == [(0, 9, "partition D0"), (1, 9, "partition D1")]


def test_a_unit_that_ends_without_a_pool_is_an_error_with_its_last_words(world: World) -> None:
    with pytest.raises(Failed, match="drive D1 is not blank"):
        list(provision_job.follow(Manager(world, [])))


def test_approval_starts_the_unit(world: World) -> None:
    digest = propose(raid6_plan())
    assert provision_job.start(world, digest, "admin").by == "admin"
    assert world.called("systemctl start") == [f"systemctl start --no-block {UNIT}"]
    job = provision_job.JOB.last(world.attempt)
    assert job is not None and (job.what, job.by) == ("the pool", "admin")


def test_approval_while_the_boot_looks_for_one_is_taken_by_that(world: World) -> None:
    digest = propose(raid6_plan())
    world.jobs[UNIT] = "activating"
    assert provision_job.start(world, digest, "admin").sha256 == digest
    # nothing changes by that, unless the unit ends this moment
    assert world.called("systemctl start") == [f"systemctl start --no-block {UNIT}"]


def test_nothing_is_approved_where_the_unit_cannot_start_now(world: World) -> None:
    digest = propose(raid6_plan())
    world.jobs["millrace-adopt.service"] = "activating"
    with pytest.raises(Refused, match="a pool is being adopted; wait until that is done"):
        provision_job.start(world, digest, "admin")
    assert not paths.approval_file().exists() and world.called("systemctl start") == []


def test_glance_has_the_step_and_the_steps_that_are_done(world: World) -> None:
    journal = Journal(new_transaction(raid6_plan(), world.now()))
    assert provision_job.JOB.glance() is None
    begin(journal)
    journal.done("partition D0")
    assert provision_job.JOB.glance() == ("partition D1", 1 / 9, None, None)
