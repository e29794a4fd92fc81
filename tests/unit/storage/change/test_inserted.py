# SPDX-License-Identifier: Apache-2.0
"""A blank drive in the bay of a missing one is proposed, or takes its place where the policy says so; no other is."""

import shutil
from datetime import date
from pathlib import Path

import pytest

from millrace.inventory.model import Inventory
from millrace.plan.policy.model import DrivesPolicy, Policy
from millrace.storage.array.machine import System
from millrace.storage.assemble.assemble import assemble
from millrace.storage.change import change_job
from millrace.storage.change.inserted import inserted, inserted_before, matches
from millrace.storage.change.plan_replace import PoolServer
from millrace.storage.drive import drive_history
from millrace.storage.record import change_journal, removal_record
from millrace.storage.record.drive_change import DriveChange
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.writer import writing
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Refused
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import applied, confirmed, drop, fail, members, new_disk, pool_of, put_in
from tests.unit.storage.drive_life import die, plug_in
from tests.unit.storage.plans import raid6_plan

__all__ = ["root"]

SAME_BAY = Policy(drives=DrivesPolicy(replace="same-bay"))


@pytest.fixture
def started() -> list[System]:
    """Who starts the unit of changes; the change waits for the test to apply it."""
    return []


@pytest.fixture
def world(root: Path, started: list[System]) -> World:
    """Data drives D0 to D3 of a RAID6 in the bays 0 to 3; the one in bay 1 is gone."""
    made = pool_of(raid6_plan())
    for disk in made.disks:
        disk.bay = disk.serial[1:] if disk.serial.startswith("D") else None
    drive_history.save(drive_history.seen(drive_history.load(), made.scan().drives, {}, date(2026, 11, 22)))
    lost(made, "D1")
    made.before["systemctl start --no-block millrace-drive.service"] = lambda: started.append(made)
    return made


def lost(world: World, serial: str) -> None:
    die(world, serial)
    drop(world, serial)


def blank(bay: str | None = "1", serial: str = "N1", **changes: object) -> Disk:
    disk = new_disk(serial)
    disk.bay = bay
    for name, value in changes.items():
        setattr(disk, name, value)
    return disk


def ran(world: World, disk: Disk, policy: Policy = SAME_BAY) -> tuple[DriveChange | None, list[str]]:
    """A drive is put in, and the service runs."""
    plug_in(world, disk)
    world.calls.clear()
    said: list[str] = []
    return inserted(world, policy, said.append), said


def test_blank_drive_in_the_bay_takes_the_place_by_the_way_of_the_verb(world: World, started: list[System]) -> None:
    change, said = ran(world, blank())
    assert change is not None and (change.by, change.error) == ("policy", None)
    assert said == ["drive N1 in bay 1 replaces D1: `millrace drive progress`"]
    assert started == [world]
    job = change_job.JOB.last(world.attempt)
    assert job is not None and (job.what, job.by) == ("the replacement of D1 by N1", "policy")
    applied(world)
    assert members() == ["D0", "N1", "D2", "D3"]


def test_without_the_key_it_is_examined_and_proposed(world: World, started: list[System]) -> None:
    change, said = ran(world, blank(), Policy())
    assert change is None and said == ["a blank drive (N1) is in bay 1: millrace drive replace D1"]
    assert "N1" in {one.serial for one in read_model(paths.inventory_file(), Inventory).drives}
    assert not paths.drive_change_file().exists() and started == []


@pytest.mark.parametrize(
    ("disk", "words"),
    [
        (blank(foreign="ext4 file system"), None),
        (blank(bay="7"), None),
        (blank(bay=None), None),
        (blank(size=1 << 30), "is too small by"),
        (blank(block=512), "has sectors of 512 bytes"),
        (blank(critical_warning=1 << 3), "it is failing (the drive reports a critical warning: it is in read-only"),
    ],
    ids=["foreign", "other bay", "bay unknown", "too small", "other sectors", "failing"],
)
def test_drive_that_does_not_fit_starts_nothing(
    world: World, started: list[System], disk: Disk, words: str | None
) -> None:
    change, said = ran(world, disk)
    assert change is None and not paths.drive_change_file().exists() and started == []
    assert len(said) == (words is not None) and all(words in line for line in said if words)


def booted(world: World, *disks: Disk, policy: Policy = SAME_BAY) -> tuple[DriveChange | None, list[str]]:
    """Drives are put in while the server is off; it boots, examines all, and the service of the boot runs."""
    world.disks += disks
    world.writable |= {disk.serial for disk in disks}
    world.boot()
    assemble(world, lambda _: None)
    write_model(paths.inventory_file(), world.scan())
    world.calls.clear()
    said: list[str] = []
    return inserted_before(world, policy, said.append), said


def test_drive_that_was_put_in_while_the_server_was_off_takes_the_place(world: World, started: list[System]) -> None:
    change, said = booted(world, blank())
    assert change is not None and (change.by, started) == ("policy", [world])
    assert said == ["drive N1 in bay 1 replaces D1: `millrace drive progress`"]
    applied(world)
    assert members() == ["D0", "N1", "D2", "D3"]


def test_drive_that_was_put_in_while_the_server_was_off_is_proposed(world: World, started: list[System]) -> None:
    change, said = booted(world, blank(), policy=Policy())
    assert change is None and said == ["a blank drive (N1) is in bay 1: millrace drive replace D1"]
    assert started == [] and not paths.drive_change_file().exists()


def test_failing_drive_in_the_bay_is_not_proposed_either(world: World, started: list[System]) -> None:
    change, said = booted(world, blank(critical_warning=1 << 4), policy=Policy())
    assert change is None and started == []
    assert "is not used for D1: it is failing (the power-loss protection" in said[0]
    assert "millrace drive replace" not in said[0]


def test_boot_examines_no_drive_again_where_no_bay_was_filled(
    world: World, started: list[System], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.disks.append(blank(bay="7"))
    world.boot()
    write_model(paths.inventory_file(), world.scan())
    monkeypatch.setattr(world, "scan", lambda: pytest.fail("examined"))
    assert inserted_before(world, SAME_BAY, pytest.fail) is None
    assert started == []


def test_boot_with_all_members_starts_nothing(world: World, started: list[System]) -> None:
    world.disks.append(blank(serial="D1"))
    change, said = booted(world, blank(bay="9"))
    assert (change, said, started) == (None, [], [])


def test_boot_goes_on_with_an_open_change_alone_and_does_not_wait_for_it(world: World) -> None:
    put_in(world, "N9")
    confirmed(world, "D1", "N9")
    write_model(paths.inventory_file(), world.scan())
    said: list[str] = []
    with writing("the replacement of D1 by N9 is running"):
        assert inserted_before(world, SAME_BAY, said.append) is None
    assert len(said) == 1 and "is open; see `millrace drive progress`" in said[0]


def test_boot_that_finds_another_writer_refuses_and_does_not_wait(world: World) -> None:
    with writing("returned members are being re-added"):
        change, said = booted(world, blank())
    assert (change, said) == (None, ["returned members are being re-added"])


def test_drive_is_not_used_while_the_pool_is_adopted(world: World, started: list[System]) -> None:
    world.jobs["millrace-adopt.service"] = "activating"
    change, said = ran(world, blank())
    assert (change, said) == (None, ["a pool is being adopted; wait until that is done"])
    assert started == [] and not paths.drive_change_file().exists()


def test_excluded_drive_is_never_used(world: World) -> None:
    policy = Policy(drives=DrivesPolicy(replace="same-bay", exclude=["N1"]))
    change, said = ran(world, blank(), policy)
    assert change is None and "is not used for D1: Excluded by the policy" in said[0]


def test_bay_of_a_member_that_is_there_is_no_place(world: World) -> None:
    # a bay that two drives report says nothing
    assert ran(world, blank(bay="2")) == (None, [])


def test_nothing_starts_while_another_change_is_open(world: World) -> None:
    put_in(world, "N9")
    confirmed(world, "D1", "N9")
    change, said = ran(world, blank())
    assert change is None and len(said) == 1 and "is open; see `millrace drive progress`" in said[0]
    last = change_journal.last()
    assert last is not None and last.plan.new is not None and last.plan.new.serial == "N9"


def test_what_the_verb_refuses_is_refused(world: World) -> None:
    world.arrays.clear()
    change, said = ran(world, blank())
    assert change is None and len(said) == 1 and "does not run" in said[0]


def test_place_of_a_faulty_member_that_was_taken_out_is_filled_too(world: World) -> None:
    removal_record.add("D1", "2026-11-22T10:00:00+00:00")
    change, _ = ran(world, blank())
    assert change is not None


def test_hot_spare_that_was_taken_out_is_not_missed(world: World) -> None:
    pool = load_pool()
    data = pool.arrays[0]
    spare = data.members[0].model_copy(update={"serial": "S1"})
    with_spare = pool.model_copy(update={"arrays": [data.model_copy(update={"spares": [spare]})]})
    plug_in(world, blank(bay="9"))
    server = PoolServer(with_spare, {}, world.scan().drives, {"S1": "9"})
    assert [one.old for one in matches(server)] == ["S1"]
    assert matches(server, ["S1"]) == []


def test_without_a_pool_nothing_is_used(world: World) -> None:
    paths.pool_file().unlink()
    shutil.rmtree(paths.state_dir() / "history")
    with pytest.raises(Refused, match="no pool yet"):
        ran(world, blank())


def test_drive_that_md_has_given_up_but_is_there_is_not_replaced(world: World) -> None:
    fail(world, "data", "D2")
    change, said = ran(world, blank(bay="2"))
    assert (change, said) == (None, [])
