# SPDX-License-Identifier: Apache-2.0
"""Decisions of the policy file are planned and marked; impossible ones are refused with the reason."""

from collections.abc import Callable

import pytest

from millrace.inventory.model import Drive
from millrace.plan.model import Plan, Refusal
from millrace.plan.policy.model import Policy
from millrace.plan.policy.policy_file import parse_policy
from millrace.plan.propose import propose
from tests.unit.plan.servers import DATA_SIZE, drive, drives_1u12, server
from tests.unit.plan.shapes import equal, sn

MIB = 1 << 20


def policy(text: str) -> Policy:
    return parse_policy(text, "/etc/millrace/policy.toml")


def planned(drives: list[Drive], text: str) -> Plan:
    proposal = propose(server(drives), policy(text))
    assert isinstance(proposal, Plan), proposal
    return proposal


def levels(plan: Plan) -> list[tuple[str, int]]:
    return [(array.level, len(array.members)) for array in plan.arrays if array.name != "log"]


@pytest.mark.parametrize(
    ("count", "text", "wanted"),
    [
        (10, 'resilience = "single"', [("raid5", 9)]),
        (4, 'resilience = "double"', [("raid6", 4)]),
        (18, 'resilience = "double"', [("raid6", 6), ("raid6", 6), ("raid6", 6), ("raid0", 3)]),
        (20, 'resilience = "double"', [("raid6", 10), ("raid6", 10), ("raid0", 2)]),
        (2, 'resilience = "single"', [("raid1", 2)]),
        (12, "legs = 2", [("raid6", 6), ("raid6", 6), ("raid0", 2)]),
        (12, 'legs = 2\nresilience = "single"', [("raid5", 6), ("raid5", 6), ("raid0", 2)]),
        (24, "legs = 3", [("raid5", 8), ("raid5", 8), ("raid5", 8), ("raid0", 3)]),
        (16, "legs = 1", [("raid6", 16)]),
        (24, 'level = "raid6"', [("raid6", 24)]),
        (8, 'level = "raid60"', [("raid6", 4), ("raid6", 4), ("raid0", 2)]),
        (3, 'level = "raid1"', [("raid1", 3)]),
        (13, "spares = 1", [("raid6", 12)]),
        (24, "spares = 6", [("raid5", 9), ("raid5", 9), ("raid0", 2)]),
        (24, "spares = 0\nlegs = 4", [("raid5", 6)] * 4 + [("raid0", 4)]),
    ],
)
def test_layout(count: int, text: str, wanted: list[tuple[str, int]]) -> None:
    plan = planned(equal(count), f"[layout]\n{text}\n")
    assert levels(plan) == wanted
    assert next(one for one in plan.decisions if one.name == "layout").source == "policy file: layout"


def chunk(plan: Plan) -> object:
    return next(array.chunk for array in plan.arrays if array.level == "raid6")


def bitmap(plan: Plan) -> object:
    return plan.arrays[0].bitmap_chunk


def log(plan: Plan) -> object:
    return [array.members for array in plan.arrays if array.name == "log"]


def options(plan: Plan) -> object:
    return plan.filesystem.mount_options


@pytest.mark.parametrize(
    ("text", "decision", "key", "get", "wanted"),
    [
        ("[layout]\nchunk_kib = 256", "chunk", "layout.chunk_kib", chunk, 256 << 10),
        ("[layout]\nbitmap_chunk_mib = 64", "bitmap", "layout.bitmap_chunk_mib", bitmap, 64 * MIB),
        ('[log]\nmode = "partition"', "log", "log.mode", log, [sn(0, 1)]),
        ('[log]\nmode = "internal"', "log", "log.mode", log, []),
        ('[log]\nmode = "pair"', "log", "log.mode", log, [sn(10, 11)]),
        (
            "[log]\nsize_mib = 512",
            "filesystem.log_size",
            "log.size_mib",
            lambda plan: plan.filesystem.log_size,
            512 * MIB,
        ),
        (
            "[xfs]\nagcount = 200",
            "filesystem.allocation_groups",
            "xfs.agcount",
            lambda plan: plan.filesystem.allocation_groups,
            200,
        ),
        (
            '[xfs]\nmount_options_extra = ["swalloc", "logbsize=128k"]',
            "filesystem.mount_options",
            "xfs.mount_options_extra",
            options,
            [
                *("nosuid", "nodev", "noexec", "noatime", "largeio", "prjquota", "swalloc", "logbsize=128k"),
                "logdev=/dev/md/millrace-log",
            ],
        ),
    ],
)
def test_log_and_file_system(text: str, decision: str, key: str, get: Callable[[Plan], object], wanted: object) -> None:
    plan = planned(drives_1u12(), text)
    assert get(plan) == wanted
    found = next(one for one in plan.decisions if one.name == decision)
    assert found.source == f"policy file: {key}"
    assert key in found.reason


def test_an_internal_log_may_have_a_size() -> None:
    plan = planned(drives_1u12(), '[log]\nmode = "internal"\nsize_mib = 1024\n')
    assert (plan.filesystem.log_device, plan.filesystem.log_size) == (None, 1024 * MIB)


def test_nfsd_md_and_memory() -> None:
    plan = planned(
        drives_1u12(),
        "[nfsd]\nthreads = 48\nlease_time = 60\ngrace_time = 90\nmax_block_size = 524288\n"
        "[md]\ngroup_thread_cnt = 6\nread_ahead_kib = 4096\n[sysctl]\ndirty_bytes = 536870912\n",
    )
    assert (plan.nfsd.threads_max, plan.nfsd.lease_time, plan.nfsd.grace_time) == (48, 60, 90)
    assert (plan.nfsd.max_block_size, plan.md.group_thread_cnt, plan.md.read_ahead) == (524288, 6, 4096)
    assert plan.sysctl["vm.dirty_bytes"] == "536870912"


@pytest.mark.parametrize(
    ("drives", "text", "key", "why"),
    [
        (equal(10), "[layout]\nlegs = 4", "layout.legs", "cannot form 4 equal legs"),
        (equal(3), '[layout]\nlevel = "raid6"', "layout.level", "RAID6 needs 4 drives or more"),
        (equal(3), '[layout]\nresilience = "double"', "layout.resilience", "failure of any two"),
        (equal(4), "[layout]\nspares = 4", "layout.spares", "leave 0 of 4 drives"),
        (equal(2), "[layout]\nspares = 1", "layout.spares", "leave 1 of 2 drives"),
        (equal(7), '[layout]\nlevel = "raid50"\nspares = 2', "layout.level", "two legs or more of 3 drives or more"),
        (equal(10), '[log]\nmode = "pair"', "log.mode", "no two are clearly smaller"),
        (equal(1), '[log]\nmode = "partition"', "log.mode", "both sides of a mirror"),
        (equal(4, size=1 << 30), "[log]\nsize_mib = 1024", "log.size_mib", "allows a log of at most 64 MiB"),
        (
            equal(4, size=100 * 10**9),
            '[log]\nmode = "internal"\nsize_mib = 2038\n[xfs]\nagcount = 128',
            "log.size_mib",
            "a log of",
        ),
        (equal(10), "[xfs]\nagcount = 65536", "xfs.agcount", "not 65536"),
        (drives_1u12(), "[xfs]\nagcount = 32", "xfs.agcount", "allow 56 to 3584"),
        (equal(4, size=1 << 30), "[xfs]\nagcount = 4000", "xfs.agcount", "not 4000"),
    ],
)
def test_what_cannot_work_here_is_refused_with_the_reason(drives: list[Drive], text: str, key: str, why: str) -> None:
    proposal = propose(server(drives), policy(text))
    assert isinstance(proposal, Refusal)
    (obstacle,) = proposal.obstacles
    assert obstacle.what.startswith(f"The policy's {key} cannot be used on this server: ")
    assert why in obstacle.what
    assert obstacle.todo


def test_all_overrides_that_cannot_work_are_named_at_once() -> None:
    proposal = propose(server(drives_1u12()), policy("[xfs]\nagcount = 32\n[md]\nstripe_cache_size = 32768\n"))
    assert isinstance(proposal, Refusal)
    small = propose(
        server(drives_1u12(), memory=4 << 30), policy("[xfs]\nagcount = 32\n[md]\nstripe_cache_size = 32768\n")
    )
    assert isinstance(small, Refusal)
    assert {one.what.split()[2] for one in small.obstacles} == {"xfs.agcount", "md.stripe_cache_size"}


def test_a_drive_can_be_left_out() -> None:
    plan = planned([*equal(10), drive(10, DATA_SIZE)], '[drives]\nexclude = ["SN004"]\n')
    used = {serial for array in plan.arrays for serial in array.members}
    assert "SN004" not in used and "SN010" in used
    reasons = {entry.serial: entry.reason for entry in plan.drives}
    assert reasons["SN004"] == "Excluded by the policy (drives.exclude)."


def test_the_policy_is_part_of_what_is_approved() -> None:
    before, after = planned(equal(10), ""), planned(equal(10), "[layout]\nchunk_kib = 256\n")
    assert before.digest() != after.digest()
