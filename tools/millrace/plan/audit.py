# SPDX-License-Identifier: Apache-2.0
"""The hardware audit: what costs a planned server speed or safety, and the remedy. Pure."""

from millrace.inventory.model import Inventory
from millrace.plan.drives import audit_drives
from millrace.plan.finding import Finding, Severity
from millrace.plan.links import audit_links
from millrace.plan.memory import audit_memory
from millrace.plan.model import Plan, Role
from millrace.plan.ports import audit_ports
from millrace.plan.sockets import audit_sockets

WORST_FIRST = [Severity.FAIL, Severity.WARN, Severity.INFO]


def audit(inventory: Inventory, plan: Plan) -> list[Finding]:
    """Return findings on the drives of the plan and on everything that serves them, the worst first."""
    roles = {drive.serial: drive.role for drive in plan.drives}
    data = [drive for drive in inventory.drives if roles.get(drive.serial) is Role.DATA]
    used = [drive for drive in inventory.drives if roles.get(drive.serial) in (Role.DATA, Role.LOG, Role.SPARE)]
    findings = [
        *audit_drives(used, data),
        *audit_links(inventory, used, data),
        *audit_sockets(inventory, data),
        *audit_memory(inventory, plan),
        *audit_ports(inventory),
    ]
    return sorted(findings, key=lambda one: (WORST_FIRST.index(one.severity), one.name, one.subject))
