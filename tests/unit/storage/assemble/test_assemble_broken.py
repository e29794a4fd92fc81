# SPDX-License-Identifier: Apache-2.0
"""Arrays that are broken, and halves of a mirror: what runs is started, and nothing stale in its place."""

from millrace.storage.assemble import in_sync
from millrace.storage.record.pool_file import load_pool
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import die, rebuilt, writing
from tests.unit.storage.plans import raid6_plan, raid50_plan
from tests.unit.storage.power_cut import cut_while_written, forced, started
from tests.unit.storage.server import built, server_for


def test_the_log_is_started_although_the_data_cannot_be(world: World) -> None:
    built(world, raid6_plan())
    world.boot()
    world.names = {name: disk for name, disk in world.names.items() if disk.serial not in ("D0", "D1", "D2")}
    log, failed = started(world)
    assert log == "RAID1 log: started, 2 members"
    assert failed.startswith("failed: RAID6 data cannot start: 1 of 4 members present, 2 required")


def test_every_array_that_does_not_run_is_named(world: World) -> None:
    built(world, raid6_plan())
    world.boot()
    world.names = {
        name: disk for name, disk in world.names.items() if disk.serial not in ("D0", "D1", "D2", "L0", "L1")
    }
    (failed,) = started(world)
    assert "RAID6 data cannot start" in failed
    assert "RAID1 log cannot start" in failed
    assert world.waited < 31, "all arrays together wait once"


def test_a_raid0_is_not_started_without_a_leg() -> None:
    world = server_for(raid50_plan())
    built(world, raid50_plan())
    world.boot()
    world.names = {name: disk for name, disk in world.names.items() if disk.serial not in ("D0", "D1")}
    assert started(world)[-1].endswith("RAID0 data cannot start without leg0")


def stale_half(world: World) -> None:
    """L0 drops out, L1 goes on; the next boot finds L0 alone."""
    built(world, raid6_plan())
    gone = next(disk for disk in world.disks if disk.serial == "L0")
    die(world, "L0")
    in_sync.record(world, load_pool(), lambda _: None)
    writing(world, "log")
    world.boot()
    assert gone in world.names.values()
    world.names = {name: disk for name, disk in world.names.items() if disk.serial != "L1"}


def test_the_stale_half_of_a_mirror_alone_is_not_started(world: World) -> None:
    stale_half(world)
    data, failed = started(world)
    assert data == "RAID6 data: started, 4 members"
    assert failed.startswith(
        "failed: RAID1 log is not started: L0 is present, but was out of sync when the array last ran; L1 was in sync. "
        "Reinsert L1, then: systemctl restart millrace-assemble."
    )
    # nor at the boot after, when the record was written again
    world.boot()
    world.names = {name: disk for name, disk in world.names.items() if disk.serial != "L1"}
    assert started(world)[-1].startswith("failed: RAID1 log is not started")


def test_the_current_half_of_a_mirror_alone_is_started(world: World) -> None:
    built(world, raid6_plan())
    cut_while_written(world, "log", "L0")
    assert started(world)[1] == "RAID1 log: started without L0"


def test_both_halves_start_with_the_current_one_and_the_other_catches_up(world: World) -> None:
    built(world, raid6_plan())
    die(world, "L0")
    in_sync.record(world, load_pool(), lambda _: None)
    writing(world, "log")
    world.boot()
    assert started(world)[1] == "RAID1 log: started without L0; L0 returned and is resyncing"
    world.boot()
    assert started(world)[1] == "RAID1 log: started, 2 members"


def test_a_broken_array_is_stopped_and_started_when_its_drives_are_back(world: World) -> None:
    built(world, raid6_plan())
    names = dict(world.names)
    array = world.running("/dev/md/millrace-log")
    array.state = "broken"
    die(world, "L0", "L1")
    world.names = names
    array.members = []
    assert started(world) == ["RAID6 data: already running", "RAID1 log: started, 2 members"]


def test_a_broken_array_that_is_in_use_is_called_broken(world: World) -> None:
    built(world, raid6_plan())
    array = world.running("/dev/md/millrace-log")
    die(world, "L0", "L1")
    array.in_use = True
    data, failed = started(world)
    assert data == "RAID6 data: already running"
    assert failed == (
        "failed: RAID1 log is broken: too many of its drives were gone, and it is still in use (mdadm --stop "
        "/dev/md126 failed with status 1: mdadm: Cannot get exclusive access to /dev/md126); once they are back in: "
        "millrace pool revive"
    )


def test_a_raid0_is_stopped_before_its_broken_leg() -> None:
    world = server_for(raid50_plan())
    built(world, raid50_plan())
    names = dict(world.names)
    die(world, "D0", "D1")
    world.names = names
    world.writes.clear()
    rebuilt(world)
    said = started(world)
    stops = [command[-1] for command in world.calls if "--stop" in command]
    assert len(stops) == 2
    # nothing was written between the two, and no record says which of them left last
    assert "RAID5 leg0 does not start (it is not known which of D1, D0 left last); missing: none. See" in said[-1]
    assert forced(world) == []
