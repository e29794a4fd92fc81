# SPDX-License-Identifier: Apache-2.0
"""Drives that come late, or were gone for a moment: the arrays are started again where that is certain."""

import json

import pytest

from millrace import paths
from millrace.errors import Failed
from millrace.provision import in_sync, standstill, unclean, writer
from millrace.provision.assemble import assemble
from millrace.provision.failures import Failure
from millrace.provision.pool_file import load_pool
from millrace.provision.returned import readd
from millrace.system.documents import write_model
from millrace.system.files import append_line
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.provision.drive_life import die, plug_in, writing
from tests.unit.provision.plans import raid6_plan
from tests.unit.provision.server import built

RESTART = ["systemctl", "--no-block", "restart", "millrace-assemble.service"]
REVIVE = ["systemctl", "--no-block", "start", "millrace-revive.service"]


@pytest.fixture
def pool(world: World) -> World:
    """A RAID6 of D0 to D3 and a mirror of L0 and L1, both running."""
    built(world, raid6_plan())
    return world


def disk(world: World, serial: str) -> Disk:
    return next(one for one in world.disks if one.serial == serial)


def run(world: World) -> list[str]:
    """What millrace-readd.service says."""
    lines: list[str] = []
    readd(world, lines.append)
    return lines


def started(world: World) -> list[list[str]]:
    found = [command for command in world.calls if command in (RESTART, REVIVE)]
    world.calls.clear()
    return found


def boot_without(world: World, *serials: str) -> None:
    world.boot()
    world.names = {name: one for name, one in world.names.items() if one.serial not in serials}


def one_after_another(world: World, *serials: str) -> None:
    """Drives leave a running array, with writes in between."""
    for serial in serials:
        die(world, serial)
        in_sync.record(world, load_pool(), lambda _: None)
        writing(world, "data")


def test_drives_that_come_after_the_assembly_failed_start_it_again_once(pool: World) -> None:
    boot_without(pool, "D0", "D1", "D2")
    with pytest.raises(Failed, match="1 of 4 members present, 2 required"):
        assemble(pool, lambda _: None)
    started(pool)
    # nothing came
    assert run(pool) == [] and started(pool) == []
    plug_in(pool, disk(pool, "D0"))
    assert run(pool) == ["/dev/md/millrace-data: the drives are back; starting the pool"]
    assert started(pool) == [RESTART]
    # nobody has tried it yet
    assert run(pool) == ["/dev/md/millrace-data: the drives are back; starting the pool"]
    assert started(pool) == [RESTART]
    # the same drives are not tried twice
    standstill.record(pool, load_pool())
    assert run(pool) == [] and started(pool) == []
    assemble(pool, lambda _: None)
    assert standstill.load() == {}


@pytest.mark.parametrize("unit", ["millrace-assemble.service", "millrace-revive.service"])
def test_start_under_way_is_not_killed_and_what_came_meanwhile_is_started_after_it(
    pool: World, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot_without(pool, "D0", "D1", "D2")
    with pytest.raises(Failed):
        assemble(pool, lambda _: None)
    plug_in(pool, disk(pool, "D0"))
    pool.activating.add(unit)
    started(pool)
    waited: list[float] = []

    def wait(seconds: float) -> None:
        assert RESTART not in pool.calls
        with writer.writing("a revival"):
            waited.append(seconds)
        if len(waited) == 3:
            pool.activating.clear()

    monkeypatch.setattr(pool, "wait", wait)
    assert run(pool) == ["/dev/md/millrace-data: the drives are back; starting the pool"]
    assert started(pool) == [RESTART] and len(waited) == 3


def test_start_that_hangs_is_not_waited_for_for_ever(pool: World, monkeypatch: pytest.MonkeyPatch) -> None:
    one_after_another(pool, "D0", "D1", "D2")
    pool.activating.add("millrace-assemble.service")
    waited: list[float] = []
    monkeypatch.setattr(pool, "wait", waited.append)
    (said,) = run(pool)
    assert said.startswith("the arrays are being started for more than 30 minutes")
    assert started(pool) == [] and sum(waited) == 1800


def test_doubt_is_said_once_for_the_same_drives(pool: World) -> None:
    fail_together(pool)
    (said,) = run(pool)
    assert said.startswith("RAID6 data does not start by itself: it is not known which of D1, D2 left last")
    assert run(pool) == [] and started(pool) == []


def test_revival_that_did_not_end_is_started_by_the_next_event(pool: World) -> None:
    away = [disk(pool, serial) for serial in ("D0", "D1", "D2")]
    one_after_another(pool, "D0", "D1", "D2")
    for one in away:
        plug_in(pool, one)
    for _ in range(2):
        run(pool)
        assert started(pool) == [REVIVE]
    standstill.record(pool, load_pool())
    assert run(pool) == [] and started(pool) == []


def test_one_drive_that_is_not_enough_starts_nothing(pool: World) -> None:
    boot_without(pool, "D0", "D1", "D2", "D3")
    with pytest.raises(Failed):
        assemble(pool, lambda _: None)
    plug_in(pool, disk(pool, "D0"))
    (said,) = run(pool)
    assert said == "RAID6 data does not start by itself: 1 more of its members are needed; missing: D1, D2, D3"
    assert started(pool) == []


def test_broken_array_gets_no_member_and_is_revived(pool: World) -> None:
    away = [disk(pool, serial) for serial in ("D0", "D1", "D2")]
    one_after_another(pool, "D0", "D1", "D2")
    # the one that left first is not enough
    plug_in(pool, away[0])
    (said,) = run(pool)
    assert said.startswith("RAID6 data does not start by itself: D1, D2 may have left after D0")
    assert started(pool) == []
    plug_in(pool, away[2])
    assert run(pool) == ["/dev/md/millrace-data: the drives are back; starting the pool"]
    assert [command for command in pool.calls if "--re-add" in command or "--add" in command] == []
    assert started(pool) == [REVIVE]


def test_member_that_left_last_is_started_with_and_the_others_are_rebuilt(pool: World) -> None:
    away = [disk(pool, serial) for serial in ("D0", "D1", "D2")]
    one_after_another(pool, "D0", "D1", "D2")
    for one in away:
        plug_in(pool, one)
    lines: list[str] = []
    assemble(pool, lines.append)
    assert lines[0] == (
        "RAID6 data: started without D0, D1, with D2 again: files written in the last minutes before it broke may be "
        "damaged; D0 returned and is resyncing; D1 returned and is resyncing"
    )
    known = unclean.pending()
    assert known is not None
    assert [(one.array, one.missing) for one in known.starts] == [("data", ["D0", "D1"])]
    (forced,) = [command for command in pool.calls if "--force" in command]
    assert len([word for word in forced if word.startswith("/dev/nvme")]) == 2


def fail_together(world: World) -> None:
    """D0 leaves; later D1 and D2 at once: their superblocks are equal."""
    one_after_another(world, "D0")
    die(world, "D1", "D2")
    writing(world, "data")
    for serial in ("D0", "D1", "D2"):
        plug_in(world, disk(world, serial))


def recorded(world: World, serial: str, left: int, broken: bool, at: float) -> None:
    (member,) = [one for one in load_pool().arrays[0].members if one.serial == serial]
    failure = Failure("boot", 1, at, load_pool().arrays[0].uuid, member.partuuid, left, broken)
    append_line(paths.failures_file(), json.dumps(failure._asdict()))


# when the superblocks of the fake are written
WRITTEN = 1795000000.0


@pytest.mark.parametrize("last", ["D1", "D2"])
def test_recorded_order_says_which_of_two_equal_members_left_last(pool: World, last: str) -> None:
    fail_together(pool)
    recorded(pool, "D1" if last == "D2" else "D2", 2, False, WRITTEN)
    recorded(pool, last, 1, True, WRITTEN)
    lines: list[str] = []
    assemble(pool, lines.append)
    assert f", with {last} again" in lines[0]


@pytest.mark.parametrize("at", [None, WRITTEN - 3600, WRITTEN + 3600])
def test_equal_members_without_a_record_of_this_time_are_not_started(pool: World, at: float | None) -> None:
    fail_together(pool)
    if at is not None:
        recorded(pool, "D2", 1, True, at)
    with pytest.raises(Failed, match=r"it is not known which of D1, D2 left last\); missing: none. See millrace"):
        assemble(pool, lambda _: None)
    assert [command for command in pool.calls if "--force" in command] == []
    assert unclean.pending() is None
    (one,) = standstill.load().values()
    assert (one.behind, one.missing, one.starts) == (["D0", "D1", "D2"], [], False)


def test_start_that_mdadm_refuses_is_not_recorded(pool: World) -> None:
    one_after_another(pool, "D0", "D1", "D2")
    for serial in ("D0", "D1", "D2"):
        plug_in(pool, disk(pool, serial))
    pool.refuse_force = True
    with pytest.raises(Failed):
        assemble(pool, lambda _: None)
    assert unclean.pending() is None


def test_full_boot_drive_keeps_nothing_from_being_started(pool: World, monkeypatch: pytest.MonkeyPatch) -> None:
    one_after_another(pool, "D0", "D1", "D2")
    for serial in ("D0", "D1", "D2"):
        plug_in(pool, disk(pool, serial))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(unclean, "write_model", full)
    lines: list[str] = []
    assemble(pool, lines.append)
    assert ", with D2 again" in lines[0] and "could not be recorded" in lines[0]


def test_record_that_cannot_be_read_is_none() -> None:
    write_model(paths.stopped_file(), standstill.StoppedArrays(arrays=[]))
    assert standstill.load() == {}
    paths.stopped_file().write_text("{")
    assert standstill.load() == {}
