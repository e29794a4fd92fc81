# SPDX-License-Identifier: Apache-2.0
"""A confirmed change of drives is carried out as it was confirmed, or not at all."""

from pathlib import Path

import pytest

from millrace.plan.policy.model import LayoutPolicy, LogPolicy, Policy
from millrace.storage.array import discard
from millrace.storage.assemble import unclean
from millrace.storage.change import change_job, change_proposal
from millrace.storage.change.change_steps import LostDrive
from millrace.storage.change.change_text import proposal_lines, result
from millrace.storage.change.spares import removal
from millrace.storage.record import change_journal, removal_record
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.writer import PROVISIONING, writing
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result
from tests.fakes.drives.world import World
from tests.fakes.mounts import unmount_all
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import (
    applied,
    confirmed,
    drop,
    fail,
    members,
    pool_of,
    proposed,
    put_in,
    replaced,
    spares,
)
from tests.unit.storage.drive_life import die
from tests.unit.storage.plans import planned, raid6_plan, raid50_plan

__all__ = ["root"]

INSIDE = LogPolicy(mode="internal")


@pytest.fixture
def world(root: Path) -> World:
    """Data drives D0 to D3 in a RAID6, L0 and L1 in the mirror of the log."""
    return pool_of(raid6_plan())


def commands(world: World, *words: str) -> list[str]:
    return [line for line in world.called("mdadm /dev/md/") if any(word in line for word in words)]


def test_drive_that_joins_waits_until_torn_rows_are_recorded(world: World) -> None:
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "N1")
    data = next(array for array in load_pool().arrays if array.array.name == "data")
    unclean.add(data, [1], 1_700_000_000, world.now())
    with pytest.raises(Refused, match="array data: no member is added before its parity was checked for torn rows"):
        replaced(world, "D1")
    assert commands(world, "--add") == []
    unclean.acknowledge()
    replaced(world, "D1")
    assert members() == ["D0", "N1", "D2", "D3"]


def test_missing_drive_is_replaced_by_the_blank_one(world: World) -> None:
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "N1")
    said = replaced(world, "D1")
    assert members() == ["D0", "N1", "D2", "D3"]
    assert [drive.serial for drive in load_pool().drives] == ["D0", "N1", "D2", "D3", "L0", "L1"]
    assert said[1:3] == [
        "drive N1: partition millrace-data-01 101376 MiB",
        "RAID6 data: millrace-data-01 added",
    ]
    assert said[-2:] == ["RAID6 data: millrace-data-01 is in sync", "pool.json: generation 2"]
    last = change_journal.last()
    assert last is not None and (last.error, last.by) == (None, "admin") and last.ended
    assert not paths.drive_change_file().exists()


@pytest.mark.parametrize("named", [None, "D1"])
def test_member_that_was_erased_takes_its_own_place(world: World, named: str | None) -> None:
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "D1")
    shown = list(proposal_lines(proposed(world, "D1", named)))
    assert len([line for line in shown if line.lstrip().startswith(("Old drive:", "New drive:"))]) == 1
    replaced(world, "D1", named)
    done = change_journal.last()
    assert done is not None and result(done) == "drive D1 has its place again"
    assert members() == ["D0", "D1", "D2", "D3"]
    assert world.running("/dev/md/millrace-data").devices == 4
    # it is none that was taken out, and comes back by itself another time
    assert "D1" not in removal_record.load()


def test_readable_drive_stays_in_the_array_until_it_is_copied(world: World) -> None:
    put_in(world, "N1")
    said = replaced(world, "D1")
    assert [line.partition("millrace-data ")[2].split()[0] for line in commands(world, "--add", "--re", "--fail")] == [
        *("--add", "--replace", "--remove")
    ]
    assert "RAID6 data: millrace-data-01 replaces D1" in said
    assert "RAID6 data: D1 removed" in said
    assert members() == ["D0", "N1", "D2", "D3"]
    (device,) = [name for name, array in world.arrays.items() if array.name == "millrace-data"]
    assert {world.identity(member.name).serial for member in world.md_members(device)} == {"D0", "N1", "D2", "D3"}


def test_check_ends_before_a_drive_joins_and_goes_on_while_one_leaves(world: World) -> None:
    put_in(world, "N1")
    replaced(world, "D1")
    lines = [line for line in map(" ".join, world.calls) if "--add" in line or line.startswith("systemctl stop")]
    assert lines[0] == "systemctl stop millrace-scrub.service" and "--add" in lines[1]
    fail(world, "data", "D2")
    proposal = change_proposal.proposed(world, lambda server: removal(server, "D2"), "D2")
    change_proposal.confirm(world, proposal, proposal.sha256, "admin")
    applied(world)
    assert len(world.called("systemctl stop")) == 1


def test_check_that_does_not_end_stops_the_change_before_a_write(world: World) -> None:
    put_in(world, "N1")
    confirmed(world, "D1")
    written = len(world.called("sfdisk --lock"))
    world.broken["systemctl stop"] = Result(1, "", "Job timed out")
    with pytest.raises(Failed, match="Job timed out"):
        applied(world)
    assert len(world.called("sfdisk --lock")) == written and paths.drive_change_file().exists()
    del world.broken["systemctl stop"]
    applied(world)
    assert members() == ["D0", "N1", "D2", "D3"]


def test_faulty_drive_is_removed_at_the_end(world: World) -> None:
    fail(world, "data", "D1")
    put_in(world, "N1")
    said = replaced(world, "D1")
    assert "RAID6 data: D1 removed" in said
    assert not commands(world, "--replace")
    assert members() == ["D0", "N1", "D2", "D3"]


def test_drive_of_a_leg_is_replaced_in_its_leg(root: Path) -> None:
    unmount_all(root)
    world = pool_of(raid50_plan())
    die(world, "D4")
    put_in(world, "N1")
    replaced(world, "D4")
    assert (members("leg0"), members("leg1")) == (["D0", "D1", "D2"], ["D3", "N1", "D5"])


def test_log_partition_comes_first(root: Path) -> None:
    world = pool_of(planned(7))
    old = members("log")[0]
    die(world, old)
    put_in(world, "N1")
    replaced(world, old)
    added = commands(world, "--add")
    assert ["millrace-log" in line for line in added] == [True, False]
    assert "N1" in members("data") and old not in members("data")
    # md had rebuilt the lost side on the hot spare, so that the new drive is the next one
    assert spares("log") == ["N1"]


def test_drive_whose_place_a_hot_spare_took_is_replaced_by_the_next_hot_spare(root: Path) -> None:
    world = pool_of(planned(7, Policy(layout=LayoutPolicy(spares=1), log=INSIDE)))
    old, spare = members()[0], spares("data")[0]
    die(world, old)
    drop(world, old)
    world.wait(1)
    put_in(world, "N1")
    replaced(world, old)
    assert (members()[0], spares("data")) == (spare, ["N1"])


def test_drive_that_replaced_another_is_replaced(world: World) -> None:
    for old, new in (("D1", "N1"), ("N1", "N2")):
        die(world, old)
        drop(world, old)
        put_in(world, new)
        replaced(world, old)
    assert members() == ["D0", "N2", "D2", "D3"]
    assert [one.label for one in load_pool().drives[1].partitions] == ["millrace-data-01"]


def test_without_a_change_there_is_nothing_to_carry_out(world: World) -> None:
    assert change_job.execute(world, lambda _: None) is None
    assert change_job.JOB.last(world.attempt) is None
    assert change_journal.last() is None


@pytest.mark.parametrize("digits", [12, 64])
def test_change_is_confirmed_by_its_hash(world: World, digits: int) -> None:
    put_in(world, "N1")
    proposal = proposed(world, "D1")
    change = change_proposal.confirm(world, proposal, proposal.sha256[:digits].upper(), "admin")
    assert (change.sha256, change.plan) == (proposal.sha256, proposal.plan)
    assert {step.state for step in change.steps} == {"pending"}


def test_another_hash_confirms_nothing(world: World) -> None:
    put_in(world, "N1")
    with pytest.raises(Refused, match="is not the hash of this change"):
        change_proposal.confirm(world, proposed(world, "D1"), "0" * 64, "admin")
    with pytest.raises(BadInput, match="at least its first 12 digits"):
        change_proposal.confirm(world, proposed(world, "D1"), "abc", "admin")
    assert change_journal.last() is None


def test_second_change_is_refused_while_one_is_open(world: World) -> None:
    put_in(world, "N1", "N2")
    confirmed(world, "D1", "N1")
    with pytest.raises(Refused, match="the replacement of D1 by N1 is not finished"):
        confirmed(world, "D2", "N2")


def test_change_is_refused_while_the_writer_is_at_work(world: World) -> None:
    put_in(world, "N1")
    with writing(PROVISIONING), pytest.raises(Refused, match=r"^provisioning is running; `millrace status`"):
        confirmed(world, "D1")
    assert not paths.drive_change_file().exists()


def test_server_that_changed_since_the_confirmation_is_not_written(world: World) -> None:
    put_in(world, "N1")
    confirmed(world, "D1")
    # it was readable, and would now be rebuilt instead of copied
    die(world, "D1")
    world.writes.clear()
    with pytest.raises(Refused, match="the server has changed since change"):
        applied(world)
    assert world.writes == []
    last = change_journal.last()
    assert last is not None and last.ended and "has changed" in (last.error or "")
    assert not paths.drive_change_file().exists()


def test_drive_that_vanished_before_the_start_is_not_waited_for(world: World) -> None:
    put_in(world, "N1")
    confirmed(world, "D1")
    drop(world, "N1")
    world.names = {name: disk for name, disk in world.names.items() if disk.serial != "N1"}
    with pytest.raises(Refused, match="no drive of this server has the serial number 'N1'"):
        applied(world)
    assert not paths.drive_change_file().exists()


def test_new_drive_that_dies_ends_the_change_and_the_next_one_may_begin(world: World) -> None:
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "N1", "N2")
    confirmed(world, "D1", "N1")
    world.rebuilds = False
    world.before["systemctl"] = lambda: None
    waits = world.wait

    def lose(seconds: float) -> None:
        die(world, "N1")
        waits(seconds)

    world.wait = lose  # type: ignore[method-assign]
    with pytest.raises(LostDrive, match="md has lost the new member millrace-data-01"):
        applied(world)
    last = change_journal.last()
    assert last is not None and last.ended and "md has lost" in (last.error or "")
    world.wait, world.rebuilds = waits, True  # type: ignore[method-assign]
    replaced(world, "D1", "N2")
    assert members() == ["D0", "N2", "D2", "D3"]


def test_tool_that_fails_stops_the_change_and_the_next_run_goes_on(world: World) -> None:
    die(world, "D1")
    put_in(world, "N1")
    confirmed(world, "D1")
    world.broken["mdadm /dev/md/millrace-data --add"] = Result(1, "", "mdadm: no memory")
    with pytest.raises(Failed, match="no memory"):
        applied(world)
    stopped = change_journal.last()
    assert stopped is not None and not stopped.ended and "no memory" in (stopped.error or "")
    world.broken.clear()
    assert applied(world)[0] == "going on with an interrupted change"
    assert members() == ["D0", "N1", "D2", "D3"]
    last = change_journal.last()
    assert last is not None and last.ended and last.error is None


def test_change_that_a_tool_stopped_gives_way_to_another(world: World) -> None:
    die(world, "D1")
    put_in(world, "N1", "N2")
    confirmed(world, "D1", "N1")
    world.broken["sfdisk --lock"] = Result(1, "", "sfdisk: input/output error")
    with pytest.raises(Failed, match="input/output error"):
        applied(world)
    world.broken.clear()
    replaced(world, "D1", "N2")
    assert members() == ["D0", "N2", "D2", "D3"]


@pytest.mark.usefixtures("root")
def test_discards_end_before_a_drive_joins_that_does_not_guarantee_zeroes(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = raid6_plan()
    filesystem = plan.filesystem.model_copy(update={"discard": True})
    world = pool_of(plan.model_copy(update={"filesystem": filesystem}))
    assert (world.discard, discard.allowed(load_pool())) == (True, True)
    die(world, "D1")
    put_in(world, "N1")
    order: list[str] = []
    real = world.md_no_discard

    def ended(name: str) -> None:
        order.append(f"off, {len(commands(world, '--add'))} added")
        real(name)

    monkeypatch.setattr(world, "md_no_discard", ended)
    replaced(world, "D1", "N1")
    assert (order, len(commands(world, "--add"))) == (["off, 0 added"], 1)
    assert world.refuses_discard == {"millrace-data"}
    assert discard.without_guarantee(load_pool()) == ["N1"]
