# SPDX-License-Identifier: Apache-2.0
"""The manual's table of eight servers, made by the planner; `tools/docs --write` writes it into the page."""

from host.layout import REPO
from millrace.inventory.model import Inventory
from millrace.plan.model import Plan, Role
from millrace.plan.policy.model import Policy
from millrace.plan.propose import propose
from millrace.system.text import KIB, binary
from millrace.system.text import size as decimal
from tests.unit.plan.servers import GIB, drives_1u12, drives_2u24, server
from tests.unit.plan.shapes import equal

PAGE = REPO / "docs/policy.md"
HEADING = "| server | arrays | log | chunk | usable capacity | XFS groups | nfsd |"

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


def table(servers: dict[str, Inventory]) -> str:
    """Return one row for each server, in Markdown."""
    rows = [f"| {name} | {_row(propose(inventory, Policy()))} |" for name, inventory in servers.items()]
    return "\n".join([HEADING, "|---" * (HEADING.count("|") - 1) + "|", *rows]) + "\n"


def _row(plan: object) -> str:
    assert isinstance(plan, Plan)
    legs = [array for array in plan.arrays if array.role is Role.DATA and not array.over_arrays]
    spares = sum(len(leg.spares) for leg in legs)
    level = {"raid5": "RAID50", "raid6": "RAID60"}[legs[0].level] if len(legs) > 1 else legs[0].level.upper()
    size = f"{len(legs)} × {len(legs[0].members)}" if len(legs) > 1 else str(len(legs[0].members))
    small = any(entry.role is Role.LOG for entry in plan.drives)
    log = "two small drives" if small else "mirrored partitions" if plan.filesystem.log_device else "inside XFS"
    return " | ".join(
        (
            f"{level} of {size}" + (f", {spares} hot spare{'s' * (spares > 1)}" if spares else ""),
            log,
            f"{legs[0].chunk // KIB} KiB" if legs[0].chunk else "none",
            f"{decimal(plan.capacity)} ({binary(plan.capacity)})",
            str(plan.filesystem.allocation_groups),
            f"{plan.nfsd.threads_max} threads, {plan.nfsd.pool_mode}",
        )
    )


def rows(page: str) -> list[str]:
    """Return the lines of a page that are a table with as many columns."""
    return [line for line in page.splitlines() if line.count("|") == HEADING.count("|")]


def main() -> None:
    """Write the table into the page, in the place of the present one."""
    text = PAGE.read_text()
    PAGE.write_text(text.replace("\n".join(rows(text)), table(SERVERS).rstrip()))


if __name__ == "__main__":
    main()
