# SPDX-License-Identifier: Apache-2.0
"""After a power cut before, between or after any write the next boot finishes, and writes to planned drives only."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.plan.model import Plan
from millrace.plan.policy.model import LayoutPolicy, LogPolicy, Policy
from millrace.storage.assemble.assemble import assemble
from millrace.storage.record.model import Pool, Transaction
from millrace.storage.record.step_journal import Journal
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Refused
from millrace.system.files import write_text
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.hardware import PowerCut
from tests.fakes.drives.world import World
from tests.unit.storage.plans import planned, raid6_plan, raid50_plan
from tests.unit.storage.server import approve_plan, provision, server_for


def wire_journal(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The power may go before and after every file that provisioning writes, too."""

    def ticking(path: Path, text: str, mode: int = 0o644) -> bool:
        world.tick()
        changed = write_text(path, text, mode)
        world.tick()
        return changed

    monkeypatch.setattr("millrace.system.documents.write_text", ticking)


def cut_and_boot(world: World, at: int) -> bool:
    """Provision until the power goes; False if it was over before."""
    world.moment, world.cut_at = 0, at
    try:
        provision(world)
    except PowerCut:
        world.boot()
        return True
    world.cut_at = None
    return False


def shape(pool: Pool) -> Pool:
    """The pool without the identities that are drawn for each transaction."""
    drawn = r"[0-9a-f]{8}[-:][0-9a-f-:]{26,27}"
    return Pool.model_validate_json(re.sub(drawn, "drawn", pool.model_dump_json()))


def assert_exists(world: World, pool: Pool) -> None:
    """Every partition, array and file system of the pool is really there, whole, and what is not of it is untouched."""
    assemble(world, lambda _: None)
    by_serial = {disk.serial: disk for disk in world.disks}
    running = {array.uuid: array for array in world.arrays.values()}
    for record in pool.arrays:
        array = running[record.uuid]
        assert (array.level, array.devices) == (record.array.level, len(record.array.members))
        assert record.array.over_arrays or len(array.members) == len(record.members) + len(record.spares)
        for member in [*record.members, *record.spares]:
            assert by_serial[member.serial].inside[member.partuuid]["UUID"] == record.uuid.replace(":", "")
    for drive in pool.drives:
        assert list(by_serial[drive.serial].inside) == [partition.partuuid for partition in drive.partitions]
    in_use = {member.partuuid for record in pool.arrays for member in [*record.members, *record.spares]}
    for partition in (partition for drive in pool.drives for partition in drive.partitions):
        assert partition.partuuid in in_use or not _held(world, partition.partuuid)
    data = next(record for record in pool.arrays if record.array.name == "data")
    assert world.on_arrays[data.uuid]["UUID"] == pool.filesystem_uuid
    assert world.on_arrays[data.uuid]["inprogress"] == "0"
    assert not by_serial["FOREIGN"].gpt_ids
    assert by_serial["UNUSED"].blank
    assert not paths.transaction_file().exists()


def _held(world: World, partuuid: str) -> dict[str, str]:
    return next(disk.inside[partuuid] for disk in world.disks if partuuid in disk.inside)


def journalled() -> Transaction | None:
    path = paths.transaction_file()
    return read_model(path, Transaction) if path.exists() else None


def reset(root: Path) -> None:
    for path in sorted(root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


SPARES = "RAID6 with a hot spare and the log inside"
# Every moment of small servers; of larger ones a sample, in steps that share no factor with those of a drive.
SERVERS: dict[str, tuple[Callable[[], Plan], int]] = {
    "RAID6 and a log pair": (raid6_plan, 1),
    "RAID50 and a log pair": (raid50_plan, 1),
    "one drive": (lambda: planned(1), 1),
    "two drives": (lambda: planned(2), 1),
    "seven drives with log partitions": (lambda: planned(7), 3),
    "twelve equal drives": (lambda: planned(12), 13),
    SPARES: (
        lambda: planned(7, Policy(layout=LayoutPolicy(spares=1), log=LogPolicy(mode="internal"))),
        3,
    ),
    "24 drives in three legs with hot spares": (
        lambda: planned(24, Policy(layout=LayoutPolicy(legs=3, spares=3))),
        37,
    ),
}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("starts_what_never_ran", [True, False])
def test_one_cut_at_every_moment(
    root: Path, monkeypatch: pytest.MonkeyPatch, server: str, starts_what_never_ran: bool
) -> None:
    plan_for, step = SERVERS[server]
    plan = plan_for()
    approve_plan(plan)
    wanted = shape(provision(server_for(plan)))
    moments = 0
    while True:
        moments += step
        reset(root)
        world = server_for(plan)
        world.starts_what_never_ran = starts_what_never_ran
        with monkeypatch.context() as patch:
            approve_plan(plan)
            wire_journal(world, patch)
            if not cut_and_boot(world, moments):
                break
            before = journalled()
            pool = provision(world)
        assert shape(pool) == wanted, f"cut at moment {moments}"
        if before is not None:
            assert (pool.arrays, pool.filesystem_uuid) == (before.arrays, before.filesystem_uuid)
        assert_exists(world, pool)
    assert moments > 40


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 120), max_size=8), server=st.sampled_from(["RAID50 and a log pair", SPARES]))
def test_cut_after_cut(root: Path, cuts: list[int], server: str) -> None:
    reset(root)
    plan = SERVERS[server][0]()
    world = server_for(plan)
    approve_plan(plan)
    with pytest.MonkeyPatch.context() as patch:
        wire_journal(world, patch)
        for at in cuts:
            cut_and_boot(world, at)
        pool = provision(world)
    assert pool.plan_sha256 == plan.digest()
    assert_exists(world, pool)


def begun(world: World, steps: int, mark: str = "done") -> None:
    """The power went right after so many steps had been marked as started or done."""
    approve_plan(raid6_plan())
    real, seen = getattr(Journal, mark), []

    def cut(journal: Journal, name: str) -> None:
        real(journal, name)
        seen.append(name)
        if len(seen) == steps:
            raise PowerCut

    with pytest.MonkeyPatch.context() as patch, pytest.raises(PowerCut):
        patch.setattr(Journal, mark, cut)
        provision(world)
    world.boot()
    world.writes.clear()


def replace(world: World, serial: str, by: Disk) -> None:
    world.disks[[disk.serial for disk in world.disks].index(serial)] = by
    world.boot()


@pytest.mark.parametrize("mark", ["start", "done"])
@pytest.mark.parametrize("steps", range(1, 9))
def test_a_drive_replaced_by_a_foreign_one_while_the_power_was_off_stops_it(
    world: World, steps: int, mark: str
) -> None:
    begun(world, steps, mark)
    replace(world, "D0", Disk("OTHER", 100 << 30, foreign="ext4 file system"))
    with pytest.raises(Refused, match="D0"):
        provision(world)
    assert world.writes == []


def test_drive_filled_during_the_power_cut_stops_provisioning(world: World) -> None:
    begun(world, 2)
    replace(world, "D3", Disk("D3", 100 << 30, foreign="ext4 file system"))
    with pytest.raises(Refused, match=r"D3 .* is not blank: blkid: ext4 file system"):
        provision(world)
    assert world.writes == []


@pytest.mark.parametrize(("steps", "mark"), [(1, "start"), (1, "done"), (6, "done")])
def test_repartitioned_drive_stops_provisioning(world: World, steps: int, mark: str) -> None:
    begun(world, steps, mark)
    replace(world, "D0", Disk("D0", 100 << 30, gpt_ids={"11111111-2222-4333-8444-555555555555"}))
    with pytest.raises(Refused, match="D0"):
        provision(world)
    assert world.writes == []


def test_a_member_that_holds_something_else_is_not_touched(world: World) -> None:
    begun(world, 6)
    disk = next(disk for disk in world.disks if disk.serial == "D2")
    (held,) = disk.inside.values()
    held |= {"TYPE": "linux_raid_member", "UUID": "f" * 32, "LABEL": "other:0"}
    with pytest.raises(Refused, match=r"drive D2 holds linux_raid_member \(other:0\)"):
        provision(world)
    assert world.writes == []
    assert held["UUID"] == "f" * 32


def test_drives_that_are_missing_at_the_resume_are_all_named(world: World) -> None:
    begun(world, 7)
    world.names = {name: disk for name, disk in world.names.items() if disk.serial not in ("D1", "L0")}
    with pytest.raises(Refused, match="D1, L0"):
        provision(world)
    assert world.writes == []


def test_what_lies_on_a_new_array_is_not_formatted(world: World) -> None:
    begun(world, 8)
    transaction = journalled()
    assert transaction is not None
    data = next(record for record in transaction.arrays if record.array.name == "data")
    world.on_arrays[data.uuid] = {"TYPE": "ext4", "LABEL": "thesis"}
    with pytest.raises(Refused, match=r"RAID6 data holds ext4 \(thesis\); it was not touched"):
        provision(world)
    assert [write for write in world.writes if write[0] == "mkfs.xfs"] == []
