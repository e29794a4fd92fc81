# SPDX-License-Identifier: Apache-2.0
"""Commands that build the pool, and what is recorded of it."""

from pathlib import Path

import pytest

from millrace.plan.model import Plan
from millrace.plan.policy.model import LayoutPolicy, Policy
from millrace.storage.provision import apply
from millrace.storage.provision.create_array import create_command
from millrace.storage.provision.filesystem import mkfs_command
from millrace.storage.provision.mount_unit import mount_unit, mount_unit_file
from millrace.storage.provision.publish import renew_mount_unit
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Failed
from tests.fakes.drives.world import World
from tests.unit.storage.plans import GROUP, MIB, planned, planned_1u12, raid6_plan, raid50_plan
from tests.unit.storage.server import approve_plan, built, provision, server_for

GOLDEN = Path(__file__).parent / "golden"


def test_raid6_says_everything_that_mdadm_would_otherwise_decide(world: World) -> None:
    data = next(array for array in built(world, raid6_plan()).arrays if array.array.name == "data")
    assert create_command(data, ["/dev/a", "/dev/b"], []) == [
        "mdadm",
        "--create",
        "/dev/md/millrace-data",
        "--run",
        "--metadata=1.2",
        "--homehost=millrace",
        "--name=millrace-data",
        f"--uuid={data.uuid}",
        "--level=raid6",
        "--raid-devices=2",
        "--chunk=128K",
        "--bitmap=internal",
        "--bitmap-chunk=524288K",
        "/dev/a",
        "/dev/b",
    ]


def test_raid5_starts_redundant_and_raid0_has_no_bitmap() -> None:
    records = {record.array.name: record for record in built(server_for(raid50_plan()), raid50_plan()).arrays}
    assert "--force" in create_command(records["leg0"], ["/dev/a", "/dev/b"], [])
    assert "--bitmap=none" in create_command(records["data"], ["/dev/a", "/dev/b"], [])
    assert not [word for word in create_command(records["log"], ["/dev/a", "/dev/b"], []) if word.startswith("--chunk")]


def test_legs_come_before_the_array_over_them() -> None:
    names = [record.array.name for record in built(server_for(raid50_plan()), raid50_plan()).arrays]
    assert names == ["leg0", "leg1", "log", "data"]


def test_the_file_system_has_the_planned_geometry_and_its_log_outside() -> None:
    assert mkfs_command(raid6_plan().filesystem, "U", force=False) == [
        *("mkfs.xfs", "-K", "-L", "millrace"),
        *("-m", "uuid=U,autofsck=check,crc=1,finobt=1,inobtcount=1,rmapbt=1,reflink=1,bigtime=1,metadir=0"),
        *("-i", "size=512,sparse=1,nrext64=1,exchange=1", "-n", "version=2,ftype=1,parent=1"),
        *("-b", "size=4096", "-s", "size=4096"),
        *("-d", f"su=131072,sw=2,agsize={GROUP}"),
        *("-l", f"logdev=/dev/md/millrace-log,size={2038 * MIB}"),
        "/dev/md/millrace-data",
    ]


def test_a_file_system_that_mkfs_made_otherwise_is_no_pool(world: World) -> None:
    plan = raid6_plan()
    odd = plan.filesystem.model_copy(update={"allocation_group_size": GROUP + 4096})
    plan = plan.model_copy(update={"filesystem": odd})
    world.proposal = plan
    approve_plan(plan)
    with pytest.raises(Failed, match=r"mkfs.xfs differs from the plan: agblocks 1572928 instead of 1572897"):
        provision(world)
    assert not paths.pool_file().exists()


@pytest.mark.parametrize(
    ("made", "off"),
    [
        ({"features_incompat": "0x6b"}, "parent is off"),
        ({"features_ro_compat": "0x9"}, "rmapbt is off, reflink is off"),
        ({"features_ro_compat": "", "versionnum": "0xb4a4"}, "crc is off, finobt is off, inobtcount is off"),
    ],
)
def test_file_system_without_a_feature_is_no_pool(world: World, made: dict[str, str], off: str) -> None:
    world.made_otherwise = made
    approve_plan(raid6_plan())
    with pytest.raises(Failed, match=f"mkfs.xfs differs from the plan: {off}"):
        provision(world)
    assert not paths.pool_file().exists()


def test_a_journal_of_an_earlier_version_is_finished_with_the_number_of_groups() -> None:
    older = raid6_plan().filesystem.model_copy(
        update={"allocation_group_size": None, "autofsck": None, "features": None}
    )
    command = mkfs_command(older, "U", force=False)
    assert (command[command.index("-d") + 1], command[command.index("-m") + 1]) == (
        "su=131072,sw=2,agcount=32",
        "uuid=U",
    )
    assert "-n" not in command


def test_small_log_drives_carry_no_more_than_the_data_drives_can_take_over() -> None:
    plan = planned_1u12()
    world = server_for(plan)
    pool = built(world, plan)
    assert [(drive.partitions[0].label, drive.partitions[0].size) for drive in pool.drives] == [
        (f"millrace-log-{n:02}", 4096 * MIB) for n in range(12)
    ]
    log = next(record for record in pool.arrays if record.array.name == "log")
    assert [member.label for member in log.members] == ["millrace-log-10", "millrace-log-11"]
    assert [(spare.serial, spare.label) for spare in log.spares] == [("SN000", "millrace-log-00")]
    command = next(write for write in world.writes if f"--uuid={log.uuid}" in write)
    assert {"--level=raid1", "--raid-devices=2", "--spare-devices=1"} <= set(command)


def test_an_internal_log_keeps_a_stripe_unit_that_xfs_can_take() -> None:
    filesystem = raid6_plan().filesystem.model_copy(
        update={"log_device": None, "log_size": None, "stripe_unit": 512 << 10}
    )
    command = mkfs_command(filesystem, "U", force=True)
    assert command[command.index("-l") + 1] == "su=262144"
    assert "-f" in command


def test_partitions_are_numbered_by_role_over_all_legs() -> None:
    pool = built(server_for(raid50_plan()), raid50_plan())
    labels = {member.serial: member.label for record in pool.arrays for member in record.members}
    assert labels == {
        **{f"D{n}": f"millrace-data-{n:02}" for n in range(6)},
        **{f"L{n}": f"millrace-log-{n:02}" for n in range(2)},
    }


def test_what_was_built_is_on_record_and_the_approval_used_up(world: World) -> None:
    pool = built(world, raid6_plan())
    assert read_model(paths.approved_plan_file(), Plan) == raid6_plan()
    assert pool.plan_sha256 == raid6_plan().digest()
    assert len(list((paths.state_dir() / "history").glob("pool-*.json"))) == 1
    assert mount_unit_file().read_text() == mount_unit(pool.filesystem, pool.plan_sha256)
    assert not paths.approval_file().exists()
    assert not paths.transaction_file().exists()


def test_each_step_is_one_line_that_says_how_far_it_is(world: World) -> None:
    approve_plan(raid6_plan())
    lines: list[str] = []
    apply.provision(world, lines.append)
    assert lines[0] == "1/9 drive D0: partition millrace-data-00 101376 MiB"
    assert lines[6] == "7/9 RAID6 data: created, 4 members"
    assert lines[8] == "9/9 XFS: created, 32 allocation groups"


def test_members_are_passed_by_partition_uuid_never_by_kernel_name(world: World) -> None:
    approve_plan(raid6_plan())
    provision(world)
    created = [command for command in world.writes if command[:2] == ["mdadm", "--create"]]
    assert len(created) == len(raid6_plan().arrays)
    for command in created:
        devices = [word for word in command[3:] if word.startswith("/dev/")]
        assert devices and all(device.startswith("/dev/disk/by-partuuid/") for device in devices)


def test_the_mount_unit() -> None:
    text = mount_unit(raid6_plan().filesystem, "0" * 64)
    assert text == (GOLDEN / "srv-pool.mount").read_text()


def test_the_pool_of_an_earlier_version_is_mounted_safely_from_the_next_boot_on(world: World) -> None:
    pool = built(world, raid6_plan())
    unit = mount_unit_file().read_text()
    assert "Options=nosuid,nodev,noexec,noatime," in unit
    assert not renew_mount_unit(world, pool)
    mount_unit_file().write_text(unit.replace("nosuid,nodev,noexec,", "exec,"))
    world.knows_older_mount = True
    assert renew_mount_unit(world, pool)
    assert mount_unit_file().read_text() == unit
    assert world.calls[-1] == ["systemctl", "daemon-reload"]


def test_the_owner_of_an_earlier_pool_who_asked_for_exec_gets_none() -> None:
    plan = raid6_plan()
    asked = plan.filesystem.model_copy(
        update={"mount_options": ["exec", "dev", "suid", "defaults", "noatime", "nodev"]}
    )
    assert "Options=nosuid,noexec,noatime,nodev,logdev=" in mount_unit(asked, "0" * 64)


def test_without_small_drives_the_log_lies_in_front_of_the_data_on_every_drive() -> None:
    plan = planned(7)
    world = server_for(plan)
    pool = built(world, plan)
    assert [[part.label for part in drive.partitions] for drive in pool.drives] == [
        [f"millrace-log-{n:02}", f"millrace-data-{n:02}"] for n in range(7)
    ]
    log = next(record for record in pool.arrays if record.array.name == "log")
    assert [member.label for member in log.members] == ["millrace-log-00", "millrace-log-01"]
    for disk in world.disks:
        if disk.table is None:
            continue
        mib = MIB // disk.block
        entries: list[dict[str, int]] = disk.table["partitions"]  # type: ignore[assignment]
        assert (entries[0]["start"], entries[0]["size"]) == (mib, 4096 * mib)
        assert entries[1]["start"] == 4097 * mib


def test_hot_spares_are_given_to_mdadm_and_recorded() -> None:
    plan = planned(24, Policy(layout=LayoutPolicy(legs=3, spares=3)))
    world = server_for(plan)
    pool = built(world, plan)
    for record in pool.arrays:
        if not record.array.name.startswith("leg"):
            continue
        devices = [f"/dev/disk/by-partuuid/{member.partuuid}" for member in [*record.members, *record.spares]]
        command = next(write for write in world.writes if f"--uuid={record.uuid}" in write)
        assert {"--raid-devices=7", "--spare-devices=1"} <= set(command)
        assert command[-8:] == devices
    labels = {spare.label for record in pool.arrays for spare in record.spares if record.array.name != "log"}
    assert labels == {"millrace-data-21", "millrace-data-22", "millrace-data-23"}


def test_a_single_drive_becomes_a_mirror_of_one_with_its_log_inside() -> None:
    plan = planned(1)
    world = server_for(plan)
    built(world, plan)
    create, mkfs = world.writes[-2:]
    assert {"--level=raid1", "--raid-devices=1", "--force", "--bitmap=internal"} <= set(create)
    assert mkfs[mkfs.index("-d") + 1] == f"noalign,agsize={plan.filesystem.allocation_group_size}"
    assert "-l" not in mkfs
    assert "logdev" not in mount_unit_file().read_text()


def test_the_log_inside_gets_a_power_of_two_that_its_buffers_can_hold() -> None:
    filesystem = raid6_plan().filesystem.model_copy(
        update={"log_device": None, "log_size": None, "stripe_unit": 96 << 10}
    )
    command = mkfs_command(filesystem, "U", force=False)
    assert command[command.index("-l") + 1] == "su=65536"


def test_systemd_reads_its_units_again_only_where_it_knows_an_older_mount(world: World) -> None:
    reload = ["systemctl", "daemon-reload"]
    built(world, raid6_plan())
    assert reload not in world.calls
    other = server_for(raid6_plan())
    other.knows_older_mount = True
    paths.pool_file().unlink()
    built(other, raid6_plan())
    assert reload in other.calls


def test_the_mount_unit_is_where_systemd_searches(root: Path) -> None:
    assert mount_unit_file() == root / "etc/systemd/system/srv-pool.mount"
