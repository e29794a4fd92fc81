# SPDX-License-Identifier: Apache-2.0
"""A RAID50 grows on larger drives: its legs at once, the RAID0 over them at the next start, then the file system."""

import copy
import shutil
from pathlib import Path

import pytest

from millrace.plan.model import Plan
from millrace.storage.assemble.assemble import assemble
from millrace.storage.assemble.grown_legs import RESERVE
from millrace.storage.change import change_proposal, change_text
from millrace.storage.change.grow_steps import GrowTask
from millrace.storage.change.plan_grow import growth
from millrace.storage.record import change_journal
from millrace.storage.record.drive_change import DriveProposal
from millrace.storage.record.pool_file import load_pool, save_pool
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from tests.fakes.drives.hardware import PowerCut
from tests.fakes.drives.tools import MD_KEEPS
from tests.fakes.drives.world import World
from tests.fakes.mounts import mount
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import applied, confirmed, drop, pool_of, put_in, replaced
from tests.unit.storage.drive_life import die
from tests.unit.storage.plans import DATA_SIZE, raid50_plan
from tests.unit.storage.provision.test_apply_power_cuts import reset, wire_journal

__all__ = ["root"]

TOP = "/dev/md/millrace-data"
DRIVES = {f"D{number}" for number in range(6)}


def larger(root: Path, plan: Plan | None = None) -> World:
    """A pool whose drives of the data were replaced by larger ones."""
    world = pool_of(plan or raid50_plan())
    for disk in world.disks:
        if disk.serial.startswith("D"):
            disk.size *= 2
    world.writable = {disk.serial for disk in world.disks if disk.serial.startswith("D")}
    mount(root, "/dev/md127", "/srv/pool", "xfs", "rw,noatime")
    return world


def confirmed_growth(world: World) -> DriveProposal:
    proposal = change_proposal.proposed(world, growth, None)
    change_proposal.confirm(world, proposal, proposal.sha256, "admin")
    return proposal


def first_part(world: World) -> DriveProposal:
    proposal = confirmed_growth(world)
    applied(world)
    return proposal


def restart(world: World) -> list[str]:
    """The next boot, up to millrace-drive.service."""
    world.boot()
    return started(world)


def started(world: World) -> list[str]:
    said: list[str] = []
    assemble(world, said.append)
    return said


def size(world: World, array: str = "data") -> int:
    return world.array_size(world.running(f"/dev/md/millrace-{array}"))


def test_proposal_says_that_the_pool_uses_the_legs_after_the_next_restart(root: Path) -> None:
    world = larger(root)
    proposal = change_proposal.proposed(world, growth, None)
    assert {grown.serial for grown in proposal.plan.grows} == DRIVES and proposal.plan.legs == ["leg0", "leg1"]
    assert proposal.plan.gain == 4 * (proposal.plan.grows[0].size - proposal.plan.grows[0].before - RESERVE)
    assert proposal.steps[-2:] == [
        "Array data: use its larger legs from the next restart of the server on.",
        "After that grow the file system, which stays mounted and served.",
    ]


def test_legs_grow_to_one_size_and_nothing_else_changes_before_the_restart(root: Path) -> None:
    world = larger(root)
    before, legs = size(world), size(world, "leg0")
    proposal = first_part(world)
    assert size(world, "leg0") == size(world, "leg1") > legs + DATA_SIZE
    assert size(world) == before and world.grown_to is None
    waiting, change = load_pool().growth, change_journal.last()
    assert waiting is not None and not waiting.started and waiting.gain == proposal.plan.gain
    assert (
        change is not None and change.ended and "after the next restart: systemctl reboot" in change_text.result(change)
    )
    with pytest.raises(Refused, match="systemctl reboot"):
        change_proposal.proposed(world, growth, None)


@pytest.mark.parametrize("legs", [2, 3])
def test_next_boot_uses_the_legs_and_grows_the_file_system(root: Path, legs: int) -> None:
    world = larger(root, raid50_plan(legs))
    before, proposal = size(world), first_part(world)
    restart(world)
    assert world.called("systemctl --no-block start millrace-drive.service")
    applied(world)
    assert world.grown_to == size(world) == legs * (size(world, "leg0") - MD_KEEPS)
    assert size(world) >= before + proposal.plan.gain
    change = change_journal.last()
    assert load_pool().growth is None and change is not None and change.ended and change.error is None
    assert change.by == "admin" and change_text.result(change).startswith("the pool has ")
    with pytest.raises(Refused, match="replace each by a larger one first"):
        change_proposal.proposed(world, growth, None)


def test_array_that_does_not_take_the_new_sizes_is_served_with_the_old_ones(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = larger(root)
    before = size(world)
    first_part(world)
    world.boot()
    with monkeypatch.context() as patch:
        patch.setattr(world, "_update", _refused)
        said = started(world)
    assert any("its new size cannot be used" in line for line in said) and size(world) == before
    waiting = load_pool().growth
    assert waiting is not None and not waiting.started and change_journal.running() is None
    restart(world)
    applied(world)
    assert world.grown_to == size(world) and load_pool().growth is None


def _refused(*_: object) -> None:
    raise Failed("mdadm: cannot re-read metadata from /dev/md/millrace-leg0 - aborting")


def test_pool_of_an_earlier_version_that_started_it_larger_is_served(root: Path) -> None:
    """It knows nothing of the growth, and starts what the superblocks say."""
    world = larger(root)
    first_part(world)
    restart(world)
    save_pool(load_pool().model_copy(update={"growth": None}))
    before = size(world)
    restart(world)
    assert size(world) == before and world.grown_to is None


def test_growth_that_an_earlier_version_forgot_before_the_restart_is_asked_for_again(root: Path) -> None:
    world = larger(root)
    first_part(world)
    save_pool(load_pool().model_copy(update={"growth": None}))
    restart(world)
    proposal = first_part(world)
    assert proposal.plan.grows == [] and proposal.plan.gain > DATA_SIZE and len(proposal.steps) == 2
    assert world.called("mdadm --grow /dev/md/millrace-leg0")[1:] == []
    restart(world)
    applied(world)
    assert world.grown_to == size(world) == 2 * (size(world, "leg0") - MD_KEEPS)


def test_drive_that_dies_while_the_restart_is_awaited_is_replaced_and_the_growth_goes_on(root: Path) -> None:
    world = larger(root)
    first_part(world)
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "N1")
    world.writable |= {"N1"}
    confirmed(world, "D1")
    applied(world)
    assert load_pool().growth is not None
    restart(world)
    applied(world)
    assert world.grown_to == size(world) and load_pool().growth is None
    assert {drive.partitions[-1].size for drive in load_pool().drives if drive.serial in {*DRIVES, "N1"}} == {
        next(drive for drive in load_pool().drives if drive.serial == "N1").partitions[-1].size
    }


def test_degraded_leg_starts_with_its_new_size(root: Path) -> None:
    world = larger(root)
    first_part(world)
    die(world, "D4")
    drop(world, "D4")
    restart(world)
    applied(world)
    assert world.grown_to == size(world) == 2 * (size(world, "leg0") - MD_KEEPS)


def test_degraded_leg_is_not_enlarged(root: Path) -> None:
    world = larger(root)
    die(world, "D4")
    with pytest.raises(Refused, match=r"RAID5 leg1 is degraded.*millrace drive replace D4"):
        change_proposal.proposed(world, growth, None)
    assert world.called("sfdisk --lock --no-reread") == []


def test_file_system_does_not_grow_into_a_part_that_only_one_leg_has(root: Path) -> None:
    """Somebody started the array by hand after a power cut between two superblocks."""
    world = larger(root)
    first_part(world)
    restart(world)
    (held := world.content("/dev/md/millrace-leg1") or {})["data"] = str(DATA_SIZE)
    with pytest.raises(Failed, match="does not use its larger legs; restart the server"):
        applied(world)
    assert held and world.grown_to is None


def test_another_open_change_keeps_the_file_system_from_growing_until_the_next_start(
    root: Path,
) -> None:
    world = larger(root)
    first_part(world)
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "N1")
    world.writable |= {"N1"}
    replacing = confirmed(world, "D1")
    restart(world)
    assert (change := change_journal.running()) is not None and change.id == replacing.id
    applied(world)
    waiting = load_pool().growth
    assert waiting is not None and waiting.started and world.grown_to is None
    # and whoever does not want to wait for that asks for it
    first_part(world)
    assert world.grown_to == size(world) and load_pool().growth is None


# every moment of the start of the arrays, of the other ones a sample
@pytest.mark.parametrize(("legs", "after", "step"), [(2, "power cut", 7), (2, "kill", 11), (3, "power cut", 13)])
def test_one_cut_at_every_moment(
    root: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    legs: int,
    after: str,
    step: int,
) -> None:
    before, files = larger(root, raid50_plan(legs)), tmp_path_factory.mktemp("before")
    small = size(before)
    confirmed_growth(before)
    shutil.copytree(root, files, dirs_exist_ok=True)
    moment = 0
    while True:
        moment += step
        reset(root)
        shutil.copytree(files, root, dirs_exist_ok=True)
        world = copy.deepcopy(before)
        with monkeypatch.context() as patch:
            wire_journal(world, patch)
            world.moment, world.cut_at = 0, moment
            try:
                applied(world)
                world.names, world.arrays = dict(world.names), {}
                started(world)
                applied(world)
            except PowerCut:
                world.cut_at = None
                if after == "power cut":
                    world.boot()
                started(world)
            else:
                break
            # what was not done is done by this boot or by the next one
            applied(world)
            assert size(world) >= small, f"cut at moment {moment}"
            restart(world)
            applied(world)
        assert world.grown_to == size(world) == legs * (size(world, "leg0") - MD_KEEPS), f"cut at moment {moment}"
        assert load_pool().growth is None and change_journal.running() is None
    assert moment > 40


def test_cut_between_two_legs_leaves_the_array_as_it_was(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = larger(root)
    before = size(world)
    confirmed_growth(world)
    with monkeypatch.context() as patch:
        patch.setattr(GrowTask, "perform", _cut_after)
        with pytest.raises(PowerCut):
            applied(world)
    restart(world)
    assert size(world) == before and size(world, "leg0") > size(world, "leg1")
    applied(world)
    assert size(world, "leg0") == size(world, "leg1") and size(world) == before


_perform = GrowTask.perform


def _cut_after(task: GrowTask) -> str:
    _perform(task)
    raise PowerCut


def test_leg_that_grew_before_the_other_one_was_refused_grows_with_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drive that died was the smallest, and a larger one took its place: both legs get the later size."""
    world = larger(root)
    for disk in world.disks:
        if disk.serial in DRIVES - {"D4"}:
            disk.size *= 2
    confirmed_growth(world)
    with monkeypatch.context() as patch:
        patch.setattr(GrowTask, "perform", lambda task: _died_after(task, world))
        with pytest.raises(Failed, match="RAID5 leg1 is degraded"):
            applied(world)
    assert size(world, "leg0") > size(world, "leg1")
    first = size(world, "leg0")
    drop(world, "D4")
    put_in(world, "N4")
    next(disk for disk in world.disks if disk.serial == "N4").size *= 4
    world.writable |= {"N4"}
    replaced(world, "D4", "N4")
    first_part(world)
    assert size(world, "leg0") == size(world, "leg1") > first + DATA_SIZE
    restart(world)
    applied(world)
    assert world.grown_to == size(world) and load_pool().growth is None


def _died_after(task: GrowTask, world: World) -> str:
    done = _perform(task)
    die(world, "D4")
    return done


def test_legs_that_differ_are_made_even_by_the_next_growth(root: Path) -> None:
    world = larger(root)
    first_part(world)
    grown = size(world, "leg0")
    world.attempt(["mdadm", "--grow", "/dev/md/millrace-leg1", f"--size={(grown // 2 - (1 << 30)) // 1024}"])
    assert size(world, "leg1") < grown
    restart(world)
    waiting = load_pool().growth
    assert waiting is not None and not waiting.started
    proposal = first_part(world)
    assert proposal.plan.gain == waiting.gain and size(world, "leg0") == size(world, "leg1") == grown
    restart(world)
    applied(world)
    assert world.grown_to == size(world) and load_pool().growth is None


def test_file_system_that_an_earlier_version_left_small_is_grown(root: Path) -> None:
    world = larger(root)
    before = size(world)
    first_part(world)
    restart(world)
    world.filesystem = before
    save_pool(load_pool().model_copy(update={"growth": None}))
    paths.drive_change_file().unlink(missing_ok=True)
    proposal = first_part(world)
    assert proposal.plan.second and proposal.plan.gain == size(world) - before
    assert world.grown_to == size(world)
    with pytest.raises(Refused, match="replace each by a larger one first"):
        change_proposal.proposed(world, growth, None)
