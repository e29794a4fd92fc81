# SPDX-License-Identifier: Apache-2.0
"""After a power cut or a kill before, between or after any write a replacement goes on and nothing else is written."""

import copy
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.plan.model import Plan
from millrace.plan.policy.model import LayoutPolicy, LogPolicy, Policy
from millrace.storage.assemble import in_sync
from millrace.storage.assemble.assemble import assemble
from millrace.storage.record import change_journal, removal_record
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from tests.fakes.drives.hardware import PowerCut
from tests.fakes.drives.world import World
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import applied, confirmed, drop, members, pool_of, put_in, spares
from tests.unit.storage.drive_life import die
from tests.unit.storage.plans import planned, raid6_plan
from tests.unit.storage.provision.test_apply_power_cuts import reset, wire_journal

__all__ = ["root"]

SPARE = Policy(layout=LayoutPolicy(spares=1), log=LogPolicy(mode="internal"))
# Every moment of the small server; of the others a sample.
SERVERS: dict[str, tuple[Callable[[], Plan], int]] = {
    "RAID6 and a log pair": (raid6_plan, 1),
    "log partitions": (lambda: planned(6), 7),
    "RAID6 with a hot spare": (lambda: planned(7, SPARE), 7),
}


def power_cut(world: World) -> None:
    """The next boot, up to millrace-drive.service."""
    world.boot()
    assemble(world, lambda _: None)


def killed(world: World) -> None:
    """systemd starts the unit again; the arrays run on."""
    world.cut_at = None


def began(world: World, server: str, how: str) -> str:
    """A replacement of a member that died, or that can be read; its serial."""
    old = "D1" if server.endswith("pair") else members("data")[1]
    if how == "missing":
        die(world, old)
        drop(world, old)
    put_in(world, "N1")
    confirmed(world, old)
    world.writable = {"N1", *members("data"), *(members("log") if not server.endswith("spare") else ())}
    return old


@pytest.mark.parametrize("how", ["missing", "readable"])
@pytest.mark.parametrize("after", [power_cut, killed])
@pytest.mark.parametrize("server", SERVERS)
def test_one_cut_at_every_moment(
    root: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    after: Callable[[World], None],
    how: str,
) -> None:
    plan, step = SERVERS[server]
    before, files = pool_of(plan()), tmp_path_factory.mktemp("before")
    old = began(before, server, how)
    drives = len(load_pool().drives)
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
            except PowerCut:
                after(world)
            else:
                break
            applied(world)
        change = change_journal.last()
        assert change is not None and change.ended and change.error is None, f"cut at moment {moment}"
        assert not paths.drive_change_file().exists()
        # the end of a rebuild onto the hot spare is recorded by millrace-members.service
        world.wait(1)
        in_sync.record(world, load_pool(), lambda _: None)
        there = [*members("data"), *spares("data")]
        assert "N1" in there and old not in there, f"cut at moment {moment}"
        assert [drive.serial for drive in load_pool().drives].count("N1") == 1
        assert len(load_pool().drives) == drives
        power_cut(world)
        assert "N1" in [*members("data"), *spares("data")] and len(members("data")) == len(set(members("data")))
    assert moment > 20


def cut_during_the_copy(world: World) -> None:
    """D1 is being copied to N1 when the power goes; the next boot begins."""
    put_in(world, "N1")
    confirmed(world, "D1")

    def cut(seconds: float) -> None:
        raise PowerCut

    waits, world.wait = world.wait, cut  # type: ignore[method-assign]
    with pytest.raises(PowerCut):
        applied(world)
    world.wait = waits  # type: ignore[method-assign]
    world.boot()


def test_new_drive_that_comes_late_after_a_power_cut_is_waited_for(root: Path) -> None:
    world = pool_of(raid6_plan())
    cut_during_the_copy(world)
    names, world.names = world.names, {name: drive for name, drive in world.names.items() if drive.serial != "N1"}
    waits = world.wait

    def arrive(seconds: float) -> None:
        world.names = names
        waits(seconds)

    world.wait = arrive  # type: ignore[method-assign]
    assemble(world, lambda _: None)
    before = len(world.called("mdadm /dev/md/millrace-data --add"))
    applied(world)
    assert len(world.called("mdadm /dev/md/millrace-data --add")) == before
    assert members() == ["D0", "N1", "D2", "D3"]


def test_new_drive_that_md_was_started_without_joins_again(root: Path) -> None:
    world = pool_of(raid6_plan())
    cut_during_the_copy(world)
    names, world.names = world.names, {name: one for name, one in world.names.items() if one.serial != "N1"}
    assemble(world, lambda _: None)
    world.names = names
    applied(world)
    change = change_journal.last()
    assert change is not None and change.ended and change.error is None
    assert members() == ["D0", "N1", "D2", "D3"]


def test_drive_that_has_its_own_place_again_is_not_left_out_after_a_power_cut_at_the_end(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = pool_of(raid6_plan())
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "D1")
    confirmed(world, "D1", "D1")

    def cut(*_: object) -> None:
        raise PowerCut

    with monkeypatch.context() as patch, pytest.raises(PowerCut):
        patch.setattr(in_sync, "record", cut)
        applied(world)
    power_cut(world)
    applied(world)
    assert removal_record.load() == {} and members() == ["D0", "D1", "D2", "D3"]
    (device,) = [name for name, array in world.arrays.items() if array.name == "millrace-data"]
    assert {world.identity(member.name).serial for member in world.md_members(device) if member.in_sync} == {*members()}
