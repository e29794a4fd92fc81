# SPDX-License-Identifier: Apache-2.0
"""Small plans made by hand, RAID6 and RAID50 with their log on a RAID1, and those of the planner for more drives."""

from millrace.inventory.model import DriveState
from millrace.plan import xfs_features
from millrace.plan.model import DriveRole, Filesystem, MdArray, MdSettings, Nfsd, Plan, PlannedPartition, Role
from millrace.plan.policy.model import ExternalPolicy, LayoutPolicy, Policy
from millrace.plan.propose import propose
from tests.unit.plan.servers import drive, drives_1u12, server
from tests.unit.plan.shapes import equal

MIB = 1 << 20
GIB = 1 << 30
DATA_SIZE = 100 * GIB
LOG_SIZE = 10 * GIB
GROUP = 6 * GIB + (128 << 10)


def raid6_plan() -> Plan:
    """Four data drives D0-D3, two log drives L0 and L1."""
    return _plan([_array("data", "raid6", [f"D{n}" for n in range(4)])], 4, "RAID6")


def raid50_plan(count: int = 2) -> Plan:
    """Legs of three data drives, two log drives."""
    drives = [[f"D{3 * leg + number}" for number in range(3)] for leg in range(count)]
    legs = [_array(f"leg{number}", "raid5", members) for number, members in enumerate(drives)]
    return _plan([*legs, _array("data", "raid0", [leg.name for leg in legs])], 3 * count, "RAID50")


def planned(count: int, policy: Policy | None = None) -> Plan:
    """What the planner makes of so many equal drives that alternate between two nodes."""
    proposal = propose(server(equal(count, 2), nodes=2), policy or Policy())
    assert isinstance(proposal, Plan)
    # Findings and predictions are no part of what is built, and large.
    return proposal.model_copy(update={"findings": [], "prediction": None})


def external_plan(log: bool = False, **geometry: int) -> Plan:
    """One external device VOL with full stripes of 768 KiB, by the planner; with `log` a second one for the log."""
    link, other = "/dev/disk/by-id/nvme-VOL", "/dev/disk/by-id/nvme-VLOG"
    reported = {"minimum_io": 128 << 10, "optimal_io": 768 << 10, **geometry}
    devices = [drive(0, DATA_SIZE, serial="VOL", links=[link], link=None, **reported)]
    devices += [drive(1, LOG_SIZE, serial="VLOG", links=[other], link=None)] if log else []
    policy = Policy(
        layout=LayoutPolicy(backend="external"),
        external=ExternalPolicy(devices=[link], log=other if log else None),
    )
    proposal = propose(server(devices), policy)
    assert isinstance(proposal, Plan)
    return proposal.model_copy(update={"findings": [], "prediction": None})


def planned_1u12() -> Plan:
    """Ten data drives SN000-SN009 and two small ones, by the planner."""
    proposal = propose(server(drives_1u12()), Policy())
    assert isinstance(proposal, Plan)
    return proposal.model_copy(update={"findings": [], "prediction": None})


def _plan(arrays: list[MdArray], data_drives: int, title: str) -> Plan:
    data = [_drive(f"D{n}", Role.DATA, DATA_SIZE, 99 * GIB) for n in range(data_drives)]
    logs = [_drive(f"L{n}", Role.LOG, LOG_SIZE, 9 * GIB) for n in range(2)]
    return Plan(
        title=title,
        capacity=2 * 99 * GIB,
        drives=[*data, *logs],
        arrays=[*arrays, _array("log", "raid1", ["L0", "L1"])],
        filesystem=Filesystem(
            label="millrace",
            mountpoint="/srv/pool",
            device="/dev/md/millrace-data",
            log_device="/dev/md/millrace-log",
            log_size=2038 * MIB,
            stripe_unit=128 << 10,
            stripe_width=2,
            allocation_groups=32,
            allocation_group_size=GROUP,
            sector=4096,
            autofsck="check",
            features=xfs_features.NAMES,
            mount_options=["noatime", "logbsize=256k", "largeio", "logdev=/dev/md/millrace-log"],
        ),
        nfsd=Nfsd(threads_min=8, threads_max=16, pool_mode="global", max_block_size=MIB, lease_time=45, grace_time=45),
        md=MdSettings(group_thread_cnt=4, stripe_cache_size=8192, sync_speed_max=2_000_000, read_ahead=16384),
        sysctl={},
        decisions=[],
        warnings=[],
    )


def _array(name: str, level: str, members: list[str]) -> MdArray:
    striped = level in ("raid0", "raid5", "raid6")
    return MdArray.model_validate(
        {
            "name": name,
            "level": level,
            "members": members,
            "over_arrays": level == "raid0",
            "role": Role.LOG if name == "log" else Role.DATA,
            "chunk": 128 << 10 if striped else None,
            "data_members": 2 if striped else 1,
            "bitmap": "none" if level == "raid0" else "internal",
            "bitmap_chunk": None if level == "raid0" else 512 * MIB,
        }
    )


def _drive(serial: str, role: Role, size: int, partition: int) -> DriveRole:
    return DriveRole(
        serial=serial,
        wwid=f"eui.{serial}",
        model="TEST",
        size=size,
        state=DriveState.BLANK,
        role=role,
        partitions=[PlannedPartition(role=role, size=partition)],
        reason="for the test",
    )
