# SPDX-License-Identifier: Apache-2.0
"""Arrays of the pool start by UUID, complete or degraded, under any kernel names; foreign ones are left alone."""

import os
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from millrace.plan.labels import array_link
from millrace.plan.model import Plan
from millrace.plan.policy.model import LayoutPolicy, Policy
from millrace.storage.array.gather import GRACE, POLL, REST, SLOWEST
from millrace.storage.assemble import in_sync
from millrace.storage.assemble.assemble import assemble
from millrace.storage.provision import publish
from millrace.storage.record.writer import (
    ASSEMBLING,
    EXAMINING,
    LIMIT,
    LIMIT_STARTING,
    PROVISIONING,
    RESCUING,
    RESUMING,
    REVIVING,
    changing,
    starting,
    writing,
)
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes import read_only
from tests.fakes.drives.disks import Disk, Running
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import die, rebuilt
from tests.unit.storage.plans import planned, raid6_plan, raid50_plan
from tests.unit.storage.server import built, server_for


def pull(world: World, *serials: str) -> None:
    world.names = {name: disk for name, disk in world.names.items() if disk.serial not in serials}


def assembled(world: World) -> list[str]:
    world.writes.clear()
    lines: list[str] = []
    assemble(world, lines.append)
    return lines


def test_all_arrays_start_the_raid0_after_its_legs() -> None:
    world = server_for(raid50_plan())
    built(world, raid50_plan())
    world.boot()
    assert assembled(world) == [
        "RAID5 leg0: started, 3 members",
        "RAID5 leg1: started, 3 members",
        "RAID1 log: started, 2 members",
        "RAID0 data: started, 2 members",
    ]
    assert {array.name for array in world.arrays.values()} == set(map(array_link, ("leg0", "leg1", "log", "data")))


def test_a_second_time_changes_nothing(world: World) -> None:
    built(world, raid6_plan())
    world.calls.clear()
    assert assembled(world) == ["RAID6 data: already running", "RAID1 log: already running"]
    assert not [command for command in world.calls if "--assemble" in command]


@pytest.mark.parametrize("gone", [(), ("D1",)])
def test_arrays_start_although_the_boot_drive_is_read_only(
    world: World, monkeypatch: pytest.MonkeyPatch, gone: tuple[str, ...]
) -> None:
    pool = built(world, raid6_plan())
    with writing("what an earlier boot did"):
        in_sync.record(world, pool, lambda _: None)
    world.boot()
    pull(world, *gone)
    read_only.boot_drive(paths.ROOT, monkeypatch)
    lines = assembled(world)
    assert lines[:2] == [
        f"RAID6 data: started without {gone[0]}" if gone else "RAID6 data: started, 4 members",
        "RAID1 log: started, 2 members",
    ]
    assert publish.renew_mount_unit(world, pool) is False


def test_without_two_drives_a_raid6_starts_and_they_are_named(world: World) -> None:
    in_sync.record(world, built(world, raid6_plan()), lambda _: None)
    world.boot()
    pull(world, "D1", "D3")
    assert assembled(world)[0] == "RAID6 data: started without D1, D3"
    assert world.waited <= 2 * REST + POLL, "all drives are up: nobody is waited for"


@pytest.mark.parametrize("after", [REST + 1, GRACE + 10, SLOWEST - 10])
def test_a_drive_whose_controller_is_starting_is_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch, after: float
) -> None:
    built(world, raid6_plan())
    world.boot()
    names = world.names
    pull(world, "D1")
    world.connecting = True

    def arrive(seconds: float) -> None:
        world.waited += seconds
        if world.waited >= after:
            world.names, world.connecting = names, False

    monkeypatch.setattr(world, "wait", arrive)
    assert assembled(world)[0] == "RAID6 data: started, 4 members"
    assert world.waited == after


@pytest.mark.parametrize(("state", "bound"), [("connecting", SLOWEST), ("without_namespace", GRACE)])
def test_a_drive_that_never_comes_up_is_waited_for_once_and_not_forever(world: World, state: str, bound: float) -> None:
    built(world, raid6_plan())
    world.boot()
    pull(world, "D1")
    setattr(world, state, True)
    assert assembled(world) == ["RAID6 data: started without D1", "RAID1 log: started, 2 members"]
    assert bound <= world.waited <= bound + 2 * REST


def test_a_drive_that_udev_has_not_read_is_waited_for(world: World) -> None:
    built(world, raid6_plan())
    world.boot()
    names = world.names
    pull(world, "D1")

    def busy(words: Sequence[str], stdin: str) -> Result:
        # each of these looks takes a second beside the wait after it: three times REST / 2 in all
        if world.waited < REST / 2:
            return Result(1, "", "Timed out for waiting the udev queue being empty.")
        world.names = names
        return world.works(words, stdin)

    world.broken["udevadm settle"] = busy
    assert assembled(world)[0] == "RAID6 data: started, 4 members"


def test_too_few_drives_are_an_error_that_names_those_missing(world: World) -> None:
    built(world, raid6_plan())
    world.boot()
    pull(world, "D0", "D1", "D3")
    with pytest.raises(Failed, match="1 of 4 members present, 2 required; missing: D0, D1, D3"):
        assembled(world)


def test_only_our_members_are_ever_passed_to_mdadm(world: World) -> None:
    pool = built(world, raid6_plan())
    world.boot()
    world.disks.append(Disk("ALIEN", 1 << 40, foreign="md member"))
    world.calls.clear()
    assembled(world)
    ours = {f"/dev/{world.partition(member.partuuid)}" for record in pool.arrays for member in record.members}
    assembling = [command for command in world.calls if "--assemble" in command]
    assert len(assembling) == len(pool.arrays)
    assert {word for command in assembling for word in command[3:] if word.startswith("/dev/")} == ours


def test_a_foreign_array_that_udev_started_is_left_alone(world: World) -> None:
    built(world, raid6_plan())
    world.boot()
    world.arrays["md0"] = Running("11111111:22222222:33333333:44444444", "raid1", 2, "theirs", [])
    assembled(world)
    assert world.arrays["md0"].name == "theirs"
    assert world.writes == []


def test_ours_that_only_collects_members_is_stopped_and_started_in_full(world: World) -> None:
    pool = built(world, raid6_plan())
    world.boot()
    data = next(record for record in pool.arrays if record.array.name == "data")
    world.arrays["md9"] = Running(data.uuid, "raid6", 4, "9", [], state="inactive")
    assert assembled(world)[0] == "RAID6 data: started, 4 members"
    assert world.writes == [["mdadm", "--stop", "/dev/md9"]]


def test_without_a_pool_it_says_so(root: Path, world: World) -> None:
    with pytest.raises(Refused, match="no pool yet"):
        assembled(world)


def with_a_spare() -> tuple[World, Plan]:
    """RAID6 of six drives SN000-SN005 and a hot spare SN006."""
    plan = planned(7, Policy(layout=LayoutPolicy(spares=1)))
    world = server_for(plan)
    built(world, plan)
    world.boot()
    return world, plan


def test_a_hot_spare_waits_beside_the_members() -> None:
    world, _ = with_a_spare()
    assert assembled(world)[0] == "RAID6 data: started, 6 members and 1 hot spare"
    command = next(
        command for command in world.calls if command[:3] == ["mdadm", "--assemble", "/dev/md/millrace-data"]
    )
    assert len([word for word in command if word.startswith("/dev/nvme")]) == 7


def test_a_spare_that_has_taken_the_place_of_a_member_counts_as_one() -> None:
    world, plan = with_a_spare()
    (spare,) = plan.arrays[0].spares
    members = plan.arrays[0].members
    assembled(world)
    die(world, members[-1])
    rebuilt(world)
    world.boot()
    pull(world, *members[-3:])
    assert assembled(world)[0] == f"RAID6 data: started without {', '.join(members[-3:-1])}"
    world.boot()
    pull(world, *members[-3:], spare)
    with pytest.raises(Failed, match="3 of 6 members present, 4 required"):
        assembled(world)


def test_a_single_drive_starts() -> None:
    plan = planned(1)
    world = server_for(plan)
    built(world, plan)
    world.boot()
    assert assembled(world) == ["RAID1 data: started, 1 member"]


def test_drive_that_hangs_in_udev_does_not_hold_back_the_pool(world: World) -> None:
    built(world, raid6_plan())
    world.boot()
    # the event of one drive, ours or not, never ends
    world.broken["udevadm settle"] = Result(1, "", "Timed out")
    world.calls.clear()
    assert assembled(world) == ["RAID6 data: started, 4 members", "RAID1 log: started, 2 members"]
    waited = [command[-1] for command in world.calls if command[:2] == ["udevadm", "wait"]]
    assert waited == ["/dev/md/millrace-data", "/dev/md/millrace-log"]


def starts(world: World) -> list[Sequence[str]]:
    return [command for command in world.calls if "--assemble" in command]


@pytest.mark.parametrize("holder", [PROVISIONING, RESCUING, REVIVING, ASSEMBLING])
def test_start_beside_another_one_is_refused_and_touches_nothing(world: World, holder: str) -> None:
    built(world, raid6_plan())
    world.boot()
    world.calls.clear()
    with writing(holder), pytest.raises(Refused) as refused:
        assembled(world)
    assert str(refused.value) == f"this command started no array: {holder}"
    assert world.calls == [] and world.waited == LIMIT_STARTING


@pytest.mark.parametrize("holder", [REVIVING, EXAMINING, changing(), ASSEMBLING])
def test_start_waits_for_the_end_of_another_one(world: World, monkeypatch: pytest.MonkeyPatch, holder: str) -> None:
    built(world, raid6_plan())
    world.boot()
    lock = ExitStack()
    lock.enter_context(writing(holder))

    def wait(seconds: float) -> None:
        assert starts(world) == []
        world.waited += seconds
        if world.waited > LIMIT / 2:
            lock.close()

    world.calls.clear()
    monkeypatch.setattr(world, "wait", wait)
    assert assembled(world) == ["RAID6 data: started, 4 members", "RAID1 log: started, 2 members"]
    assert LIMIT / 2 < world.waited < LIMIT


def test_change_that_takes_long_keeps_no_array_down_and_members_are_added_after_it(world: World) -> None:
    built(world, raid6_plan())
    die(world, "D1")
    world.boot()
    world.calls.clear()
    with writing(changing()):
        assert assembled(world) == [
            f"{changing()}; the arrays are started now, and members that returned are re-added after it",
            "RAID6 data: started without D1",
            "RAID1 log: started, 2 members",
        ]
    assert world.waited == LIMIT
    assert not [command for command in world.calls if "--re-add" in command]
    assert world.calls[-1] == ["systemctl", "--no-block", "start", "millrace-readd.service"]
    assert assembled(world)[0] == "RAID6 data: already running; D1 returned and is resyncing"


def test_two_starts_beside_a_change_do_not_meet(world: World) -> None:
    built(world, raid6_plan())
    world.boot()
    world.calls.clear()
    with starting(world.wait), writing(changing()), pytest.raises(Refused, match="the arrays of the pool are being st"):
        assembled(world)
    assert starts(world) == []


def test_rescue_that_starts_the_pool_is_not_waited_for(world: World) -> None:
    built(world, raid6_plan())
    world.boot()
    with writing(RESUMING):
        assert assembled(world)[0] == "RAID6 data: started, 4 members"
    assert world.waited == 0


def test_full_run_directory_stops_no_start(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    built(world, raid6_plan())
    world.boot()
    before = os.open

    def full(path: str | Path, *rest: int) -> int:
        if str(path).endswith((".lock",)) and "run/millrace" in str(path):
            raise OSError(28, "No space left on device")
        return before(path, *rest)

    monkeypatch.setattr(os, "open", full)
    assert assembled(world)[0] == "RAID6 data: started, 4 members"


def test_start_that_begins_while_another_runs_finds_the_arrays_running(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the unit of the boot, a drive that returned and an administrator start at once."""
    built(world, raid6_plan())
    world.boot()
    pull(world, "D1")
    world.connecting = True
    lines: list[str] = []

    def wait(seconds: float) -> None:
        world.waited += seconds
        if threading.current_thread() is not threading.main_thread():
            world.connecting = False
            time.sleep(0.001)
        elif not lines:
            lines.append("begun")
            second.start()

    second = threading.Thread(target=lambda: assemble(world, lines.append))
    monkeypatch.setattr(world, "wait", wait)
    world.calls.clear()
    first = assembled(world)
    second.join(30)
    assert first == ["RAID6 data: started without D1", "RAID1 log: started, 2 members"]
    assert lines == ["begun", "RAID6 data: already running", "RAID1 log: already running"]
    assert len(starts(world)) == 2
