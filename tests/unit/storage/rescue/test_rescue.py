# SPDX-License-Identifier: Apache-2.0
"""A pool whose log is lost is brought back step by step, and only where that is the right thing."""

from pathlib import Path

import pytest

from millrace.storage.assemble.assemble import assemble
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.writer import PROVISIONING, writing
from millrace.storage.rescue.rescue import carry_out, state
from millrace.storage.rescue.rescue_journal import RescueJournal
from millrace.storage.rescue.rescue_model import Rescue
from millrace.storage.rescue.rescue_steps import Choices
from millrace.storage.rescue.step_names import STEPS
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.drives.without_log import POOL, WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.rescue.lost import NEW, NOTHING, SERVERS, done, log_record, lost, put_back, rescued

__all__ = ["root"]

DRIVES = Choices(drives=NEW)


@pytest.fixture
def world(root: Path) -> WithoutLog:
    """Data drives D0 to D3 in a RAID6; L0 and L1, the mirror of the log, are gone; N1 and N2 are blank."""
    return lost(raid6_plan(), *NEW)


@pytest.mark.parametrize("server", SERVERS)
def test_pool_is_served_with_a_new_log_after_the_last_step(root: Path, server: str) -> None:
    plan, choices = SERVERS[server]
    world = lost(plan(), *choices.drives)
    before = log_record()
    after = rescued(world, choices)
    assert (after.next, [step.state for step in after.steps]) == (None, ["done"] * len(STEPS))
    new = log_record()
    assert new.uuid != before.uuid and len(new.members) == 2
    assert not {member.serial for member in before.members} & {member.serial for member in (*new.members, *new.spares)}
    assert POOL in world.points and world.repairs == 1
    assert not paths.rescue_file().exists() and not paths.unrepaired_file().exists()
    last = read_model(paths.rescued_file(), Rescue)
    assert last.ended and last.by == "admin" and last.image and Path(last.image).read_text() == "XFSM"
    # two boots later the same pool is there
    for _ in range(2):
        world.boot()
        assemble(world, lambda _: None)
        assert world.serve().status == 0


def test_arrays_that_systemd_starts_for_the_last_step_do_not_wait_for_it(
    world: WithoutLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """srv-pool.mount requires millrace-assemble.service, which failed at boot without the log."""
    serve = world.serve

    def with_dependencies() -> Result:
        assemble(world, lambda _: None)
        return serve()

    done(world, "stop", "image", "judge", "log", "repair", choices=DRIVES)
    monkeypatch.setattr(world, "serve", with_dependencies)
    before = world.waited
    assert done(world, "serve", choices=DRIVES).next is None
    assert world.waited == before


def test_blank_drives_that_are_named_carry_the_log_and_nothing_else(world: WithoutLog) -> None:
    rescued(world, DRIVES)
    assert [one.serial for one in log_record().members] == ["N1", "N2"]
    drives = {one.serial: [part.label for part in one.partitions] for one in load_pool().drives}
    assert list(drives) == ["D0", "D1", "D2", "D3", "N1", "N2"]
    assert (drives["N1"], drives["N2"]) == (["millrace-log-02"], ["millrace-log-03"])


def test_losses_are_said_before_anything_is_done(world: WithoutLog) -> None:
    now = state(world, NOTHING, "admin")
    assert "only in the log are lost" in now.losses[0] and "fsync" in now.losses[1]
    assert "mirror of L0, L1" in now.happened
    assert (now.next, now.journal) == ("stop", None)
    assert not paths.rescue_file().exists() and POOL in world.points


def test_drives_of_the_new_log_are_shown_before_they_are_written(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge")
    world.writes.clear()
    (named,) = [one.explanation for one in state(world, DRIVES, "admin").steps if one.name == "log"]
    assert "drive N1 and drive N2, which are blank and are written" in named
    (nowhere,) = [one.explanation for one in state(world, NOTHING, "admin").steps if one.name == "log"]
    assert "not possible now: no free log partitions" in nowhere
    assert world.writes == []


def test_step_that_is_not_the_next_one_is_refused(world: WithoutLog) -> None:
    with pytest.raises(Refused, match=r"'stop' comes before 'repair': millrace pool rescue --step stop"):
        done(world, "repair")
    assert not paths.rescue_file().exists()


def test_step_that_is_done_stays_as_it_is(world: WithoutLog) -> None:
    done(world, "stop", "image")
    calls = len(world.called("xfs_metadump"))
    assert done(world, "image").next == "judge"
    assert len(world.called("xfs_metadump")) == calls


def test_pool_is_not_changed_before_the_repair(world: WithoutLog) -> None:
    before = load_pool()
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    assert load_pool() == before
    assert not world.called("xfs_repair -L")


def test_boot_between_new_log_and_repair_does_not_mount(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    world.boot()
    with pytest.raises(Failed, match=r"RAID1 log cannot start: 0 of 2 .* millrace pool rescue"):
        assemble(world, lambda _: None)
    assert world.serve().status != 0
    assert done(world, "repair", "serve", choices=DRIVES).next is None


def test_boot_after_a_repair_that_was_cut_short_does_not_mount(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    world.broken["xfs_repair -L"] = Result(1, "fatal error -- couldn't allocate memory\n", "")
    with pytest.raises(Failed, match=r"couldn't allocate memory; the pool stays unmounted"):
        done(world, "repair")
    world.broken.clear()
    world.boot()
    assemble(world, lambda _: None)
    assert world.serve().status != 0
    assert done(world, "repair", "serve").next is None


def test_log_that_is_back_before_the_repair_is_used(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    put_back(world)
    with pytest.raises(Refused, match=r"the rescue has ended, and nothing of the pool was changed: L0, L1 is present"):
        done(world, "repair")
    assert RescueJournal.load() is None and not paths.unrepaired_file().exists()
    assemble(world, lambda _: None)
    assert log_record().uuid == world.repaired_log
    assert world.serve().status == 0


def test_log_that_is_back_after_the_repair_is_not_used(world: WithoutLog) -> None:
    done(world, "stop", "image", "judge", "log", "repair", choices=DRIVES)
    put_back(world)
    assert done(world, "serve").next is None
    world.boot()
    assemble(world, lambda _: None)
    assert [world.identity(one.name).serial for one in world.md_members(world.md_link("millrace-log") or "")] == [*NEW]


def test_drive_of_the_new_log_that_dies_before_the_repair_is_replaced(root: Path) -> None:
    world = lost(raid6_plan(), "N1", "N2", "N3")
    done(world, "stop", "image", "judge", "log", choices=DRIVES)
    world.names = {name: disk for name, disk in world.names.items() if disk.serial != "N2"}
    with pytest.raises(Refused, match=r"N2 of the new log is gone: .* --step log"):
        done(world, "repair")
    done(world, "log", "repair", "serve", choices=Choices(drives=("N1", "N3")))
    assert [one.serial for one in log_record().members] == ["N1", "N3"]
    assert len(world.called("sfdisk --lock")) == 6 + 3


def test_rescue_waits_for_no_other_writer(world: WithoutLog) -> None:
    with writing(PROVISIONING), pytest.raises(Refused, match=r"^provisioning is running"):
        carry_out(world, "stop", NOTHING, "admin", lambda _: None)
