# SPDX-License-Identifier: Apache-2.0
"""A hot spare is added and taken out; what an array needs stays."""

from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.plan.policy.model import LayoutPolicy, LogPolicy, Policy
from millrace.storage.assemble import in_sync
from millrace.storage.assemble.assemble import assemble
from millrace.storage.assemble.readd import readd
from millrace.storage.change import change_proposal
from millrace.storage.change.change_steps import LostDrive
from millrace.storage.change.change_text import steps_in_words
from millrace.storage.change.plan_replace import PoolServer
from millrace.storage.change.spares import addition, removal
from millrace.storage.record import change_journal
from millrace.storage.record import removal_record as removals
from millrace.storage.record.drive_change import DrivePlan
from millrace.storage.record.pool_file import load_pool
from millrace.system.errors import Failed, Refused
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
    new_disk,
    pool_of,
    proposed,
    put_in,
    replaced,
    spares,
)
from tests.unit.storage.drive_life import die, plug_in
from tests.unit.storage.plans import planned, raid6_plan, raid50_plan

__all__ = ["root"]


@pytest.fixture
def world(root: Path) -> World:
    return pool_of(raid6_plan())


def added(world: World, new: str) -> list[str]:
    return done(world, lambda server: addition(server, new), None)


def removed(world: World, old: str) -> list[str]:
    return done(world, lambda server: removal(server, old), old)


def pull(world: World, serial: str) -> None:
    world.names = {name: disk for name, disk in world.names.items() if disk.serial != serial}


def done(world: World, decide: Callable[[PoolServer], DrivePlan], old: str | None) -> list[str]:
    proposal = change_proposal.proposed(world, decide, old)
    change_proposal.confirm(world, proposal, proposal.sha256, "admin")
    return applied(world)


def test_blank_drive_becomes_a_hot_spare(world: World) -> None:
    put_in(world, "N1")
    said = added(world, "N1")
    assert said[1:4] == [
        "drive N1: partition millrace-data-04 101376 MiB",
        "RAID6 data: millrace-data-04 added",
        "RAID6 data: millrace-data-04 is a hot spare",
    ]
    assert (members(), spares("data")) == (["D0", "D1", "D2", "D3"], ["N1"])
    assert load_pool().drives[-1].serial == "N1"
    assert [step.partition(" ")[0] for step in steps_in_words(_last())] == ["Write", "Array"]


def test_leg_with_the_fewest_spares_gets_the_next_one(root: Path) -> None:
    unmount_all(root)
    world = pool_of(raid50_plan())
    for serial in ("N1", "N2"):
        put_in(world, serial)
        added(world, serial)
    assert (spares("leg0"), spares("leg1")) == (["N1"], ["N2"])


def test_hot_spare_keeps_its_log_partition_for_later(root: Path) -> None:
    world = pool_of(planned(7))
    put_in(world, "N1")
    log = spares("log")
    added(world, "N1")
    assert (spares("data"), spares("log")) == (["N1"], log)
    assert [one.role.value for one in load_pool().drives[-1].partitions] == ["log", "data"]


def test_spare_is_not_added_where_a_member_is_missing(world: World) -> None:
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "N1")
    with pytest.raises(Refused, match=r"RAID6 data lacks a member .*: millrace drive replace D1"):
        added(world, "N1")


def test_drive_that_does_not_fit_is_not_added(world: World) -> None:
    with pytest.raises(Refused, match=r"cannot add drive FOREIGN: drive FOREIGN is not blank \(ext4 file system\)"):
        added(world, "FOREIGN")
    with pytest.raises(Refused, match="no drive of this server has the serial number 'N1'"):
        added(world, "N1")
    world.boot()
    with pytest.raises(Refused, match="does not run"):
        added(world, "N1")


def test_drive_that_is_failing_is_not_added(world: World) -> None:
    disk = new_disk("N1")
    disk.critical_warning = 1 << 4
    plug_in(world, disk)
    with pytest.raises(Refused, match=r"cannot add drive N1: drive N1 is failing \(the power-loss protection"):
        added(world, "N1")


def test_hot_spare_is_taken_out(root: Path) -> None:
    world = pool_of(planned(7, Policy(layout=LayoutPolicy(spares=1), log=LogPolicy(mode="internal"))))
    (spare,) = spares("data")
    said = removed(world, spare)
    assert f"RAID6 data: {spare} removed" in said
    (device,) = [name for name, one in world.arrays.items() if one.name == "millrace-data"]
    assert spare not in {world.identity(one.name).serial for one in world.md_members(device)}
    assert (spares("data"), _last().fewer_spares) == ([], ["data"])
    with pytest.raises(Refused, match="no array of the pool has a member"):
        removed(world, spare)


def test_spare_that_was_taken_out_is_not_waited_for_and_counts_again_when_it_is_added(root: Path) -> None:
    world = pool_of(planned(7, Policy(layout=LayoutPolicy(spares=1), log=LogPolicy(mode="internal"))))
    (spare,) = spares("data")
    removed(world, spare)
    in_sync.record(world, load_pool(), lambda _: None)
    assert spares("data") == []
    drop(world, spare)
    pull(world, spare)
    plug_in(world, new_disk(spare, max(disk.size for disk in world.disks)))
    added(world, spare)
    assert spares("data") == [spare]


def test_place_of_a_faulty_spare_stays_and_is_reported(root: Path) -> None:
    world = pool_of(planned(7, Policy(layout=LayoutPolicy(spares=1), log=LogPolicy(mode="internal"))))
    (spare,) = spares("data")
    fail(world, "data", spare)
    removed(world, spare)
    assert (spares("data"), _last().fewer_spares) == ([spare], [])


def test_drive_that_was_taken_out_stays_out_until_it_is_added_again(root: Path) -> None:
    world = pool_of(planned(7, Policy(layout=LayoutPolicy(spares=1), log=LogPolicy(mode="internal"))))
    (spare,) = spares("data")
    removed(world, spare)
    world.boot()
    said: list[str] = []
    assemble(world, said.append)
    assert said[0].startswith("RAID6 data: started, 6 members;") and "is left alone" in said[0]
    assert list(removals.load()) == [spare]
    drop(world, spare)
    pull(world, spare)
    plug_in(world, new_disk(spare, max(disk.size for disk in world.disks)))
    added(world, spare)
    assert removals.load() == {}


def test_drive_that_joins_again_is_no_stranger_where_the_change_stops_halfway(world: World) -> None:
    put_in(world, "N1")
    removals.add("N1", "2026-11-22T10:00:00+00:00")
    world.broken["mdadm /dev/md/millrace-data --add"] = Result(1, "", "mdadm: no")
    with pytest.raises(Failed):
        added(world, "N1")
    assert removals.load() == {}


def test_faulty_member_that_was_taken_out_does_not_come_back_by_itself(world: World) -> None:
    fail(world, "data", "D1")
    removed(world, "D1")
    said: list[str] = []
    readd(world, said.append)
    assert [line for line in said if "D1" in line and "is left alone" in line] == said != []
    assert not world.called("mdadm /dev/md/millrace-data --re-add")


def test_old_drive_of_a_replacement_is_left_alone(world: World) -> None:
    put_in(world, "N1")
    replaced(world, "D1")
    assert list(removals.load()) == ["D1"]


def test_faulty_member_is_taken_out(world: World) -> None:
    fail(world, "data", "D1")
    assert "RAID6 data: D1 removed" in removed(world, "D1")
    assert members() == ["D0", "D1", "D2", "D3"]
    plan = _last()
    assert (plan.verb, plan.new, plan.leaves) == ("remove", None, ["data"])


def test_new_drive_that_failed_during_its_rebuild_is_taken_out_and_not_replaced(world: World) -> None:
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "N1")
    confirmed(world, "D1")
    waits = world.wait
    world.wait = lambda seconds: fail(world, "data", "N1")  # type: ignore[method-assign]
    with pytest.raises(LostDrive):
        applied(world)
    assert members() == ["D0", "D1", "D2", "D3"]
    with pytest.raises(Refused, match=r"N1 never was in sync in RAID6 data .*: millrace drive remove N1"):
        proposed(world, "N1")
    assert "RAID6 data: N1 removed" in removed(world, "N1")
    world.wait = waits  # type: ignore[method-assign]
    put_in(world, "N2")
    replaced(world, "D1", "N2")
    assert members() == ["D0", "N2", "D2", "D3"]


def test_member_in_use_is_not_taken_out(world: World) -> None:
    with pytest.raises(Refused, match=r"D1 is in use in RAID6 data; .*: millrace drive replace D1"):
        removed(world, "D1")
    with pytest.raises(Refused, match="no array of the pool has a member 'FOREIGN'"):
        removed(world, "FOREIGN")
    assert change_journal.last() is None


def _last() -> DrivePlan:
    change = change_journal.last()
    assert change is not None and change.ended and change.error is None
    return change.plan
