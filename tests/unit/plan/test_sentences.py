# SPDX-License-Identifier: Apache-2.0
"""Names and sentences of plans and refusals, for all servers that the tests of planning know."""

import re
from collections.abc import Iterator

import pytest

from millrace.plan import sources
from millrace.plan.explain import lines as explained
from millrace.plan.model import Decision, Plan, Proposal, Refusal
from millrace.plan.policy.model import Policy
from millrace.plan.propose import plan_file, propose
from millrace.plan.sockets import separation_of
from millrace.plan.text import lines
from millrace.plan.values import shown
from tests.unit.plan import servers_hw
from tests.unit.plan.servers import drive, server
from tests.unit.plan.shapes import CASES

# A tool and a leg keep their names at the beginning of a sentence.
SENTENCE = re.compile(r"(leg\d+ |mkfs\.xfs |[A-Z0-9`])[^\n]*[.)]")
NAME = re.compile(r"[a-z][a-z0-9]*([._][a-z0-9]+)*")
SHOUTED = re.compile(r"[A-Z]{2,} [A-Z]{2,} [A-Z]{2,}|XX")
DECISIONS = [
    "bitmap", "chunk", "discard", "drives.data", "drives.log", "drives.spares", "exports.networks",
    "exports.privileged_ports", "filesystem.allocation_group_size", "filesystem.allocation_groups",
    "filesystem.autofsck", "filesystem.features", "filesystem.log_size", "filesystem.mount_options",
    "filesystem.sector", "filesystem.stripe",
    "layout", "log", "md.group_thread_cnt", "md.read_ahead", "md.stripe_cache_size", "md.sync_speed_max",
    "md.workqueue", "nfsd.copy_from", "nfsd.io_modes", "nfsd.lease_time", "nfsd.localio",
    "nfsd.max_block_size", "nfsd.pool_mode", "nfsd.threads", "partition",
    "ports.interrupts", "ports.queues", "ports.rings", "scrub.rate", "smb.affinity", "sysctl.dirty_bytes",
]  # fmt: skip


def proposals() -> Iterator[Proposal]:
    yield from (propose(case.inventory, case.policy) for case in CASES.values())
    yield from (propose(build(), Policy()) for build in servers_hw.ALL.values())


def sentences(proposal: Proposal) -> list[str]:
    """All that a proposal says in sentences."""
    if isinstance(proposal, Refusal):
        return [text for one in proposal.obstacles for text in (one.what, one.todo)]
    findings = [text for one in proposal.findings for text in (one.what, one.todo)]
    layers = [one.reason for outcome in proposal.prediction.outcomes for one in outcome.layers]
    return [*(one.reason for one in proposal.decisions), *proposal.warnings, *findings, *layers]


def decision(proposal: Proposal, name: str) -> Decision:
    assert isinstance(proposal, Plan)
    return next(one for one in proposal.decisions if one.name == name)


def test_all_sentences_begin_and_end_as_sentences() -> None:
    said = {text for proposal in proposals() for text in sentences(proposal)}
    assert len(said) > 200
    assert [text for text in said if not SENTENCE.fullmatch(text) or SHOUTED.search(text)] == []


def test_names_of_decisions_and_findings() -> None:
    plans = [one for one in proposals() if isinstance(one, Plan)]
    names = {one.name for plan in plans for one in (*plan.decisions, *plan.findings)}
    assert len(names) > len(DECISIONS) and [name for name in names if not NAME.fullmatch(name)] == []
    found = propose(servers_hw.one_u_12(), Policy())
    assert isinstance(found, Plan)
    assert {one.name for one in found.decisions} <= {*DECISIONS} and "md.workqueue" in {*names}


def test_subject_of_a_server_without_a_network() -> None:
    plan = propose(servers_hw.no_nic(), Policy())
    assert isinstance(plan, Plan)
    assert [one.subject for one in plan.findings if one.name == "network.none"] == ["network"]


def test_log_spare_is_no_spare_of_data() -> None:
    case = CASES["eleven drives"]
    plan = propose(case.inventory, case.policy)
    assert isinstance(plan, Plan)
    assert [array.spares for array in plan.arrays if array.name == "log"] == [["SN002"]]
    assert decision(plan, "drives.spares").value == {"data": ["SN010"]}


@pytest.mark.parametrize(("count", "aligned"), [(10, True), (4, False)])
def test_chunk_says_whether_a_write_is_whole_stripes(count: int, aligned: bool) -> None:
    plan = propose(server([drive(number) for number in range(count)]), Policy())
    reason = decision(plan, "chunk").reason
    assert ("is 2 full stripes" in reason) is aligned
    assert ("causes a read-modify-write" in reason) is not aligned


def test_two_drives_on_one_node_or_of_unknown_place() -> None:
    near, also = drive(0, numa_node=0), drive(1, numa_node=0)
    assert separation_of([near, also]) == "on one NUMA node"
    unknown = drive(1, numa_node=None)
    assert separation_of([near, unknown]) == separation_of([unknown, near]) != "on one NUMA node"


def test_data_and_log_drives_that_are_too_small_are_all_refused() -> None:
    data = [drive(number, 1 << 28) for number in range(4)]
    refused = propose(server([*data, drive(4, 1 << 24), drive(5, 1 << 24)]), Policy())
    assert isinstance(refused, Refusal)
    about = {drive.serial for one in refused.obstacles if "too small" in one.what for drive in one.drives}
    assert {one.serial for one in data} <= about


@pytest.mark.parametrize(("count", "words"), [(1, "No plan: 1 obstacle."), (2, "No plan: 2 obstacles.")])
def test_refusal_counts_its_obstacles(count: int, words: str) -> None:
    refused = propose(servers_hw.duplicate_serials(), Policy())
    assert isinstance(refused, Refusal)
    obstacles = [refused.obstacles[0].model_copy(update={"what": f"Cause {number}."}) for number in range(count)]
    assert words in next(lines(plan_file(refused.model_copy(update={"obstacles": obstacles}))))


def test_reasons_are_named_below_the_plan_and_explained() -> None:
    plan = propose(servers_hw.one_u_12(), Policy())
    assert isinstance(plan, Plan)
    said = [line.strip() for line in lines(plan_file(plan))]
    assert any(re.fullmatch(r"Decision +Value +Why", line) for line in said)
    assert "Details of a decision, for example `layout`: millrace plan --explain DECISION" in said
    assert next(explained(decision(plan, "layout"))) == "layout"


def test_a_value_that_is_none_is_a_dash() -> None:
    assert (shown("log", None), shown("log", []), shown("log", "x"), shown("log", 3)) == ("-", "-", "x", "3")


def test_payload_of_the_links_is_shown_in_gigabytes() -> None:
    plan = propose(servers_hw.one_u_12(), Policy())
    assert isinstance(plan, Plan)
    reasons = {layer.reason for one in plan.prediction.outcomes for layer in one.layers if layer.name == "pcie"}
    assert any("network cards 55 GB/s" in reason for reason in reasons), reasons


def test_policy_without_wishes_is_the_source_of_exports_alone() -> None:
    plan = propose(servers_hw.one_u_12(), Policy())
    assert isinstance(plan, Plan)
    named = [one.name for one in plan.decisions if one.source.startswith(sources.POLICY)]
    assert named == ["exports.networks", "exports.privileged_ports"]
