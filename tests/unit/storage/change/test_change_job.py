# SPDX-License-Identifier: Apache-2.0
"""A change of drives from its confirmation to its unit, followed to its end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.storage.change import change_job
from millrace.storage.record.change_journal import ChangeJournal, in_words
from millrace.storage.record.drive_change import DriveChange, DriveProposal
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from tests.fakes.drives.world import World
from tests.unit.storage.change.test_change_text import AT, plan
from tests.unit.storage.conftest import root, world

__all__ = ["root", "world"]


UNIT = change_job.JOB.unit


class Manager(World):
    """systemd, with a unit that does one thing at each wait; then it has ended."""

    def __init__(self, world: World, acts: list[Callable[[], None]]) -> None:
        super().__init__(world.disks, world.proposal, world.writable)
        self.acts = acts
        self.jobs[UNIT] = "active" if acts else "inactive"

    def wait(self, seconds: float) -> None:
        if self.acts:
            self.acts.pop(0)()
        self.jobs[UNIT] = "active" if self.acts else "inactive"


@pytest.fixture
def journal(root: Path) -> ChangeJournal:
    return ChangeJournal.open(plan(), "admin", AT)


def test_steps_are_shown_until_the_end(world: World, journal: ChangeJournal) -> None:
    def mark(name: str) -> Callable[[], None]:
        return lambda: journal.done(name)

    acts = [mark(step.name) for step in journal.steps]
    manager = Manager(world, [*acts, lambda: journal.end(AT), lambda: None])
    shown = list(change_job.follow(manager, journal.change))
    names = ["partition NEW", "join log", "join data", "rebuild log", "rebuild data", "record"]
    assert [progress.step for progress in shown] == [*names, None, None]
    assert [progress.done for progress in shown] == [*range(7), 6]
    # its end is known before systemd has ended the unit
    assert shown[-1].change.ended == AT and manager.acts


def test_change_is_confirmed_and_its_unit_started(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def confirm(*_: object) -> DriveChange:
        assert not world.called("systemctl start")
        return ChangeJournal.open(plan(), "admin", AT).change

    monkeypatch.setattr("millrace.storage.change.change_proposal.confirm", confirm)
    proposal = DriveProposal(sha256=plan().digest(), plan=plan(), steps=[])
    change = change_job.start(world, proposal, proposal.sha256, "admin")
    assert world.called("systemctl start") == [f"systemctl start --no-block {UNIT}"]
    job = change_job.JOB.last(world.attempt)
    assert job is not None and (job.what, job.by) == (in_words(change.plan), "admin")
    # nobody works on it, and the next boot goes on
    assert job.state == "waiting"


def test_nothing_is_confirmed_beside_what_changes_the_pool(world: World) -> None:
    proposal = DriveProposal(sha256=plan().digest(), plan=plan(), steps=[])
    for unit, words in (
        (UNIT, "another change of drives is not finished"),
        ("millrace-rescue.service", "the pool is being rescued"),
    ):
        world.jobs = {unit: "activating"}
        with pytest.raises(Refused, match=words):
            change_job.start(world, proposal, proposal.sha256, "admin")
    assert not paths.drive_change_file().exists() and not world.called("systemctl start")


@pytest.mark.parametrize("runs", [True, False])
def test_stopped_change_goes_on_and_one_that_runs_is_left_alone(
    world: World, journal: ChangeJournal, runs: bool
) -> None:
    journal.stopped("mdadm failed")
    world.jobs[UNIT] = "active" if runs else "failed"
    assert change_job.resume(world).id == journal.change.id
    assert len(world.called("systemctl start")) == (not runs)


def test_interrupted_change_is_the_same_job_after_the_boot(world: World, journal: ChangeJournal) -> None:
    with change_job.JOB.starting(world.attempt, "the replacement", "admin"):
        pass
    before = change_job.JOB.last(world.attempt)
    with pytest.raises(Refused):
        # its drives are not those of the journal
        change_job.execute(world, lambda _: None)
    after = change_job.JOB.last(world.attempt)
    assert before is not None and after is not None
    assert (before.state, after.state, after.id, after.by) == ("waiting", "failed", before.id, "admin")


def test_glance_has_the_step_and_how_far_md_is(world: World, journal: ChangeJournal) -> None:
    found = change_job.JOB.glance()
    assert found is not None and found.what == f"{in_words(journal.change.plan)}: partition NEW"
    journal.end(AT)
    assert change_job.JOB.glance() is None
    paths.drive_change_file().write_text("{")
    assert change_job.JOB.glance() is None


@pytest.mark.parametrize("ended", [True, False])
def test_error_of_the_change_is_the_error_of_the_command(world: World, journal: ChangeJournal, ended: bool) -> None:
    def stop() -> None:
        journal.end(AT, "the drive is gone") if ended else journal.stopped("the drive is gone")

    with pytest.raises(Failed, match="the drive is gone"):
        list(change_job.follow(Manager(world, [stop]), journal.change))


def test_unit_that_ends_without_a_word_is_named(world: World, journal: ChangeJournal) -> None:
    with pytest.raises(Failed, match=r"millrace-drive\.service ended before the change was done"):
        list(change_job.follow(Manager(world, []), journal.change))


def test_change_that_gave_way_to_another_is_not_followed(world: World, journal: ChangeJournal) -> None:
    other = journal.change.model_copy(update={"id": "other"})
    with pytest.raises(Failed, match="another change has taken the place of this one"):
        list(change_job.follow(Manager(world, [lambda: None]), other))
    paths.drive_change_file().unlink()
    with pytest.raises(Failed, match="another change"):
        list(change_job.follow(Manager(world, [lambda: None]), journal.change))
