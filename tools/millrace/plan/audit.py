# SPDX-License-Identifier: Apache-2.0
"""What of the hardware costs a planned server speed or safety, and what to do about it. Pure."""

from millrace.inventory.model import Inventory
from millrace.plan.audit_drives import audit_drives
from millrace.plan.audit_links import audit_links
from millrace.plan.audit_memory import audit_memory
from millrace.plan.audit_sockets import audit_sockets
from millrace.plan.finding import Finding, Severity
from millrace.plan.model import Plan, Role

WORST_FIRST = [Severity.FAIL, Severity.WARN, Severity.INFO]


def audit(inventory: Inventory, plan: Plan) -> list[Finding]:
    """Look at the drives of the plan and at everything that serves them; the worst comes first."""
    roles = {drive.serial: drive.role for drive in plan.drives}
    data = [drive for drive in inventory.drives if roles.get(drive.serial) is Role.DATA]
    used = [drive for drive in inventory.drives if roles.get(drive.serial) in (Role.DATA, Role.LOG, Role.SPARE)]
    findings = [
        *audit_drives(used, data),
        *audit_links(inventory, used, data),
        *audit_sockets(inventory, data),
        *audit_memory(inventory, plan),
        *_heat(inventory),
        *_network(inventory),
    ]
    return sorted(findings, key=lambda one: (WORST_FIRST.index(one.severity), one.name, one.subject))


def _heat(inventory: Inventory) -> list[Finding]:
    if not inventory.cpu_throttled:
        return []
    return [
        Finding(
            name="heat.cpu",
            severity=Severity.WARN,
            subject="processors",
            what=f"Heat has slowed cores down {inventory.cpu_throttled} times since the server was started.",
            todo="Check the fans, the air filters and the temperature of the room.",
        )
    ]


def _network(inventory: Inventory) -> list[Finding]:
    if any(nic.carrier for nic in inventory.nics):
        return []
    what, todo = (
        ("No network port has a link.", "Plug in the cables, and check the switch at their other end.")
        if inventory.nics
        else ("There is no network port.", "Add a network card, or one that this kernel has a driver for.")
    )
    return [Finding(name="network.none", severity=Severity.WARN, subject="network", what=what, todo=todo)]
