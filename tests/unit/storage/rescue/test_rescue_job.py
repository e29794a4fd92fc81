# SPDX-License-Identifier: Apache-2.0
"""A confirmed step goes on without its terminal, is carried out once, and says how it ended."""

import errno
from contextlib import suppress
from pathlib import Path

import pytest

from millrace.storage.assemble.assemble import assemble
from millrace.storage.record.pool_file import load_pool, save_pool
from millrace.storage.record.writer import PROVISIONING, writing
from millrace.storage.rescue import rescue_job
from millrace.storage.rescue.rescue_journal import RescueJournal
from millrace.storage.rescue.rescue_model import RescueWork
from millrace.storage.rescue.rescue_steps import Choices
from millrace.storage.rescue.step_names import STEPS, StepName
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result
from tests.fakes.drives.without_log import POOL, WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.rescue.lost import NEW, NOTHING, done, lost, put_back

__all__ = ["root"]

DRIVES = Choices(drives=NEW)
START = "systemctl start --no-block"


@pytest.fixture
def world(root: Path) -> WithoutLog:
    world = lost(raid6_plan(), *NEW)
    world.unit = lambda: rescue_job.execute(world, lambda _: None)
    return world


def confirmed(world: WithoutLog, name: StepName, choices: Choices = NOTHING) -> RescueWork | None:
    return rescue_job.start(world, name, choices, "admin")


def followed(world: WithoutLog, name: StepName, choices: Choices = NOTHING) -> RescueWork:
    work = confirmed(world, name, choices)
    assert work is not None
    *_, last = rescue_job.follow(world, work)
    return last


def test_unit_does_the_confirmed_step_and_nothing_else(world: WithoutLog) -> None:
    last = followed(world, "stop")
    assert (last.state, last.by, last.error) == ("done", "admin", None) and last.ended
    state = rescue_job.state(world, NOTHING, "admin")
    assert (state.next, state.work and state.work.step) == ("image", "stop")
    calls = len(world.calls)
    assert rescue_job.execute(world, lambda _: None) is None
    assert len(world.calls) == calls


def test_rescue_waits_between_two_steps_until_its_end(world: WithoutLog) -> None:
    for name in STEPS:
        followed(world, name, DRIVES if name == "log" else Choices(without_image=name == "image"))
        job, glance = rescue_job.JOB.last(world.attempt), rescue_job.JOB.glance()
        assert job and (job.what, job.by) == (f"step '{name}'", "admin")
        if name == STEPS[-1]:
            assert (job.state, glance) == ("done", None)
        else:
            following = STEPS[STEPS.index(name) + 1]
            assert job.state == "waiting"
            assert glance and glance.what == f"step '{following}' is to be confirmed: millrace pool rescue"


def test_no_step_starts_beside_what_changes_the_pool(world: WithoutLog) -> None:
    world.jobs["millrace-drive.service"] = "active"
    with pytest.raises(Refused, match="a drive is being replaced; wait until that is done"):
        confirmed(world, "stop")
    assert not world.called(START) and not paths.rescue_step_file().exists()


def test_unit_without_a_confirmed_step_does_nothing(world: WithoutLog) -> None:
    assert rescue_job.execute(world, lambda _: None) is None
    assert POOL in world.points and not paths.rescue_file().exists()


def test_choices_reach_the_unit(world: WithoutLog) -> None:
    for name in ("stop", "image", "judge"):
        followed(world, name, Choices(without_image=name == "image"))
    assert not world.called("xfs_metadump")
    followed(world, "log", DRIVES)
    new = RescueJournal.load()
    assert new and new.rescue.new and [one.serial for one in new.rescue.new.array.members] == [*NEW]


def test_step_goes_on_without_its_terminal_and_is_found_again(world: WithoutLog) -> None:
    world.unit_hangs = True
    work = confirmed(world, "stop")
    calls = len(world.calls)
    state = rescue_job.state(world, NOTHING, "other")
    # nothing has begun: there is no journal yet, and it is shown what would be done
    assert state.work == work and state.next == "stop" and len(world.calls) > calls
    world.unit()
    world.unit_runs = False
    assert rescue_job.state(world, NOTHING, "other").next == "image"


def test_no_drive_is_examined_while_a_step_runs(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge")
    world.unit_hangs = True
    confirmed(world, "log", DRIVES)
    world.calls.clear()
    state = rescue_job.state(world, NOTHING, "admin")
    assert state.work and state.work.state == "running" and state.next == "log"
    assert {name for name, *_ in world.calls} == {"systemctl"}


def test_second_terminal_follows_the_same_step(world: WithoutLog) -> None:
    world.unit_hangs = True
    first = confirmed(world, "stop")
    assert confirmed(world, "stop") == first
    assert len(world.called(START)) == 1


def test_second_terminal_with_another_choice_is_refused(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge")
    world.unit_hangs = True
    confirmed(world, "log", DRIVES)
    with pytest.raises(Refused, match=r"the step 'log' is running, confirmed by admin; .* --status"):
        confirmed(world, "log", Choices(drives=("N1", "N3")))
    with pytest.raises(Refused, match="the step 'log' is running"):
        confirmed(world, "repair")
    assert len(world.called(START)) == 1


def test_another_writer_is_named_before_anything_is_begun(world: WithoutLog) -> None:
    with writing(PROVISIONING), pytest.raises(Refused, match=r"^provisioning is running"):
        confirmed(world, "stop")
    assert not world.called(START) and not paths.rescue_step_file().exists()


def test_wrong_choice_is_refused_before_the_unit_starts(world: WithoutLog) -> None:
    done(world, "stop")
    with pytest.raises(BadInput, match="is not an absolute path"):
        confirmed(world, "image", Choices(image="here"))
    with pytest.raises(Refused, match="'image' comes before 'repair'"):
        confirmed(world, "repair")
    assert not world.called(START)


def test_step_that_is_done_starts_nothing(world: WithoutLog) -> None:
    done(world, "stop")
    assert confirmed(world, "stop") is None
    assert not world.called(START)


def test_unit_that_does_not_start_leaves_nothing_behind(world: WithoutLog) -> None:
    world.broken[START] = Result(1, "", "Unit not found.")
    with pytest.raises(Failed, match="does not start: Unit not found"):
        confirmed(world, "stop")
    assert not paths.rescue_step_file().exists() and POOL in world.points


def test_killed_unit_is_interrupted_and_can_be_confirmed_again(world: WithoutLog) -> None:
    world.unit_hangs = True
    work = confirmed(world, "stop")
    world.unit_runs = world.unit_hangs = False
    assert work is not None
    with pytest.raises(Failed, match=r"step 'stop': it was ended from outside; .* confirm it again"):
        list(rescue_job.follow(world, work))
    now = rescue_job.last(world.attempt)
    assert now and now.state == "interrupted"
    job = rescue_job.JOB.last(world.attempt)
    assert job and (job.state, job.what, job.by) == ("interrupted", "step 'stop'", "admin")
    assert followed(world, "stop").state == "done"


def test_unit_that_systemd_starts_again_is_followed_to_its_end(
    world: WithoutLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.unit_hangs = True
    work = confirmed(world, "stop")
    world.unit_runs = False
    assert work is not None
    seen = rescue_job.follow(world, work)
    monkeypatch.setattr(world, "wait", lambda _: world.unit())
    assert [one.state for one in seen] == ["running", "done"]


def test_repair_that_fails_says_why_and_goes_on(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    # what the kernel does to a process that has no memory left
    world.broken["xfs_repair -L"] = Result(-9, "Phase 3 - for each AG...\n", "")
    work = confirmed(world, "repair")
    assert work is not None
    with pytest.raises(Failed, match=r"step 'repair': xfs_repair ended with status -9: .* the pool stays unmounted"):
        list(rescue_job.follow(world, work))
    state = rescue_job.state(world, NOTHING, "admin")
    assert state.next == "repair" and state.work and state.work.state == "failed"
    assert state.work.line == "Phase 3 - for each AG..." and state.work.progress == pytest.approx(2 / 7)
    job = rescue_job.JOB.last(world.attempt)
    assert job and job.state == "failed" and "xfs_repair ended with status -9" in (job.reason or "")
    world.broken.clear()
    assert followed(world, "repair").state == "done" and followed(world, "serve").state == "done"
    shown = rescue_job.status(world).rescue
    assert shown and shown.journal and shown.journal.ended and shown.next is None and shown.ending


def test_image_without_room_is_refused_and_nothing_is_left(world: WithoutLog) -> None:
    done(world, "stop")
    world.inodes = 1 << 50
    with pytest.raises(Failed, match=r"step 'image': .* free, and the image may need .* --without-image"):
        followed(world, "image")
    assert not list(paths.state_dir().glob(".rescue*")) and not world.loops
    assert followed(world, "image", Choices(without_image=True)).state == "done"


def test_full_disk_is_recorded_as_the_reason(world: WithoutLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/var/lib/millrace/rescue.json")

    work = confirmed_later(world, "stop")
    with monkeypatch.context() as patch:
        patch.setattr(RescueJournal, "keep", full)
        with pytest.raises(OSError, match="No space left"):
            rescue_job.execute(world, lambda _: None)
    world.unit_runs = False
    with pytest.raises(Failed, match=r"rescue.json fails \(No space left on device\)"):
        list(rescue_job.follow(world, work))
    assert POOL in world.points


def confirmed_later(world: WithoutLog, name: StepName) -> RescueWork:
    """Confirmed, and the unit has not begun."""
    world.unit_hangs = True
    work = confirmed(world, name)
    assert work is not None
    return work


def test_log_that_comes_back_after_the_confirmation_is_used(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    work = confirmed_later(world, "repair")
    put_back(world)
    with pytest.raises(Refused, match=r"the rescue has ended, and nothing of the pool was changed"):
        world.unit()
    world.unit_runs = False
    with pytest.raises(Failed, match="L0, L1 is present and holds the log: nothing is lost"):
        list(rescue_job.follow(world, work))
    assert RescueJournal.load() is None and not world.called("xfs_repair -L")
    ended = rescue_job.status(world).rescue
    assert ended and ended.next is None and ended.ending == []


def test_rescue_that_ends_between_two_steps_is_no_job_that_was_killed(world: WithoutLog) -> None:
    followed(world, "stop")
    put_back(world)
    with pytest.raises(Refused, match="the rescue has ended"):
        rescue_job.state(world, NOTHING, "admin")
    job = rescue_job.JOB.last(world.attempt)
    assert job and job.state == "cancelled" and "the rescue has ended" in (job.reason or "")


def test_another_confirmation_ends_the_following(world: WithoutLog) -> None:
    work = confirmed_later(world, "stop")
    write_model(paths.rescue_step_file(), work.model_copy(update={"id": "another"}))
    with pytest.raises(Failed, match="another step was confirmed meanwhile"):
        list(rescue_job.follow(world, work))


def test_reboot_between_steps_asks_for_the_next_one_again(world: WithoutLog) -> None:
    followed(world, "stop")
    paths.rescue_step_file().unlink()
    world.boot()
    with suppress(Failed):
        assemble(world, lambda _: None)
    state = rescue_job.state(world, NOTHING, "admin")
    assert (state.next, state.work) == ("image", None)


def test_rescue_of_a_pool_that_is_gone_ends(world: WithoutLog) -> None:
    done(world, "stop")
    pool = load_pool()
    arrays = [one.model_copy(update={"uuid": one.uuid[::-1]}) for one in pool.arrays]
    save_pool(pool.model_copy(update={"arrays": arrays, "generation": pool.generation + 1}))
    paths.unrepaired_file().write_text("")
    with pytest.raises(Refused, match="is about another pool and has ended; nothing was changed"):
        rescue_job.state(world, NOTHING, "admin")
    assert RescueJournal.load() is None and not paths.unrepaired_file().exists()


def test_damaged_record_of_a_step_is_no_step(world: WithoutLog) -> None:
    paths.rescue_step_file().parent.mkdir(parents=True, exist_ok=True)
    paths.rescue_step_file().write_text("{")
    assert rescue_job.last(world.attempt) is None and rescue_job.running(world.attempt) is None
    assert followed(world, "stop").state == "done"
