# SPDX-License-Identifier: Apache-2.0
"""A 1U12 becomes RAID6 of ten and a 2U24 becomes RAID50 of 2 × 9, each with its log on a mirror of the small drives."""

from collections.abc import Callable

import pytest

from millrace.inventory.model import Drive, Inventory
from millrace.plan.allocation_groups import Stripes, planned_groups
from millrace.plan.filesystem import log_size
from millrace.plan.model import MdArray, Plan, Role
from millrace.plan.policy.model import NfsPolicy, Policy
from millrace.plan.propose import propose
from millrace.plan.sizes import partition_size
from tests.unit.plan.servers import DATA_SIZE, GIB, LOG_SIZE, drive, drives_1u12, drives_2u24, server

KIB, MIB, TIB = 1 << 10, 1 << 20, 1 << 40


def planned(inventory: Inventory, policy: Policy | None = None) -> Plan:
    proposal = propose(inventory, policy or Policy())
    assert isinstance(proposal, Plan), proposal
    return proposal


def arrays(plan: Plan) -> dict[str, MdArray]:
    return {array.name: array for array in plan.arrays}


def test_1u12_is_raid6_of_ten() -> None:
    plan = planned(server(drives_1u12()))
    data, log = plan.arrays
    assert (data.name, data.level, data.members) == ("data", "raid6", [f"SN{number:03}" for number in range(10)])
    assert (data.chunk, data.data_members, data.over_arrays) == (64 * KIB, 8, False)
    assert (data.bitmap, data.bitmap_chunk) == ("internal", 512 * MIB)
    assert (log.name, log.level, log.members, log.role) == ("log", "raid1", ["SN010", "SN011"], Role.LOG)
    assert (log.bitmap, log.bitmap_chunk, log.chunk) == ("internal", None, None)
    # in front of the data lies the place for a side of the log
    assert plan.capacity == 8 * (partition_size([drive(0)]) - 4 * GIB)


def test_1u12_file_system_and_server() -> None:
    plan = planned(server(drives_1u12()))
    xfs, nfsd, md = plan.filesystem, plan.nfsd, plan.md
    assert (xfs.stripe_unit, xfs.stripe_width, xfs.sector, xfs.log_size) == (512 * KIB, 1, 4096, 2038 * MIB)
    assert (xfs.device, xfs.log_device) == ("/dev/md/millrace-data", "/dev/md/millrace-log")
    safe = ["nosuid", "nodev", "noexec"]
    assert xfs.mount_options == [
        *safe,
        "noatime",
        "logbsize=256k",
        "largeio",
        "prjquota",
        "logdev=/dev/md/millrace-log",
    ]
    # 61 TB are 55.9 TiB: 56 groups keep each below 1 TiB, 32 cores alone would ask for 32
    assert xfs.allocation_groups == 56
    assert (nfsd.threads_min, nfsd.threads_max, nfsd.pool_mode) == (8, 32, "global")
    assert (nfsd.max_block_size, nfsd.lease_time, nfsd.grace_time) == (MIB, 45, 45)
    assert (md.group_thread_cnt, md.stripe_cache_size) == (8, 4096)
    assert (md.sync_speed_max, md.read_ahead) == (4_000_000, 768)
    assert plan.sysctl == {"vm.dirty_bytes": str(GIB), "vm.dirty_background_bytes": str(256 * MIB)}


def test_2u24_is_raid50_with_each_leg_on_one_node() -> None:
    plan = planned(server(drives_2u24(), nodes=2, cores=24))
    leg0, leg1, data, log = plan.arrays
    assert [leg0.name, leg1.name, data.name, log.name] == ["leg0", "leg1", "data", "log"]
    assert (leg0.level, leg0.chunk, leg0.data_members) == ("raid5", 64 * KIB, 8)
    assert leg0.members == [f"SN{number:03}" for number in range(0, 18, 2)]
    assert leg1.members == [f"SN{number:03}" for number in range(1, 18, 2)]
    assert (data.level, data.members, data.over_arrays) == ("raid0", ["leg0", "leg1"], True)
    assert (data.chunk, data.data_members, data.bitmap) == (512 * KIB, 2, "none")
    assert (plan.filesystem.stripe_unit, plan.filesystem.stripe_width) == (512 * KIB, 2)
    assert (plan.nfsd.pool_mode, plan.nfsd.threads_max) == ("pernode", 48)
    assert plan.capacity == 16 * (partition_size([drive(0)]) - 4 * GIB)
    (warning,) = plan.warnings
    assert "RAID50 of 2 × 9 drives has single parity" in warning and "21 hours" in warning


def test_drives_that_do_not_divide_by_node_still_make_equal_legs_and_a_warning() -> None:
    drives = [*(drive(n, numa_node=0 if n < 11 else 1) for n in range(18)), drive(18, LOG_SIZE), drive(19, LOG_SIZE)]
    plan = planned(server(drives, nodes=2))
    legs = [array.members for array in plan.arrays if array.level == "raid5"]
    assert legs == [[f"SN{number:03}" for number in part] for part in (range(9), range(9, 18))]
    assert any("spans sockets" in warning for warning in plan.warnings)


def test_labels_count_through_all_legs() -> None:
    plan = planned(server(drives_2u24(), nodes=2))
    data = [entry.serial for entry in plan.drives if entry.role is Role.DATA]
    assert data == [*arrays(plan)["leg0"].members, *arrays(plan)["leg1"].members]
    assert [entry.serial for entry in plan.drives if entry.role is Role.LOG] == ["SN018", "SN019"]
    assert [(entry.serial, entry.partitions) for entry in plan.drives if entry.role is Role.BOOT] == [("BOOT", [])]


@pytest.mark.parametrize("drives", [drives_1u12, drives_2u24])
def test_a_virtual_server_with_tiny_drives(drives: Callable[[int, int], list[Drive]]) -> None:
    plan = planned(server(drives(GIB, 256 * MIB), memory=4 * GIB, cores=2, nodes=2))
    sizes = {entry.role: entry.partitions[0].size for entry in plan.drives if entry.partitions}
    assert sizes == {Role.DATA: 96 * MIB, Role.LOG: 96 * MIB}
    assert plan.filesystem.log_size == 64 * MIB
    assert plan.filesystem.allocation_groups == 32
    assert all(array.bitmap_chunk is None for array in plan.arrays)
    assert plan.md.stripe_cache_size == 1024
    assert plan.sysctl["vm.dirty_bytes"] == str(512 * MIB)
    assert (plan.nfsd.threads_max, plan.nfsd.pool_mode) == (16, "pernode")


def test_a_slightly_smaller_replacement_fits() -> None:
    drives = [*drives_1u12()[1:], drive(0, DATA_SIZE - 50 * 10**9, model="OTHER")]
    plan = planned(server(drives))
    partitions = {entry.partitions[0].size for entry in plan.drives if entry.role is Role.DATA}
    assert partitions == {4096 * MIB}
    assert plan.warnings == ["The data drives are of 2 models: the slowest limits the array."]


@pytest.mark.parametrize(
    ("capacity", "member", "cores", "groups"),
    [
        (55 * TIB, 7 * TIB, 32, 56),
        (10 * TIB, 2 * TIB, 8, 32),
        (60 * TIB, 7 * TIB, 96, 96),
        (60 * TIB, 7 * TIB, 256, 128),
        (300 * TIB, 30 * TIB, 64, 301),
        (800 * 10**9, 100 * 10**9, 192, 128),
        (400 * 10**9, 100 * 10**9, 192, 93),
        (16 * GIB, 2 * GIB, 2, 32),
        (GIB, 128 * MIB, 2, 16),
    ],
)
def test_allocation_groups(capacity: int, member: int, cores: int, groups: int) -> None:
    found = planned_groups(capacity, member, cores, Stripes(MIB, 2))
    assert found.count == groups
    assert Stripes(MIB, 2).rotates(found.size)


def test_the_log_fits_its_mirror() -> None:
    assert log_size(960 * GIB) == 2038 * MIB
    assert log_size(2060 * MIB) == 2028 * MIB


def test_policy_is_part_of_the_plan() -> None:
    plan = planned(server(drives_1u12()), Policy(nfs=NfsPolicy(networks=["10.0.0.0/24"], privileged_ports=False)))
    values = {decision.name: decision.value for decision in plan.decisions}
    assert values["exports.networks"] == ["10.0.0.0/24"]
    assert values["exports.privileged_ports"] is False


def test_every_decision_says_why_and_from_where() -> None:
    for inventory in (server(drives_1u12()), server(drives_2u24(), nodes=2)):
        decisions = planned(inventory).decisions
        assert len({decision.name for decision in decisions}) == len(decisions)
        for decision in decisions:
            assert decision.reason.endswith((".", ").")), decision
            assert decision.source, decision
