# SPDX-License-Identifier: Apache-2.0
"""Whatever prevents provisioning is found before the first write."""

from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.plan.model import PlanObstacle, Refusal
from millrace.storage.provision import apply
from millrace.storage.provision.provision_job import JOB
from millrace.storage.record.writer import erasing, writing
from millrace.system import paths
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.run import Result
from tests.fakes.drives.disks import Disk, Running
from tests.fakes.drives.world import World
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import approve_plan, built, propose, provision


def disk(world: World, serial: str) -> Disk:
    return next(found for found in world.disks if found.serial == serial)


def test_without_an_approval_the_unit_ends_well_and_writes_nothing(world: World) -> None:
    propose(raid6_plan())
    assert apply.provision(world, print, if_approved=True).state == "not-approved"
    # each boot without a pool looks for an approval, and that is no job
    assert JOB.last(world.attempt) is None
    assert world.calls == []


def test_missing_approval_names_the_command_to_approve(world: World) -> None:
    propose(raid6_plan())
    with pytest.raises(Refused, match="millrace approve HASH"):
        apply.provision(world, print)


def test_a_plan_that_changed_since_the_approval_stops_it(world: World) -> None:
    approve_plan(raid6_plan())
    world.proposal = raid6_plan().model_copy(update={"capacity": 1})
    with pytest.raises(Refused, match="has changed since plan"):
        provision(world)
    assert world.writes == []
    assert not paths.transaction_file().exists()


def test_an_approval_does_not_outlive_the_server_that_it_was_given_for(world: World) -> None:
    approve_plan(raid6_plan())
    world.proposal = raid6_plan().model_copy(update={"capacity": 1})
    with pytest.raises(Refused):
        provision(world)
    world.proposal = raid6_plan()
    assert apply.provision(world, print, if_approved=True).state == "not-approved"
    assert world.writes == []


def test_a_credential_for_a_refused_plan_is_said_and_fails_no_boot(
    world: World, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = propose(raid6_plan())
    (root / "millrace.provision").write_text(stale)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(root))
    propose(raid6_plan().model_copy(update={"capacity": 1}))
    said: list[str] = []
    assert apply.provision(world, said.append, if_approved=True).state == "not-approved"
    assert "not the hash of the current plan" in said[-1]
    assert world.calls == []


def test_a_plan_that_can_no_longer_be_built_says_why(world: World) -> None:
    approve_plan(raid6_plan())
    world.proposal = Refusal(obstacles=[PlanObstacle(drives=[], what="vanished", todo="")], drives=[])
    with pytest.raises(Refused, match="vanished"):
        provision(world)
    assert world.writes == []


def pull_a_drive(world: World) -> None:
    world.names = {name: found for name, found in world.names.items() if found.serial != "D1"}


def hide_a_file_system(world: World) -> None:
    disk(world, "D1").hidden = "ext4"


def fill_a_drive(world: World) -> None:
    disk(world, "D1").foreign = "XFS file system"


def shrink_a_drive(world: World) -> None:
    disk(world, "D1").size -= 1 << 20


def swap_the_wwid(world: World) -> None:
    disk(world, "D1").wwid = "eui.another"


def let_a_drive_fail(world: World) -> None:
    disk(world, "D1").critical_warning = 1 << 3


def put_a_drive_to_use(world: World) -> None:
    world.in_use = lambda name: "Device or resource busy" if world.names[name].serial == "D1" else None  # type: ignore[method-assign]


def leave_a_torn_table(world: World) -> None:
    disk(world, "D1").gpt_ids = {"11111111-2222-4333-8444-555555555555"}


@pytest.mark.parametrize(
    "happens",
    [
        pull_a_drive,
        hide_a_file_system,
        fill_a_drive,
        shrink_a_drive,
        swap_the_wwid,
        put_a_drive_to_use,
        let_a_drive_fail,
        leave_a_torn_table,
    ],
)
def test_a_drive_that_is_not_as_planned_stops_it_and_is_named(world: World, happens: Callable[[World], None]) -> None:
    approve_plan(raid6_plan())
    happens(world)
    with pytest.raises(Refused, match="D1"):
        provision(world)
    assert world.writes == []
    assert not paths.transaction_file().exists()


def test_a_missing_tool_stops_it(world: World) -> None:
    approve_plan(raid6_plan())
    world.installed = lambda tool: tool != "mkfs.xfs"  # type: ignore[method-assign]
    with pytest.raises(Failed, match=r"lacks mkfs\.xfs"):
        provision(world)
    assert world.writes == []


def test_a_foreign_array_under_our_name_is_left_alone(world: World) -> None:
    approve_plan(raid6_plan())
    world.arrays["md5"] = Running("1:2:3:4", "raid1", 2, "millrace-data", [])
    with pytest.raises(Refused, match="millrace-data exists already"):
        provision(world)
    assert world.writes == []


def test_drive_replaced_after_the_inventory_is_not_written(world: World) -> None:
    approve_plan(raid6_plan())
    name = next(name for name, found in world.names.items() if found.serial == "D1")
    world.before["sfdisk --lock"] = lambda: world.names.update({name: Disk("INTRUDER", 1 << 40, foreign="ext4")})
    with pytest.raises(Refused, match="D1 was removed or replaced"):
        provision(world)
    assert len(world.writes) == 1


def test_a_second_writer_is_refused(world: World) -> None:
    approve_plan(raid6_plan())
    with writing(erasing("D7")), pytest.raises(Refused, match=r"^drive D7 is about to be erased"):
        provision(world)


def test_failed_probe_is_not_a_blank_drive(world: World) -> None:
    approve_plan(raid6_plan())
    # with the status that stands for "nothing found" too
    world.broken["blkid"] = Result(2, "", "error: /dev/nvme1n1: No such file or directory")
    with pytest.raises(MillraceError, match="cannot be probed"):
        provision(world)
    assert not [write for write in world.writes if write[0] != "sfdisk"]


def test_a_second_run_changes_nothing(world: World) -> None:
    pool = built(world, raid6_plan())
    writes = len(world.writes)
    outcome = apply.provision(world, print)
    assert (outcome.state, outcome.pool, len(world.writes)) == ("already-provisioned", pool, writes)
