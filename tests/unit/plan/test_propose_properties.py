# SPDX-License-Identifier: Apache-2.0
"""On any server the plan uses blank drives only, and its figures agree with each other."""

from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as some

from millrace.inventory.model import Drive, DriveState, Inventory
from millrace.plan.labels import labels
from millrace.plan.model import DriveRole, MdArray, Plan, PlanFile, Refusal, Role
from millrace.plan.policy.model import LayoutPolicy, LogPolicy, Policy
from millrace.plan.propose import plan_file, propose
from tests.unit.plan.servers import GIB, drive, server

MIB = 1 << 20
# The same examples everywhere, however slow the machine.
repeatable = settings(derandomize=True, database=None, deadline=None, max_examples=100)


@some.composite
def servers(draw: some.DrawFn, tidy: bool = False) -> Inventory:
    """1 to 40 drives of up to three sizes on 1 to 8 nodes; untidy ones have drives that are something else."""
    nodes = draw(some.integers(1, 8))
    sizes = [draw(some.integers(GIB, 62 * 10**12))]
    sizes += [max(GIB, sizes[0] // draw(some.integers(1, 16))) for _ in range(2)]
    count = draw(some.integers(1, 40))
    many = draw(some.integers(1, count))
    drives = [
        _any_drive(draw, number, sizes[0] if number < many else draw(some.sampled_from(sizes)), nodes)
        for number in range(count)
    ]
    if not tidy:
        drives += [_odd_drive(draw, count + number, sizes) for number in range(draw(some.integers(0, 3)))]
    return server(
        draw(some.permutations(drives)),
        nodes=nodes,
        sockets=draw(some.integers(1, nodes)),
        cores=draw(some.integers(1, 128)),
        memory=draw(some.integers(8 * GIB, 2048 * GIB)),
    )


def _any_drive(draw: some.DrawFn, number: int, size: int, nodes: int) -> Drive:
    return drive(
        number,
        size - draw(some.integers(0, size // 200)),
        numa_node=draw(some.sampled_from([None, *range(nodes)])),
        switch=draw(some.sampled_from([None, "0000:10:00.0", "0000:20:00.0"])),
    )


def _odd_drive(draw: some.DrawFn, number: int, sizes: list[int]) -> Drive:
    transport = draw(some.sampled_from(["nvme", "nvme", "sata", "usb"]))
    return drive(
        number,
        draw(some.sampled_from([10**8, *sizes])),
        state=draw(some.sampled_from(list(DriveState))) if transport != "nvme" else DriveState.BLANK,
        transport=transport,
        logical_block=draw(some.sampled_from([512, 512, 4096])),
    )


policies = some.builds(
    Policy,
    layout=some.builds(
        LayoutPolicy,
        resilience=some.sampled_from([None, "single", "double"]),
        legs=some.sampled_from([None, None, 1, 2, 3]),
        spares=some.sampled_from([None, None, 0, 1, 4]),
        chunk_kib=some.sampled_from([None, 32, 512]),
    ),
    log=some.builds(LogPolicy, mode=some.sampled_from([None, "pair", "partition", "internal"])),
)


def planned(inventory: Inventory, policy: Policy) -> Plan:
    proposal = propose(inventory, policy)
    assume(isinstance(proposal, Plan))
    assert isinstance(proposal, Plan)
    return proposal


def sizes_of(plan: Plan, role: Role) -> dict[str, int]:
    return {entry.serial: part.size for entry in plan.drives for part in entry.partitions if part.role is role}


def redundant(plan: Plan) -> list[MdArray]:
    return [array for array in plan.arrays if not array.over_arrays]


def written(plan: Plan) -> list[DriveRole]:
    return [entry for entry in plan.drives if entry.partitions]


@repeatable
@given(servers(), policies)
def test_only_blank_nvme_drives_are_partitioned_and_it_fits(inventory: Inventory, policy: Policy) -> None:
    plan = planned(inventory, policy)
    there = {disk.serial: disk for disk in inventory.drives}
    assert {entry.serial for entry in plan.drives} <= set(there)
    for entry in written(plan):
        disk = there[entry.serial]
        assert (disk.state, disk.transport) == (DriveState.BLANK, "nvme")
        assert all(part.size % MIB == 0 and part.size > 0 for part in entry.partitions)
        # starts at 1 MiB; the backup GPT needs the last 33 sectors of up to 4 KiB
        assert MIB + sum(part.size for part in entry.partitions) <= disk.size - 33 * 4096
    for array in redundant(plan):
        parts = sizes_of(plan, array.role)
        assert {parts[serial] for serial in [*array.members, *array.spares]} == {parts[array.members[0]]}


@repeatable
@given(servers(), policies)
def test_no_drive_is_used_twice_and_none_is_forgotten(inventory: Inventory, policy: Policy) -> None:
    plan = planned(inventory, policy)
    for role in (Role.DATA, Role.LOG):
        used = [s for array in redundant(plan) if array.role is role for s in [*array.members, *array.spares]]
        assert len(used) == len(set(used))
        if role is Role.DATA:
            assert sorted(used) == sorted(sizes_of(plan, role))
    internal = {disk.serial for disk in inventory.drives if disk.transport == "nvme"}
    assert internal <= {entry.serial for entry in plan.drives}
    assert len({entry.serial for entry in plan.drives}) == len(plan.drives)
    assert all(entry.partitions or entry.reason for entry in plan.drives)
    assert len(set(labels(plan.drives).values())) == sum(len(entry.partitions) for entry in plan.drives)


@repeatable
@given(servers(), some.sampled_from([DriveState.FOREIGN, DriveState.UNKNOWN, DriveState.OURS]), some.randoms())
def test_anything_but_blank_candidates_means_no_plan(inventory: Inventory, state: DriveState, random: Random) -> None:
    drives = list(inventory.drives)
    at = random.choice([at for at, one in enumerate(drives) if one.transport == "nvme"])
    drives[at] = drives[at].model_copy(update={"state": state})
    refusal = propose(inventory.model_copy(update={"drives": drives}), Policy())
    assert isinstance(refusal, Refusal)
    assert drives[at].serial in [one.serial for obstacle in refusal.obstacles for one in obstacle.drives]


@repeatable
@given(servers(tidy=True))
def test_any_number_of_blank_drives_is_planned(inventory: Inventory) -> None:
    assert isinstance(propose(inventory, Policy()), Plan)


@repeatable
@given(servers(), policies)
def test_the_figures_agree(inventory: Inventory, policy: Policy) -> None:
    plan = planned(inventory, policy)
    sizes = sizes_of(plan, Role.DATA)
    legs = [array for array in redundant(plan) if array.role is Role.DATA]
    assert plan.capacity == sum(leg.data_members * min(sizes[member] for member in leg.members) for leg in legs)
    assert len({(len(leg.members), leg.chunk) for leg in legs}) == 1
    data, xfs = next(array for array in plan.arrays if array.name == "data"), plan.filesystem
    if data.over_arrays:
        assert {(leg.chunk or 0) * leg.data_members for leg in legs} == {data.chunk}
        assert data.members == [leg.name for leg in legs]
    full_stripe = (legs[0].chunk or 0) * legs[0].data_members
    assert (xfs.stripe_unit, xfs.stripe_width) == ((full_stripe, len(legs)) if data.chunk else (0, 0))
    assert all(
        leg.data_members == len(leg.members) - {"raid5": 1, "raid6": 2}.get(leg.level, 0) for leg in legs if leg.chunk
    )
    assert plan.capacity // xfs.allocation_groups < 1 << 40
    assert plan.capacity // xfs.allocation_groups >= 16 * MIB
    logs = [array for array in plan.arrays if array.role is Role.LOG]
    assert [log.level for log in logs] == (["raid1"] if xfs.log_device else [])
    if logs:
        assert len(logs[0].members) == 2
        assert xfs.log_size is not None
        assert 64 * MIB <= xfs.log_size <= min(2038 * MIB, *sizes_of(plan, Role.LOG).values())
    assert plan.nfsd.threads_max >= plan.nfsd.threads_min
    assert 256 <= plan.md.stripe_cache_size <= 32768


@repeatable
@given(servers(), policies)
def test_the_same_server_gives_the_same_bytes_and_json_keeps_them(inventory: Inventory, policy: Policy) -> None:
    file = plan_file(propose(inventory, policy))
    again = inventory.model_copy(update={"drives": inventory.drives[::-1]})
    assert plan_file(propose(again, policy)).model_dump_json() == file.model_dump_json()
    assert PlanFile.model_validate_json(file.model_dump_json()) == file
