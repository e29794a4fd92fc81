# SPDX-License-Identifier: Apache-2.0
"""Hardware that costs speed or safety: the findings of the planner, with the links and the heat of now."""

from millrace import paths
from millrace.errors import MillraceError
from millrace.health.checks import drives
from millrace.health.host import Host
from millrace.health.model import Finding, Level
from millrace.inventory.model import DriveState, Inventory
from millrace.inventory.refresh import refreshed
from millrace.plan import finding as audit_finding
from millrace.plan.audit import audit
from millrace.plan.finding import Severity, merged
from millrace.plan.model import DriveRole, Plan, PlanFile, Role
from millrace.system.documents import read_model

NAME = "hardware"

_LEVELS = {Severity.INFO: Level.OK, Severity.WARN: Level.WARN, Severity.FAIL: Level.FAIL}


def check(host: Host) -> list[Finding]:
    """Return one finding for each thing that costs speed or safety; nothing before there is a plan."""
    plan = _plan()
    if plan is None:
        return []
    plan = _with_members(plan, host)
    if not paths.inventory_file().exists():
        # Serving does not wait for the inventory: in a boot it comes a little later.
        return [
            Finding(
                check=NAME,
                level=Level.WARN if host.starting else Level.UNKNOWN,
                sentence=f"The hardware has not been inspected {'yet' if host.starting else 'in this boot'}.",
                todo="systemctl status millrace-inventory",
            )
        ]
    inventory = refreshed(read_model(paths.inventory_file(), Inventory), paths.ROOT)
    # Those of SMART are the drives' own check's, with the values of now.
    findings = [one for one in merged(audit(inventory, plan)) if one.name not in drives.SMART]
    if not findings:
        return [Finding(check=NAME, level=Level.OK, sentence="No hardware findings that reduce performance or safety.")]
    return [_found(one) for one in findings]


def _found(one: audit_finding.Finding) -> Finding:
    """What is merely good to know has no remedy."""
    level = _LEVELS[one.severity]
    todo = None if level is Level.OK else one.todo
    sentence = f"{one.subject}: {one.what}"
    return Finding(check=NAME, kind=one.name, subject=one.subject, level=level, sentence=sentence, todo=todo)


def _with_members(plan: Plan, host: Host) -> Plan:
    """The plan with the drives of the pool of now: some of those of the first day may have been replaced."""
    try:
        arrays = [one for one in host.pool.arrays if not one.array.over_arrays] if host.pool else []
    except MillraceError:
        return plan
    # a drive of data may have a part of the log
    data_first = sorted(arrays, key=lambda one: one.array.role is not Role.DATA)
    roles = {one.serial: Role.SPARE for array in arrays for one in array.spares}
    roles |= {one.serial: array.array.role for array in reversed(data_first) for one in array.members}
    left = [one.model_copy(update={"role": roles[one.serial]}) for one in plan.drives if one.serial in roles]
    known = {one.serial for one in plan.drives}
    new = [
        DriveRole(
            serial=serial,
            wwid="",
            model="",
            size=0,
            state=DriveState.OURS,
            role=role,
            partitions=[],
            reason="Replaced.",
        )
        for serial, role in roles.items()
        if serial not in known
    ]
    return plan.model_copy(update={"drives": [*left, *new]}) if arrays else plan


def _plan() -> Plan | None:
    """The plan that the pool was made from, else the proposal of this boot."""
    if paths.approved_plan_file().exists():
        return read_model(paths.approved_plan_file(), Plan)
    if not paths.plan_file().exists():
        return None
    proposal = read_model(paths.plan_file(), PlanFile).proposal
    return proposal if isinstance(proposal, Plan) else None
