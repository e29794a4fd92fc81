# SPDX-License-Identifier: Apache-2.0
"""Each hardware problem is a finding with a remedy; a healthy server has none."""

import re

import pytest

from millrace.inventory.model import Inventory, PcieLink
from millrace.plan.audit import audit, audited_plan
from millrace.plan.finding import PlanFinding, Severity, merged
from millrace.plan.model import Plan, Refusal
from millrace.plan.policy.model import Policy
from millrace.plan.propose import plan_file, propose
from millrace.plan.text import lines
from tests.unit.plan import servers_hw
from tests.unit.plan.servers import GIB

KERNEL_NAME = re.compile(r"nvme\d+|ens\d+|\bsd[a-z]\b")
# What is found on each server; the others are well.
EXPECTED = {
    "all_nics_on_node_1": {"sockets.crossing"},
    "nics_and_drives_apart": {"sockets.crossing"},
    "eight_nodes": {"sockets.crossing"},
    "memoryless_nodes": {"memory.node"},
    "desktop": {"memory.ecc", "cache.volatile"},
    "no_nic": {"network.none"},
    "cables_not_plugged_in": {"network.none"},
    "trained_down": {"link.drive", "link.unequal"},
    "gen5_card_in_gen4_slot": {"link.nic"},
    "hot_and_worn": {
        "heat.drive", "heat.cpu", "drive.worn", "drives.firmware",
    },
    "log_drives_with_caches": {"cache.volatile"},
}  # fmt: skip
NOT_PLANNED = {"duplicate_serials", "a_drive_with_errors", "failing"}


def planned(inventory: Inventory) -> Plan:
    proposal = propose(inventory, Policy())
    assert isinstance(proposal, Plan)
    return proposal


def found(inventory: Inventory) -> list[PlanFinding]:
    return planned(inventory).findings


def one(findings: list[PlanFinding], name: str) -> PlanFinding:
    [finding] = [finding for finding in findings if finding.name == name]
    return finding


@pytest.mark.parametrize("name", sorted(set(servers_hw.ALL) - NOT_PLANNED))
def test_each_server_has_its_findings_and_no_others(name: str) -> None:
    findings = found(servers_hw.ALL[name]())
    assert {finding.name for finding in findings} == EXPECTED.get(name, set())
    for finding in findings:
        assert finding.todo.endswith(".") and finding.what.endswith(".")
        assert not KERNEL_NAME.search(f"{finding.subject} {finding.what} {finding.todo}"), finding


@pytest.mark.parametrize("name", sorted(NOT_PLANNED))
def test_a_drive_that_cannot_be_judged_is_in_the_way(name: str) -> None:
    assert isinstance(propose(servers_hw.ALL[name](), Policy()), Refusal)


class TestTrafficBetweenSockets:
    def test_half_of_it_crosses_with_all_cards_at_one_of_two(self) -> None:
        finding = one(found(servers_hw.all_nics_on_node_1()), "sockets.crossing")
        assert finding.severity is Severity.WARN
        assert finding.subject == "0000:80:00.0, 0000:81:00.0"
        assert "9 of 18 data drives are on socket 0" in finding.what
        assert "50 % of the traffic, up to 50.0 GB/s, crosses" in finding.what
        assert finding.todo == "Move one network card (0000:81:00) to a slot of socket 0."

    def test_all_of_it_crosses_with_the_card_at_the_other_one(self) -> None:
        finding = one(found(servers_hw.nics_and_drives_apart()), "sockets.crossing")
        assert "100 % of the traffic, up to 50.0 GB/s" in finding.what
        assert finding.todo.startswith("Move the network card to a slot of socket 0")

    def test_one_card_and_two_sockets_is_only_worth_knowing(self) -> None:
        inventory = servers_hw.two_u_24()
        inventory = inventory.model_copy(update={"nics": inventory.nics[:1]})
        finding = one(found(inventory), "sockets.crossing")
        assert finding.severity is Severity.INFO
        assert finding.todo.startswith("Add a network card in a slot of socket 1")

    def test_nodes_of_one_socket_are_near_enough(self) -> None:
        assert found(servers_hw.nps4()) == []


class TestLinks:
    def test_a_drive_with_half_its_lanes_is_reseated(self) -> None:
        findings = found(servers_hw.trained_down())
        drive, group = one(findings, "link.drive"), one(findings, "link.unequal")
        assert (drive.subject, drive.severity) == ("SN004", Severity.WARN)
        assert drive.what == "The link runs at 32 GT/s ×2; the drive supports 32 GT/s ×4."
        assert "slot 12" in drive.todo
        assert "9 at 32 GT/s ×4, 1 at 32 GT/s ×2" in group.what and "SN004" in group.todo

    def test_drives_in_slots_of_an_older_board_are_only_worth_knowing(self) -> None:
        slot = PcieLink(speed=16.0, width=4, max_speed=32.0, max_width=4, slot_speed=16.0, slot_width=4)
        inventory = servers_hw.one_u_12()
        drives = [drive.model_copy(update={"link": slot}) for drive in inventory.drives]
        findings = found(inventory.model_copy(update={"drives": drives}))
        assert {(finding.name, finding.severity) for finding in findings} == {("link.drive", Severity.INFO)}
        [shown] = merged(findings)
        assert shown.subject == "SN000, SN001, SN002, SN003 and 8 more"
        assert "The slot supports no more." in shown.what

    def test_a_card_that_carries_less_than_its_ports(self) -> None:
        finding = one(found(servers_hw.gen5_card_in_gen4_slot()), "link.nic")
        assert (finding.subject, finding.severity) == ("0000:80:00.0", Severity.WARN)
        assert "The link carries 27.6 GB/s, the ports 50.0 GB/s." in finding.what

    def test_a_slow_slot_that_is_fast_enough_for_the_port_is_only_worth_knowing(self) -> None:
        inventory = servers_hw.gen5_card_in_gen4_slot()
        nics = [nic.model_copy(update={"speed": 100_000}) for nic in inventory.nics]
        assert one(found(inventory.model_copy(update={"nics": nics})), "link.nic").severity is Severity.INFO

    def test_two_ports_that_are_more_than_their_card(self) -> None:
        link = PcieLink(speed=16.0, width=16, max_speed=16.0, max_width=16)
        ports = [servers_hw.port(n, 200_000, pci_address=f"0000:80:00.{n}", link=link) for n in range(2)]
        finding = one(found(servers_hw.one_u_12().model_copy(update={"nics": ports})), "link.nic")
        assert finding.todo == "Distribute the cables over several cards."


class TestDrives:
    def test_a_failed_power_loss_protection_must_not_stay(self) -> None:
        of = audited_plan(planned(servers_hw.one_u_12()))
        findings = audit(servers_hw.failing(), of)
        assert [finding.name for finding in findings[:2]] == ["cache.protection", "drive.failing"]
        assert {finding.severity for finding in findings[:2]} == {Severity.FAIL}
        findings = found(servers_hw.hot_and_worn())
        assert one(findings, "heat.drive").subject == "SN000"
        assert one(findings, "drive.worn").what.startswith("97 %")

    def test_the_odd_firmware_is_named_with_its_drive(self) -> None:
        firmware = [finding for finding in found(servers_hw.hot_and_worn()) if finding.name == "drives.firmware"]
        assert "9 × 1.0, 1 × 2.0" in firmware[0].what
        assert "2.0 is on SN006" in firmware[0].todo

    def test_different_models(self) -> None:
        inventory = servers_hw.one_u_12()
        drives = servers_hw.changed(inventory.drives, "SN007", model="Other 7T68")
        finding = one(found(inventory.model_copy(update={"drives": drives})), "drives.models")
        assert "9 × ACME 7T68, 1 × Other 7T68" in finding.what


class TestMemory:
    @pytest.mark.parametrize(("threads", "named"), [(128, True), (64, False)])
    def test_buffers_of_nfsd_against_8_gib(self, threads: int, named: bool) -> None:
        inventory = servers_hw.eight_gib()
        plan = planned(inventory)
        plan = plan.model_copy(update={"nfsd": plan.nfsd.model_copy(update={"threads_max": threads})})
        findings = audit(inventory, audited_plan(plan))
        assert bool(findings) == named
        if named:
            finding = one(findings, "memory.nfsd")
            assert "128 nfsd threads take 260 MiB, more than 3 % of 8 GiB" in finding.what
            assert "Add memory (8.46 GiB would be enough)" in finding.todo

    def test_stripe_caches_against_8_gib(self) -> None:
        inventory = servers_hw.eight_gib()
        plan = planned(inventory)
        plan = plan.model_copy(update={"md": plan.md.model_copy(update={"stripe_cache_size": 32768})})
        assert "The stripe caches take 1.38 GiB" in one(audit(inventory, audited_plan(plan)), "memory.stripes").what

    def test_unknown_error_correction_is_no_finding(self) -> None:
        assert found(servers_hw.one_u_12().model_copy(update={"ecc": None})) == []

    def test_plenty_is_enough(self) -> None:
        inventory = servers_hw.two_tib()
        assert inventory.memory == 2048 * GIB
        assert found(inventory) == []


def test_findings_are_below_the_plan() -> None:
    shown = "\n".join(lines(plan_file(propose(servers_hw.hot_and_worn(), Policy()))))
    assert "Hardware" in shown
    assert "SN001 (bay 2)" in shown
