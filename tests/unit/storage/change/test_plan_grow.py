# SPDX-License-Identifier: Apache-2.0
"""A pool grows on larger drives: what is gained, what is refused, and what a power cut leaves."""

import copy
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.plan.policy.model import LayoutPolicy, Policy
from millrace.storage.assemble.assemble import assemble
from millrace.storage.change import change_proposal, change_text
from millrace.storage.change.grow_steps import GrowTask
from millrace.storage.change.plan_grow import growth
from millrace.storage.record import change_journal
from millrace.storage.record.drive_change import DriveProposal
from millrace.storage.record.model import DriveRecord
from millrace.storage.record.pool_file import load_pool
from millrace.system.errors import Failed, Refused
from tests.fakes.drives.hardware import PowerCut
from tests.fakes.drives.world import World
from tests.fakes.mounts import mount, unmount_all
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import applied, members, pool_of, spares
from tests.unit.storage.drive_life import die
from tests.unit.storage.plans import DATA_SIZE, external_plan, planned, raid6_plan
from tests.unit.storage.provision.test_apply_power_cuts import reset, wire_journal

__all__ = ["root"]

GIB = 1 << 30


def larger(world: World, root: Path, factor: int = 2, without: tuple[str, ...] = ()) -> World:
    """Every drive of the data was replaced by a larger one, but some."""
    for disk in world.disks:
        if disk.serial in {*members("data"), *spares("data")} - {*without}:
            disk.size *= factor
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    mount(root, "/dev/md127", "/srv/pool", "xfs", "rw,noatime")
    world.writable = {*members("data"), *spares("data")}
    return world


def proposed(world: World) -> DriveProposal:
    return change_proposal.proposed(world, growth, None)


def grown(world: World) -> list[str]:
    proposal = proposed(world)
    change_proposal.confirm(world, proposal, proposal.sha256, "admin")
    return applied(world)


def data_sizes() -> set[int]:
    return {_last(drive) for drive in load_pool().drives if drive.serial in members("data")}


def _last(drive: DriveRecord) -> int:
    return drive.partitions[-1].size


@pytest.mark.parametrize(("count", "data"), [(2, 1), (4, 3), (7, 5)], ids=["mirror", "RAID5", "RAID6"])
def test_mirror_and_single_leg_use_all_of_the_drives(root: Path, count: int, data: int) -> None:
    world = larger(pool_of(planned(count)), root)
    before, proposal = min(data_sizes()), proposed(world)
    grown(world)
    assert data_sizes() == {proposal.plan.grows[0].size} and min(data_sizes()) > before + DATA_SIZE // 2
    assert proposal.plan.gain == data * (min(data_sizes()) - before)
    assert world.grown_to is not None and world.grown_to > data * before
    change = change_journal.last()
    assert change is not None and change.error is None and change_text.result(change).startswith("the pool has ")


def test_log_partition_in_front_stays_where_it_is(root: Path) -> None:
    world = larger(pool_of(planned(7)), root)
    before = {drive.serial: drive.partitions[0] for drive in load_pool().drives}
    starts = {disk.serial: dict(disk.placed) for disk in world.disks}
    grown(world)
    assert {drive.serial: drive.partitions[0] for drive in load_pool().drives} == before
    assert {disk.serial: disk.placed for disk in world.disks} == starts


def test_smallest_drive_decides_and_is_named_where_it_gives_nothing(root: Path) -> None:
    world = larger(pool_of(planned(7)), root, without=(members_of_pool := "SN000",))
    with pytest.raises(Refused, match=f"drive {members_of_pool}.* cannot give more than .* millrace drive replace"):
        proposed(world)
    assert world.called("sfdisk --lock --no-reread") == []


def test_hot_spare_that_is_small_keeps_the_pool_as_it_is(root: Path) -> None:
    world = pool_of(planned(7, Policy(layout=LayoutPolicy(spares=1))))
    (spare,) = spares("data")
    with pytest.raises(Refused, match=f"drive {spare}"):
        proposed(larger(world, root, without=(spare,)))
    assert world.called("mdadm --grow") == []


def test_degraded_pool_is_refused(root: Path) -> None:
    world = larger(pool_of(raid6_plan()), root)
    die(world, "D1")
    with pytest.raises(Refused, match=r"RAID6 data is degraded.*millrace drive replace D1"):
        proposed(world)
    assert change_journal.last() is None


def test_pool_that_degrades_between_confirmation_and_growth_is_not_enlarged(root: Path) -> None:
    world = larger(pool_of(raid6_plan()), root)
    proposal = proposed(world)
    change_proposal.confirm(world, proposal, proposal.sha256, "admin")
    die(world, "D1")
    with pytest.raises(Refused):
        applied(world)
    assert world.called("mdadm --grow") == [] and min(data_sizes()) == 99 * GIB


def test_pool_on_an_external_device_is_refused_with_the_reason(root: Path) -> None:
    world = pool_of(external_plan())
    with pytest.raises(Refused, match="external"):
        proposed(world)
    assert root.exists() and world.called("sfdisk --lock --no-reread") == []


def test_dry_run_shows_the_gain_and_writes_nothing(root: Path) -> None:
    world = larger(pool_of(raid6_plan()), root)
    writes = len(world.writes)
    shown = "\n".join(change_text.proposal_lines(proposed(world)))
    assert "Gain" in shown and "GB of usable capacity" in shown and "Enlarge millrace-data-" in shown
    assert len(world.writes) == writes and change_journal.last() is None


def test_pool_that_is_not_mounted_is_a_sentence_and_goes_on_later(root: Path) -> None:
    world = larger(pool_of(raid6_plan()), root)
    proposal = proposed(world)
    change_proposal.confirm(world, proposal, proposal.sha256, "admin")
    unmount_all(root)
    with pytest.raises(Failed, match="/srv/pool is not mounted"):
        applied(world)
    mount(root, "/dev/md127", "/srv/pool", "xfs", "rw,noatime")
    applied(world)
    assert world.grown_to is not None


def test_member_that_dies_before_the_file_system_has_grown_is_replaced_by_one_of_the_new_size(root: Path) -> None:
    world = larger(pool_of(raid6_plan()), root)
    proposal = proposed(world)
    change_proposal.confirm(world, proposal, proposal.sha256, "admin")
    unmount_all(root)
    with pytest.raises(Failed, match="/srv/pool is not mounted"):
        applied(world)
    assert data_sizes() == {proposal.plan.grows[0].size}


def test_array_that_has_grown_and_lost_a_member_in_a_power_cut_is_recorded(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = larger(pool_of(raid6_plan()), root)
    proposal = proposed(world)
    change_proposal.confirm(world, proposal, proposal.sha256, "admin")
    with monkeypatch.context() as patch:
        wire_journal(world, patch)
        patch.setattr(GrowTask, "perform", _cut_after(GrowTask.perform))
        with pytest.raises(PowerCut):
            applied(world)
    die(world, "D1")
    applied(world)
    assert data_sizes() == {proposal.plan.grows[0].size} and world.grown_to is not None


def _cut_after(perform: Callable[[GrowTask], str]) -> Callable[[GrowTask], str]:
    def cut(task: GrowTask) -> str:
        perform(task)
        raise PowerCut

    return cut


@pytest.mark.parametrize("after", ["power cut", "kill"])
def test_one_cut_at_every_moment(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    before, files = larger(pool_of(raid6_plan()), root), tmp_path_factory.mktemp("before")
    proposal = proposed(before)
    change_proposal.confirm(before, proposal, proposal.sha256, "admin")
    shutil.copytree(root, files, dirs_exist_ok=True)
    moment = 0
    while True:
        moment += 1
        reset(root)
        shutil.copytree(files, root, dirs_exist_ok=True)
        world = copy.deepcopy(before)
        with monkeypatch.context() as patch:
            wire_journal(world, patch)
            world.moment, world.cut_at = 0, moment
            try:
                applied(world)
            except PowerCut:
                world.cut_at = None
                if after == "power cut":
                    world.boot()
                    assemble(world, lambda _: None)
            else:
                break
            applied(world)
        change = change_journal.last()
        assert change is not None and change.ended and change.error is None, f"cut at moment {moment}"
        assert data_sizes() == {proposal.plan.grows[0].size}
        assert world.grown_to is not None and world.grown_to > 2 * 99 * GIB
    assert moment > 40
