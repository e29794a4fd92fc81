# SPDX-License-Identifier: Apache-2.0
"""The table of the README is what the planner says, not what somebody remembers of it."""

from pathlib import Path

import pytest

from millrace.inventory.model import Inventory
from millrace.plan.model import Plan, Role
from millrace.plan.policy import Policy
from millrace.plan.propose import propose
from millrace.plan.units import KIB, words
from tests.unit.plan.servers import GIB, drives_1u12, drives_2u24, server
from tests.unit.plan.shapes import equal

GOLDEN = Path(__file__).parent / "golden/eight_servers.md"
README = Path(__file__).parents[3] / "README.md"
HEADING = "| server | arrays | log | chunk | holds | XFS groups | nfsd |"

SERVERS: dict[str, Inventory] = {
    "1U12: 10 drives and 2 small ones, 1 node": server(drives_1u12()),
    "2U24: 18 drives and 2 small ones, 2 nodes": server(drives_2u24(), nodes=2, memory=512 * GIB),
    "2 drives, 8 cores": server(equal(2), cores=8, memory=32 * GIB),
    "4 drives of 2 TB on a desktop board": server(equal(4, size=2 * 10**12), cores=8, memory=32 * GIB),
    "7 drives, 1 node": server(equal(7)),
    "12 equal drives, 2 nodes": server(equal(12, 2), nodes=2),
    "20 equal drives, 2 nodes": server(equal(20, 2), nodes=2, memory=512 * GIB),
    "24 equal drives, 2 nodes": server(equal(24, 2), nodes=2, memory=512 * GIB),
}


def readme_table(servers: dict[str, Inventory]) -> str:
    """One row for each server, in Markdown."""
    rows = [f"| {name} | {_row(propose(inventory, Policy()))} |" for name, inventory in servers.items()]
    return "\n".join([HEADING, "|---" * (HEADING.count("|") - 1) + "|", *rows]) + "\n"


def _row(plan: object) -> str:
    assert isinstance(plan, Plan)
    legs = [array for array in plan.arrays if array.role is Role.DATA and not array.over_arrays]
    spares = sum(len(leg.spares) for leg in legs)
    level = {"raid5": "RAID50", "raid6": "RAID60"}[legs[0].level] if len(legs) > 1 else legs[0].level.upper()
    size = f"{len(legs)} x {len(legs[0].members)}" if len(legs) > 1 else str(len(legs[0].members))
    small = any(entry.role is Role.LOG for entry in plan.drives)
    log = "two small drives" if small else "mirrored partitions" if plan.filesystem.log_device else "inside XFS"
    return " | ".join(
        (
            f"{level} of {size}" + (f", {spares} hot spare{'s' * (spares > 1)}" if spares else ""),
            log,
            f"{legs[0].chunk // KIB} KiB" if legs[0].chunk else "none",
            f"{plan.capacity / 10**12:.0f} TB ({words(plan.capacity)})",
            str(plan.filesystem.allocation_groups),
            f"{plan.nfsd.threads_max} threads, {plan.nfsd.pool_mode}",
        )
    )


def test_the_table_of_eight_servers() -> None:
    assert readme_table(SERVERS) == GOLDEN.read_text()


def test_the_readme_has_this_table() -> None:
    text = README.read_text()
    if HEADING not in text:
        pytest.skip("the README has no such table yet")
    assert GOLDEN.read_text() in text
