# SPDX-License-Identifier: Apache-2.0
"""From one drive to forty: layout, place of the log, unused drives and warnings."""

import pytest

from millrace.plan.model import MdArray, Plan, Role
from millrace.plan.policy.model import Policy
from millrace.plan.propose import propose
from tests.unit.plan.servers import LOG_SIZE, TB, drive, server
from tests.unit.plan.shapes import CASES, Case, equal, sn

MIB, GIB = 1 << 20, 1 << 30


def planned(case: Case) -> Plan:
    proposal = propose(case.inventory, case.policy)
    assert isinstance(proposal, Plan), proposal
    return proposal


def arrays(plan: Plan) -> dict[str, MdArray]:
    return {array.name: array for array in plan.arrays}


@pytest.mark.parametrize("name", CASES)
def test_this_server(name: str) -> None:
    case = CASES[name]
    plan = planned(case)
    assert plan.title == case.title
    assert (arrays(plan)["log"].members if "log" in arrays(plan) else []) == case.log
    assert {entry.serial for entry in plan.drives if entry.role is Role.UNUSED} == set(case.unused)
    assert case.says in "\n".join(plan.warnings)


def test_without_small_drives_each_data_drive_keeps_a_log_partition_in_front_of_its_data() -> None:
    plan = planned(CASES["twenty equal drives on two nodes"])
    tables = {tuple((part.role, part.size) for part in entry.partitions) for entry in plan.drives}
    ((first, second),) = tables
    assert (first, second[0]) == ((Role.LOG, 4 * GIB), Role.DATA)
    assert {entry.role for entry in plan.drives} == {Role.DATA, Role.SPARE}
    assert plan.filesystem.log_size == 2038 * MIB


def test_the_two_sides_of_the_log_are_as_far_apart_as_the_server_allows() -> None:
    for name in ("twelve equal drives, three to a node", "twelve equal drives behind two switches"):
        case = CASES[name]
        one, other = (next(d for d in case.inventory.drives if d.serial == serial) for serial in case.log)
        assert (one.numa_node, one.switch) != (other.numa_node, other.switch)


def test_a_third_drive_stands_in_for_a_side_of_the_log_that_is_lost() -> None:
    """RAID6 survives the loss of any two drives; its log must not be what does not."""
    plan = planned(CASES["seven drives"])
    log = arrays(plan)["log"]
    assert (log.members, log.spares) == (sn(0, 1), sn(2))
    assert "hot spare" in next(decision.reason for decision in plan.decisions if decision.name == "log")


def test_two_small_drives_carry_the_log_and_a_data_drive_far_from_them_waits_for_one_to_die() -> None:
    plan = planned(CASES["1U12 of the talk"])
    log = arrays(plan)["log"]
    assert (log.members, log.spares) == (sn(10, 11), sn(0))
    tables = {entry.serial: [(part.role, part.size) for part in entry.partitions] for entry in plan.drives}
    assert tables["SN010"] == [(Role.LOG, 4 * GIB)]
    assert tables["SN000"][0] == (Role.LOG, 4 * GIB) and tables["SN000"][1][0] is Role.DATA
    assert {tables[serial][0] for serial in sn(*range(12))} == {(Role.LOG, 4 * GIB)}
    reason = next(decision.reason for decision in plan.decisions if decision.name == "log")
    assert "Its hot spare is a partition of data drive SN000" in reason
    assert "log writes share that data drive" in reason


def test_the_spare_of_the_log_shares_node_and_switch_with_neither_side_if_it_can() -> None:
    big = [drive(n, numa_node=(1, 0, 2)[n % 3]) for n in range(9)]
    small = [drive(9, LOG_SIZE, numa_node=0), drive(10, LOG_SIZE, numa_node=1)]
    plan = planned(Case(server([*big, *small], nodes=3), ""))
    assert arrays(plan)["log"].spares == sn(2)
    reason = next(decision.reason for decision in plan.decisions if decision.name == "log")
    assert "SN002, on another NUMA node than both," in reason
    behind = [drive(n, switch="0000:10:00.0" if n < 6 else "0000:20:00.0") for n in range(8)]
    both = [drive(n, LOG_SIZE, switch="0000:10:00.0") for n in (8, 9)]
    plan = planned(Case(server([*behind, *both]), ""))
    assert arrays(plan)["log"].spares == sn(6)


def test_single_parity_of_many_drives_is_warned_of_with_the_hours_of_a_rebuild() -> None:
    warned = CASES["thirteen drives"], CASES["twenty-four drives on two nodes"]
    for case in warned:
        (warning,) = [text for text in planned(case).warnings if "single parity" in text]
        assert "21 hours at the guaranteed 102 MB/s" in warning
        assert 'layout.resilience = "double"' in warning
    for name in ("twelve equal drives", "twenty-four drives whose owner wants RAID60", "five drives"):
        assert not [text for text in planned(CASES[name]).warnings if "single parity" in text]


def test_small_drives_get_a_smaller_log_partition() -> None:
    for size, log in ((GIB, 96 * MIB), (16 * GIB, 256 * MIB), (256 * GIB, 4 * GIB), (4096 * GIB, 4 * GIB)):
        plan = planned(Case(server(equal(4, size=size)), ""))
        assert plan.drives[0].partitions[0].size == log


def test_hot_spares_are_distributed_over_the_legs_in_turn() -> None:
    plan = planned(CASES["forty drives on two nodes"])
    assert [len(array.spares) for array in plan.arrays if array.name.startswith("leg")] == [1, 1, 1, 1]
    decision = next(decision for decision in plan.decisions if decision.name == "drives.spares")
    assert "distributed over the legs in turn" in decision.reason


def test_the_third_small_drive_is_the_spare_of_the_log() -> None:
    plan = planned(CASES["ten drives and three small ones"])
    assert (arrays(plan)["log"].members, arrays(plan)["log"].spares) == (sn(10, 11), sn(12))
    assert next(entry.role for entry in plan.drives if entry.serial == "SN012") is Role.SPARE


def test_legs_stay_within_a_node_where_the_numbers_allow() -> None:
    for name in ("twenty-four drives on two nodes", "thirty-two drives on two nodes", "forty drives on two nodes"):
        case = CASES[name]
        nodes = {one.serial: one.numa_node for one in case.inventory.drives}
        legs = [array for array in planned(case).arrays if array.name.startswith("leg")]
        assert len(legs) > 1
        for leg in legs:
            assert len({nodes[serial] for serial in leg.members}) == 1


def test_the_smallest_equal_pair_becomes_the_log() -> None:
    middle = [drive(number, 2 * LOG_SIZE) for number in (10, 11)]
    plan = planned(Case(server([*equal(10), *middle, *equal(2, size=LOG_SIZE, first=12)]), ""))
    assert arrays(plan)["log"].members == sn(12, 13)
    assert {entry.serial for entry in plan.drives if entry.role is Role.UNUSED} == set(sn(10, 11))


def test_a_single_drive_is_a_mirror_that_waits_for_its_other_side() -> None:
    plan = planned(CASES["one drive"])
    (data,) = plan.arrays
    assert (data.level, data.members, data.chunk, data.bitmap) == ("raid1", ["SN000"], None, "internal")
    assert (plan.filesystem.log_device, plan.filesystem.log_size) == (None, None)
    assert (plan.filesystem.stripe_unit, plan.filesystem.stripe_width) == (0, 0)
    assert not any(option.startswith("logdev") for option in plan.filesystem.mount_options)


def test_candidates_are_compared_with_numbers_that_add_up() -> None:
    for case in CASES.values():
        decision = next(decision for decision in planned(case).decisions if decision.name == "layout")
        assert decision.considered
        scores = [row["score"] for row in decision.considered]
        assert scores == sorted(scores, reverse=True, key=float)  # type: ignore[arg-type]
        for row in decision.considered:
            parts = [float(str(row[key])) for key in ("capacity", "stripe", "legs", "nodes", "parity")]
            assert float(str(row["score"])) == pytest.approx(sum(parts))
        assert str(decision.value).startswith(str(decision.considered[0]["layout"]))


def test_group_of_data_drives_is_chosen_by_what_is_left_after_redundancy() -> None:
    # nine hold 7 drives' worth as RAID6 and five larger ones 4 × 1.85: more, although they would be less than 8
    small, large = 2 * TB, 37 * TB // 10
    plan = propose(server([*equal(9, size=small), *equal(5, size=large, first=9)]), Policy())
    assert isinstance(plan, Plan)
    assert sorted(arrays(plan)["data"].members) == sn(*range(9, 14))
