# SPDX-License-Identifier: Apache-2.0
"""The prediction agrees with the reference servers, names the layer that binds, and promises nothing it cannot know."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.inventory.model import Inventory, PcieLink
from millrace.plan.constants import GIGA, Constant, Constants
from millrace.plan.model import LayerName, Plan, PlanFile, PlanLayer, PlanOutcome, Prediction
from millrace.plan.policy.model import Policy
from millrace.plan.predict import predict
from millrace.plan.propose import plan_file, propose
from millrace.plan.text import lines
from tests.unit.plan import servers_hw
from tests.unit.plan.servers import drive

# Predicted for every server that has a plan.
ALWAYS = {(way, transport, "healthy") for way in ("read", "write") for transport in ("tcp", "smb")}


def planned(inventory: Inventory) -> Plan:
    proposal = propose(inventory, Policy())
    assert isinstance(proposal, Plan)
    return proposal


def predicted(inventory: Inventory, constants: Constants | None = None) -> Prediction:
    return predict(inventory, planned(inventory).arrays, constants)


def outcome(prediction: Prediction, name: str) -> PlanOutcome:
    """`read rdma healthy` -> that outcome."""
    return next(one for one in prediction.outcomes if f"{one.direction} {one.transport} {one.state}" == name)


def named(outcomes: list[PlanOutcome]) -> set[tuple[str, str, str]]:
    return {(one.direction, one.transport, one.state) for one in outcomes}


def layer(one: PlanOutcome, name: LayerName) -> PlanLayer:
    return next(layer for layer in one.layers if layer.name == name)


def gigabytes(limit: int | None) -> float:
    assert limit is not None
    return round(limit / GIGA, 1)


def everything_measured() -> Constants:
    """The assumptions of the model, as if a server had confirmed each of them."""

    def confirmed(constant: Constant) -> Constant:
        return replace(constant, evidence="measured")

    known = Constants()
    return replace(
        known,
        nic_tcp=confirmed(known.nic_tcp),
        memory_usable=confirmed(known.memory_usable),
        parity_cycles=confirmed(known.parity_cycles),
        md_cycles={name: confirmed(constant) for name, constant in known.md_cycles.items()},
        read_cycles={name: confirmed(constant) for name, constant in known.read_cycles.items()},
        write_cycles={name: confirmed(constant) for name, constant in known.write_cycles.items()},
    )


class TestTheReferenceServers:
    def test_a_1u12_reads_45_gigabytes_through_its_port(self) -> None:
        read = outcome(predicted(servers_hw.one_u_12()), "read rdma healthy")
        assert (gigabytes(read.limit), read.bound_by) == (45.0, "nic")
        assert gigabytes(layer(read, "drives").limit) == 120.0
        assert gigabytes(layer(read, "pcie").limit) == 55.1

    def test_a_2u24_reads_90_gigabytes_through_its_two_ports(self) -> None:
        read = outcome(predicted(servers_hw.two_u_24()), "read rdma healthy")
        assert (gigabytes(read.limit), read.bound_by) == (90.0, "nic")

    def test_the_caps_of_the_model_once_they_are_measured(self) -> None:
        prediction = predicted(servers_hw.one_u_12(), everything_measured())
        read, write = outcome(prediction, "read rdma healthy"), outcome(prediction, "write rdma healthy")
        assert gigabytes(layer(read, "memory").limit) == 161.3
        assert gigabytes(layer(read, "cpu").limit) == 154.8
        assert gigabytes(layer(write, "cpu").limit) == 61.5
        # 8+2 drives: 1 in, 2 page cache, 2 stripe copy, 1 parity read, 2/8 parity, 10/8 out: 7.5 for each byte
        assert gigabytes(layer(write, "memory").limit) == 43.0
        assert (gigabytes(write.limit), write.bound_by) == (43.0, "memory")
        assert gigabytes(outcome(prediction, "read tcp healthy").limit) == 40.0
        assert not read.not_known() and not write.not_known()

    def test_two_legs_write_twice_what_one_does(self) -> None:
        one, two = (
            outcome(predicted(made), "write rdma healthy") for made in (servers_hw.one_u_12(), servers_hw.two_u_24())
        )
        assert layer(two, "md").limit == pytest.approx(2 * (layer(one, "md").limit or 0))


class TestWhatIsNotKnown:
    @pytest.mark.parametrize("build", [servers_hw.one_u_12, servers_hw.two_u_24, servers_hw.desktop])
    def test_no_figure_rests_on_an_assumption(self, build: Callable[[], Inventory]) -> None:
        outcomes = predicted(build()).outcomes
        assert named(outcomes) >= ALWAYS
        for one in outcomes:
            assert "memory" in one.not_known()
            assert "cpu" not in one.not_known()
            for layer in one.layers:
                assert (layer.limit is None) == (layer.evidence == "unknown")
                assert layer.limit is not None or layer.measure

    @pytest.mark.parametrize(
        ("name", "limit"),
        [
            ("read tcp healthy", 121.5),
            ("write tcp healthy", 52.5),
            ("read smb healthy", 51.3),
            ("write smb healthy", 37.7),
        ],
    )
    def test_what_was_counted_on_an_emulated_cpu_is_a_limit_at_best(self, name: str, limit: float) -> None:
        cpu = layer(outcome(predicted(servers_hw.one_u_12()), name), "cpu")
        assert (gigabytes(cpu.limit), cpu.evidence) == (limit, "derived")
        assert "cycles for each byte of NFS and SMB" in (cpu.measure or "")

    def test_smb_copies_each_byte_twice_more_than_nfs(self) -> None:
        prediction = predicted(servers_hw.one_u_12())
        found = {
            f"{way} {transport}": layer(outcome(prediction, f"{way} {transport} healthy"), "memory").reason.split()[6]
            for way in ("read", "write")
            for transport in ("tcp", "smb")
        }
        assert found == {"read tcp": "3.0", "read smb": "7.0", "write tcp": "7.5", "write smb": "11.5"}

    def test_one_thread_of_an_array_is_a_limit_at_best_where_md_takes_part(self) -> None:
        prediction = predicted(servers_hw.one_u_12())
        assert "md" not in {layer.name for layer in outcome(prediction, "read rdma healthy").layers}
        for name, limit in (
            ("write rdma healthy", 50.0),
            ("write tcp healthy", 50.0),
            ("write rdma degraded", 50.0),
            ("read rdma degraded", 600.0),
        ):
            md = layer(outcome(prediction, name), "md")
            assert (gigabytes(md.limit), md.evidence) == (limit, "derived")
            assert md.reason.startswith("1 parity array with one thread that hands out the work: 3.0 billion ")
            assert "the write rate of md" in (md.measure or "")

    def test_the_table_names_no_other_layer_alone_where_md_takes_part(self) -> None:
        # without the clock of the CPU it is not known what the thread can do
        plan = planned(servers_hw.one_u_12().model_copy(update={"cpu_mhz": None}))
        shown = "\n".join(lines(PlanFile(sha256=plan.digest(), proposal=plan)))
        rows = [line for line in shown.splitlines() if line.lstrip().startswith(("read ", "write "))]
        assert len(rows) == 12
        for row in rows:
            assert ("md or" in row) == ("write" in row or "degraded" in row), row
        assert "To measure it:" in shown

    def test_tcp_reaches_the_line_rate_at_best(self) -> None:
        read = outcome(predicted(servers_hw.one_u_12()), "read tcp healthy")
        assert gigabytes(read.limit) == 50.0
        assert "iperf3" in (layer(read, "nic").measure or "")

    def test_the_links_of_old_drives_are_all_that_is_known(self) -> None:
        drives = layer(outcome(predicted(servers_hw.desktop()), "read tcp healthy"), "drives")
        assert gigabytes(drives.limit) == 13.8
        assert "only the links are known" in (drives.measure or "")

    def test_a_virtual_drive_without_a_link_is_not_guessed(self) -> None:
        inventory = servers_hw.machine([drive(n, link=None) for n in range(6)], [], servers_hw.nodes(1))
        read = outcome(predicted(inventory), "read tcp healthy")
        assert read.bound_by == "cpu"
        assert set(read.not_known()) == {"drives", "pcie", "memory", "nic"}


class TestWhatBinds:
    def test_a_switch_with_a_narrow_link(self) -> None:
        read = outcome(predicted(servers_hw.behind_a_switch()), "read rdma healthy")
        assert (gigabytes(read.limit), read.bound_by) == (13.8, "pcie")

    def test_a_card_in_a_slow_slot(self) -> None:
        read = outcome(predicted(servers_hw.gen5_card_in_gen4_slot()), "read rdma healthy")
        assert (gigabytes(read.limit), read.bound_by) == (27.6, "pcie")

    def test_four_ports_of_one_card_share_its_link(self) -> None:
        narrow = PcieLink(speed=8.0, width=8, max_speed=8.0, max_width=8)
        inventory = servers_hw.four_ports()
        inventory = inventory.model_copy(
            update={"nics": [nic.model_copy(update={"link": narrow}) for nic in inventory.nics]}
        )
        read = outcome(predicted(inventory), "read tcp healthy")
        assert (gigabytes(read.limit), read.bound_by) == (6.9, "pcie")

    def test_one_slow_drive_sets_the_pace_of_all(self) -> None:
        fast = layer(outcome(predicted(servers_hw.one_u_12()), "read tcp healthy"), "drives").limit
        slow = layer(outcome(predicted(servers_hw.trained_down()), "read tcp healthy"), "drives").limit
        assert gigabytes(fast) == 120.0
        assert gigabytes(slow) == 68.9

    def test_no_rdma_is_predicted_where_there_is_none(self) -> None:
        assert {one.transport for one in predicted(servers_hw.desktop()).outcomes} == {"tcp", "smb"}
        soft = servers_hw.machine(
            [drive(n) for n in range(6)], [servers_hw.port(software_rdma=True)], servers_hw.nodes(1)
        )
        assert {one.transport for one in predicted(soft).outcomes} == {"tcp", "smb"}

    def test_one_drive_is_never_degraded(self) -> None:
        inventory = servers_hw.machine([drive(0)], [servers_hw.port()], servers_hw.nodes(1))
        assert {one.state for one in predicted(inventory).outcomes} == {"healthy"}

    def test_reads_without_a_drive_come_from_those_that_are_left(self) -> None:
        prediction = predicted(servers_hw.two_u_24())
        healthy, degraded = outcome(prediction, "read rdma healthy"), outcome(prediction, "read rdma degraded")
        assert gigabytes(layer(healthy, "drives").limit) == 18 * 12
        assert gigabytes(layer(degraded, "drives").limit) == 16 * 12


# The same examples everywhere, however slow the machine.
@settings(derandomize=True, database=None, deadline=None)
@given(number=st.integers(1, 32), ports=st.integers(0, 4), width=st.sampled_from([1, 2, 4]))
def test_a_limit_is_the_lowest_of_its_layers(number: int, ports: int, width: int) -> None:
    link = PcieLink(speed=16.0, width=width, max_speed=16.0, max_width=4)
    nics = [servers_hw.port(n, 100_000) for n in range(ports)]
    inventory = servers_hw.machine([drive(n, link=link) for n in range(number)], nics, servers_hw.nodes(1))
    outcomes = predicted(inventory).outcomes
    assert named(outcomes) >= ALWAYS
    for forecast in outcomes:
        known = [layer.limit for layer in forecast.layers if layer.limit is not None]
        assert forecast.limit == min(known)
        assert forecast.bound_by in {layer.name for layer in forecast.layers if layer.limit == forecast.limit}
        assert min(known) > 0


def test_a_plan_keeps_its_digest_when_links_and_temperatures_change() -> None:
    quiet, loud = planned(servers_hw.nvme1_and_nvme10()), planned(servers_hw.trained_down())
    assert quiet.findings != loud.findings
    assert quiet.digest() == loud.digest()
    assert PlanFile.model_validate_json(plan_file(loud).model_dump_json()).proposal == loud
