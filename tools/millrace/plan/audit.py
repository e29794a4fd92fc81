# SPDX-License-Identifier: Apache-2.0
"""The hardware audit: what costs a planned server speed or safety, and the remedy. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from millrace.inventory.model import Drive, Inventory
from millrace.plan.discard import audit_discard, reads_zeroes
from millrace.plan.drives import audit_drives
from millrace.plan.finding import PlanFinding, Severity
from millrace.plan.links import audit_drive_links, audit_links
from millrace.plan.memory import audit_memory
from millrace.plan.model import MdArray, MdSettings, Nfsd, Plan, Role
from millrace.plan.ports import audit_ports
from millrace.plan.sockets import audit_sockets

WORST_FIRST = [Severity.FAIL, Severity.WARN, Severity.INFO]


@dataclass(frozen=True)
class Audited:
    """What is planned or exists, as far as the audit depends on it: the role of each drive by serial, and what takes
    memory.
    """

    roles: Mapping[str, Role]
    arrays: Sequence[MdArray]
    nfsd: Nfsd
    md: MdSettings


def audited_plan(plan: Plan) -> Audited:
    """Return what the audit needs of a plan."""
    return Audited({drive.serial: drive.role for drive in plan.drives}, plan.arrays, plan.nfsd, plan.md)


def differences(new: Drive, neighbours: Sequence[Drive], data: bool) -> list[str]:
    """Return what a drive brings to its neighbours in an array that they do not have without it, a sentence for each.

    `data`: whether it is to hold data. Link, model, firmware, write cache, deallocation and sectors.
    """
    if not neighbours:
        return []

    def found(drives: list[Drive]) -> list[str]:
        zeroes = audit_discard(drives) if data and not reads_zeroes(new) else []
        return [one.what for one in (*audit_drive_links(drives, drives), *audit_drives(drives, drives), *zeroes)]

    before = found(list(neighbours))
    sectors = {drive.physical_block for drive in neighbours}
    other = [] if new.physical_block in sectors else [_sectors(new.physical_block, sectors)]
    return [*(sentence for sentence in dict.fromkeys(found([*neighbours, new])) if sentence not in before), *other]


def _sectors(size: int, others: Collection[int]) -> str:
    around = ", ".join(str(one) for one in sorted(others))
    return f"Physical sectors differ: {size} bytes, and {around} bytes on its neighbours."


def audit(inventory: Inventory, of: Audited) -> list[PlanFinding]:
    """Return findings on the drives of a pool and on everything that serves them, the worst first."""
    data = [drive for drive in inventory.drives if of.roles.get(drive.serial) is Role.DATA]
    used = [drive for drive in inventory.drives if of.roles.get(drive.serial) in (Role.DATA, Role.LOG, Role.SPARE)]
    findings = [
        *audit_drives(used, data),
        *audit_discard(data),
        *audit_links(inventory, used, data),
        *audit_sockets(inventory, data),
        *audit_memory(inventory, of.arrays, of.nfsd, of.md),
        *audit_ports(inventory),
    ]
    return sorted(findings, key=lambda finding: (WORST_FIRST.index(finding.severity), finding.name, finding.subject))
