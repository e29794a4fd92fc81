# SPDX-License-Identifier: Apache-2.0
"""A pool on an external device: built like one on arrays, found again by the GUIDs of its partitions."""

from pathlib import Path

import pytest

from millrace.plan.model import Plan, Role
from millrace.storage.array.devices import backend_drives
from millrace.storage.assemble import external_device
from millrace.storage.assemble.assemble import assemble
from millrace.storage.assemble.mounted_pool import verify
from millrace.storage.provision.mount_unit import mount_unit_file
from millrace.storage.provision.partition import LINUX_DATA
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.hardware import PowerCut
from tests.fakes.drives.world import World
from tests.fakes.samples import add_external
from tests.fakes.samples import pool as built_on_arrays
from tests.unit.storage.assemble.test_mounted_pool import mount, pool_line
from tests.unit.storage.plans import MIB, external_plan
from tests.unit.storage.server import approve_plan, built, provision, server_for


def start(plan: Plan) -> tuple[World, Pool]:
    """A server whose pool is built, after a restart."""
    world = server_for(plan)
    pool = built(world, plan)
    world.boot()
    world.calls.clear()
    return world, pool


def disk(world: World, serial: str = "VOL") -> Disk:
    return next(one for one in world.disks if one.serial == serial)


def assembled(world: World) -> list[str]:
    lines: list[str] = []
    assemble(world, lines.append)
    return lines


def test_one_partition_at_a_full_stripe_carries_the_file_system() -> None:
    plan = external_plan()
    world, pool = start(plan)
    (record,) = pool.drives
    (part,) = record.partitions
    assert (pool.backend, pool.arrays) == ("external", [])
    assert (record.start, record.start % (768 << 10), part.label) == (3 * MIB, 0, "millrace-data-00")
    assert pool.filesystem.device == f"/dev/disk/by-partuuid/{part.partuuid}"
    held = disk(world).inside[part.partuuid]
    assert (held["TYPE"], held["UUID"], held["inprogress"]) == ("xfs", pool.filesystem_uuid, "0")
    assert (held["unit"], held["width"]) == ("192", "192")
    table = disk(world).table
    assert table is not None
    (entry,) = table["partitions"]  # type: ignore[misc]
    assert entry["type"].lower() == LINUX_DATA
    assert [write[0] for write in world.writes] == ["sfdisk", "mkfs.xfs"]


def test_nothing_of_md_is_asked_for_or_loaded() -> None:
    world = server_for(external_plan())
    built(world, external_plan())
    world.boot()
    assembled(world)
    assert not {call[0] for call in world.calls} & {"mdadm", "modprobe"}


def test_the_mount_unit_names_the_partition_and_its_log() -> None:
    _, pool = start(external_plan(log=True))
    text = mount_unit_file().read_text()
    assert f"What={pool.filesystem.device}\n" in text
    assert f"logdev={pool.filesystem.log_device}" in text
    assert pool.filesystem.log_device == f"/dev/disk/by-partuuid/{pool.drives[1].partitions[0].partuuid}"


@pytest.mark.parametrize("log", [False, True])
def test_after_a_power_cut_at_any_moment_the_pool_is_finished(log: bool) -> None:
    plan, at = external_plan(log), 0
    while True:
        at += 1
        world = server_for(plan)
        for file in (paths.pool_file(), paths.transaction_file(), paths.approval_file()):
            file.unlink(missing_ok=True)
        approve_plan(plan)
        world.cut_at = at
        try:
            pool = provision(world)
        except PowerCut:
            world.boot()
            pool = provision(world)
            assert disk(world).inside[pool.drives[0].partitions[0].partuuid]["inprogress"] == "0"
            assert len(assembled(world)) == 1 + log
        else:
            break
    assert at > 10


def test_the_device_is_found_under_another_name_and_is_waited_for() -> None:
    world, _ = start(external_plan())
    name = next(name for name, device in world.names.items() if device.serial == "VOL")
    late = world.names.pop(name)
    wait = world.wait

    def arrives(seconds: float) -> None:
        wait(seconds)
        if world.waited >= 3:
            world.names["nvme9n1"] = late

    world.wait = arrives  # type: ignore[method-assign]
    assert assembled(world) == ["partition millrace-data-00 of external device VOL: nvme9n1p1"]
    assert world.waited == 3


def test_a_device_that_does_not_come_is_named_with_the_remedy() -> None:
    world, _ = start(external_plan())
    world.names = {name: one for name, one in world.names.items() if one.serial != "VOL"}
    with pytest.raises(Failed) as error:
        assembled(world)
    assert str(error.value) == (
        "external device VOL with partition millrace-data-00 is missing: connect it again, then: "
        "systemctl restart millrace-assemble"
    )
    assert world.waited == external_device.LIMIT


def test_another_file_system_on_the_partition_is_not_the_pool() -> None:
    world, pool = start(external_plan())
    disk(world).inside[pool.drives[0].partitions[0].partuuid]["UUID"] = "99999999-2222-4333-8444-555555555555"
    with pytest.raises(Failed, match=r"holds xfs .99999999-.* and not the pool"):
        assembled(world)


def test_a_partition_that_is_there_twice_is_not_taken(root: Path) -> None:
    world, pool = start(external_plan())
    for name in ("sda1", "sdb1"):
        add_external(root, name, pool.drives[0].partitions[0].partuuid, linked=False)
    with pytest.raises(Failed, match=r"external device VOL is there 2 times \(sda1, sdb1\): disconnect the snapshot"):
        assembled(world)


def test_what_is_mounted_is_compared_with_the_partition(root: Path) -> None:
    world, pool = start(external_plan())
    name = world.partition(pool.drives[0].partitions[0].partuuid)
    mount(root, pool_line(f"/dev/{name}", "x"))
    assert verify(world) == pool
    (root / "proc/1/mountinfo").write_text(pool_line("/dev/sdb1", "x"))
    with pytest.raises(Failed, match="uses /dev/sdb1, which is not partition millrace-data-00 of external device VOL"):
        verify(world)


def test_a_device_with_a_signature_is_refused_before_the_first_write() -> None:
    world = server_for(external_plan())
    disk(world).foreign = "XFS file system"
    approve_plan(external_plan())
    with pytest.raises(Refused, match="is not blank: blkid: XFS file system; nothing was written"):
        provision(world)
    assert world.writes == []


def test_a_device_that_vanished_since_the_approval_is_refused() -> None:
    world = server_for(external_plan())
    approve_plan(external_plan())
    world.names = {name: one for name, one in world.names.items() if one.serial != "VOL"}
    with pytest.raises(Refused, match="not found, by serial and wwid: VOL; nothing was written"):
        provision(world)
    assert world.writes == []


def test_a_device_that_takes_no_partitions_is_refused_before_the_first_write() -> None:
    world = server_for(external_plan())
    world.without_partitions = {"VOL"}
    approve_plan(external_plan())
    with pytest.raises(Refused, match="takes no partitions; nothing was written"):
        provision(world)
    assert world.writes == []


def test_a_device_that_shrank_is_refused() -> None:
    world = server_for(external_plan())
    disk(world).size -= MIB
    approve_plan(external_plan())
    with pytest.raises(Refused, match="which does not fit the plan"):
        provision(world)


def test_the_kernels_name_of_the_device_is_read_from_the_link(root: Path) -> None:
    _, pool = start(external_plan())
    assert backend_drives(pool) == []
    add_external(root, "vda1", pool.drives[0].partitions[0].partuuid)
    assert backend_drives(pool) == backend_drives(pool, Role.DATA) == ["vda"]
    assert backend_drives(pool, Role.LOG) == backend_drives(built_on_arrays()) == []


def test_the_serial_number_that_the_device_has_here_is_recorded() -> None:
    """A volume over NVMe-oF has another serial number than the disk that another server had."""
    world, pool = start(external_plan())
    disk(world).serial = "HERE"
    lines: list[str] = []
    changed = assemble(world, lines.append)
    assert ([one.serial for one in changed.drives], changed.generation) == (["HERE"], pool.generation + 1)
    assert load_pool() == changed
    assert assemble(world, lines.append) == changed
