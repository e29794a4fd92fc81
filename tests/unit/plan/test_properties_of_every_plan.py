# SPDX-License-Identifier: Apache-2.0
"""Whatever the server: no plan touches a drive that is not blank, and its figures agree with each other."""

from hypothesis import assume, given, settings
from hypothesis import strategies as some

from millrace.inventory.model import Drive, DriveState, Inventory
from millrace.plan.model import Array, Plan, Refusal, Role
from millrace.plan.policy import Policy
from millrace.plan.propose import propose
from tests.unit.plan.servers import GIB, drive, server

MIB = 1 << 20
# The same examples everywhere, however slow the machine.
repeatable = settings(derandomize=True, database=None, deadline=None)


@some.composite
def servers(draw: some.DrawFn) -> Inventory:
    """Mostly the two shapes, with here and there a drive that is something else."""
    shape = draw(some.sampled_from([10, 10, 18, 18, 7]))
    size = draw(some.integers(GIB, 62 * 10**12))
    log = draw(some.integers(GIB // 7, size))
    drives = [_any_drive(draw, number, size) for number in range(shape)]
    drives += [_any_drive(draw, number, log) for number in (shape, shape + 1)]
    return server(
        draw(some.permutations(drives)),
        nodes=draw(some.integers(1, 8)),
        cores=draw(some.integers(1, 128)),
        memory=draw(some.integers(GIB, 4096 * GIB)),
    )


def _any_drive(draw: some.DrawFn, number: int, size: int) -> Drive:
    odd = draw(some.integers(0, 20)) == 0
    return drive(
        number,
        size - draw(some.integers(0, size // 200)),
        state=draw(some.sampled_from(list(DriveState))) if odd else DriveState.BLANK,
        transport="sata" if draw(some.integers(0, 100)) == 0 else "nvme",
        numa_node=draw(some.sampled_from([None, 0, 1])),
    )


def partitions(plan: Plan) -> dict[str, int]:
    return {entry.serial: entry.partitions[0].size for entry in plan.drives if entry.partitions}


def data_bytes(array: Array, sizes: dict[str, int]) -> int:
    return array.data_members * min(sizes[member] for member in array.members)


@repeatable
@given(servers())
def test_only_blank_nvme_drives_get_a_partition_and_it_fits(inventory: Inventory) -> None:
    plan = propose(inventory, Policy())
    assume(isinstance(plan, Plan))
    assert isinstance(plan, Plan)
    by_serial = {one.serial: one for one in inventory.drives}
    for serial, size in partitions(plan).items():
        assert by_serial[serial].state is DriveState.BLANK
        assert by_serial[serial].transport == "nvme"
        assert size % MIB == 0
        # starts at 1 MiB; the backup GPT needs the last 33 sectors of up to 4 KiB
        assert MIB + size <= by_serial[serial].size - 33 * 4096


@repeatable
@given(servers())
def test_anything_but_blank_candidates_means_no_plan(inventory: Inventory) -> None:
    bad = {DriveState.FOREIGN, DriveState.UNKNOWN, DriveState.OURS}
    assume(any(one.state in bad and one.transport == "nvme" for one in inventory.drives))
    assert isinstance(propose(inventory, Policy()), Refusal)


@repeatable
@given(servers())
def test_the_figures_agree(inventory: Inventory) -> None:
    plan = propose(inventory, Policy())
    assume(isinstance(plan, Plan))
    assert isinstance(plan, Plan)
    sizes = partitions(plan)
    parity = [array for array in plan.arrays if array.role is Role.DATA and not array.over_arrays]
    assert plan.capacity == sum(data_bytes(array, sizes) for array in parity)
    assert sorted(sizes) == sorted(m for array in plan.arrays if not array.over_arrays for m in array.members)
    data = next(array for array in plan.arrays if array.name == "data")
    if data.level == "raid0":
        assert {(leg.chunk or 0) * leg.data_members for leg in parity} == {data.chunk}
    xfs = plan.filesystem
    assert (xfs.stripe_unit, xfs.stripe_width) == (data.chunk, data.data_members)
    assert xfs.log_size is not None
    assert 64 * MIB <= xfs.log_size <= min(2038 * MIB, *sizes.values())
    assert plan.capacity // xfs.allocation_groups < 1 << 40
    assert plan.nfsd.threads_max >= plan.nfsd.threads_min * (len(inventory.nodes) if len(inventory.nodes) > 1 else 1)
    assert 512 <= plan.md.stripe_cache_size <= 32768
