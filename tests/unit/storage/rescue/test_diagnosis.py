# SPDX-License-Identifier: Apache-2.0
"""A rescue is refused where something else is right, and the sentence says what."""

from pathlib import Path

import pytest

from millrace.plan.policy.model import LogPolicy, Policy
from millrace.storage.record.pool_file import load_pool
from millrace.storage.rescue.diagnosis import diagnose
from millrace.system.errors import Failed, Refused
from tests.fakes.drives.without_log import WithoutLog, without_log
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import confirmed, drop, pool_of, put_in
from tests.unit.storage.drive_life import die
from tests.unit.storage.plans import planned, raid6_plan, raid50_plan
from tests.unit.storage.rescue.lost import NEW, lost, put_back

__all__ = ["root"]


def refused(world: WithoutLog, match: str) -> None:
    world.writes.clear()
    with pytest.raises(Refused, match=match):
        diagnose(world, load_pool())
    assert world.writes == []


def test_both_drives_are_gone(root: Path) -> None:
    found = diagnose(lost(raid6_plan()), load_pool())
    assert (found.log.array.name, found.notes) == ("log", [])


def test_tool_that_is_not_there_is_named_before_anything_is_done(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = lost(raid6_plan())
    monkeypatch.setattr(world, "installed", lambda tool: tool != "xfs_metadump")
    with pytest.raises(Failed, match="this image lacks xfs_metadump; nothing was changed"):
        diagnose(world, load_pool())


def test_server_without_a_pool(root: Path) -> None:
    with pytest.raises(Refused, match="no pool yet"):
        load_pool()


def test_healthy_pool(root: Path) -> None:
    refused(without_log(pool_of(raid6_plan())), r"RAID1 log runs, so that there is nothing to rescue")


def test_one_drive_of_the_log_is_left(root: Path) -> None:
    world = without_log(pool_of(raid6_plan()))
    die(world, "L0")
    refused(world, r"RAID1 log runs")


def test_hot_spare_that_takes_over(root: Path) -> None:
    world = without_log(pool_of(planned(7)))
    gone = load_pool().arrays[-1].members[0].serial
    die(world, gone)
    world.wait(1)
    refused(world, r"RAID1 log runs")


def test_log_inside_the_file_system(root: Path) -> None:
    world = pool_of(planned(7, Policy(log=LogPolicy(mode="internal"))))
    with pytest.raises(Refused, match="inside the file system"):
        diagnose(world, load_pool())


@pytest.mark.parametrize(
    ("plan", "gone", "name"), [(raid6_plan, ["D0", "D1", "D2"], "data"), (raid50_plan, ["D0", "D1"], "leg0")]
)
def test_array_of_the_data_that_does_not_run_comes_first(root: Path, plan: object, gone: list[str], name: str) -> None:
    assert callable(plan)
    world = lost(plan())
    die(world, *gone)
    refused(
        world,
        rf"{name} does not run, and without it there is nothing to rescue; start it first, .*: millrace pool revive",
    )


def test_change_of_drives_is_waited_for(root: Path) -> None:
    world = without_log(pool_of(raid6_plan()))
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "N9")
    confirmed(world, "D1")
    refused(world, r"the replacement of D1 by N9 is running; .*millrace drive progress")


def test_drive_that_is_back_holds_the_log(root: Path) -> None:
    world = lost(raid6_plan(), *NEW)
    put_back(world)
    refused(world, r"L0, L1 is present and holds the log: nothing is lost. .*restart millrace-assemble")


def test_hot_spare_and_a_side_that_was_old_do_not_help(root: Path) -> None:
    world = without_log(pool_of(planned(7)))
    one, other = (member.serial for member in load_pool().arrays[-1].members)
    spare = load_pool().arrays[-1].spares[0].serial
    die(world, one, other)
    found = diagnose(world, load_pool())
    assert len(found.notes) == 1 and found.notes[0].startswith(f"{spare} (nvme")
    assert "was a hot spare of the log and does not hold it" in found.notes[0]


def test_side_that_left_long_ago_is_named_and_never_replayed(root: Path) -> None:
    from millrace.storage.assemble import in_sync

    world = without_log(pool_of(raid6_plan()))
    in_sync.record(world, load_pool(), lambda _: None)
    old = next(disk for disk in world.disks if disk.serial == "L0")
    die(world, "L0")
    in_sync.record(world, load_pool(), lambda _: None)
    die(world, "L1")
    world.names["nvme90n1"] = old
    diagnosis = diagnose(world, load_pool())
    assert diagnosis.notes == ["L0 left the log before it was lost: what it holds is too old, and is never replayed"]
