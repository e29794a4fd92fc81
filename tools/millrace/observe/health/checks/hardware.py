# SPDX-License-Identifier: Apache-2.0
"""Hardware that costs speed or safety: the findings of the planner, with current links and temperatures."""

from millrace.inventory import error_counters
from millrace.inventory.model import Inventory
from millrace.inventory.refresh import refreshed
from millrace.observe.health.checks import drives, heat
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan import finding as audit_finding
from millrace.plan.audit import Audited, audit, audited_plan
from millrace.plan.finding import Severity, merged
from millrace.plan.model import Plan, PlanFile
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.tune.audited_pool import audited_pool

NAME = "hardware"

_LEVELS = {Severity.INFO: Level.OK, Severity.WARN: Level.WARN, Severity.FAIL: Level.FAIL}


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each thing that costs speed or safety; nothing before there is a pool or a plan."""
    audited = _audited(host)
    if audited is None:
        return []
    if not paths.inventory_file().exists():
        # Serving does not wait for the inventory: in a boot it comes a little later.
        return [
            HealthFinding(
                check=NAME,
                level=Level.WARN if host.starting else Level.UNKNOWN,
                sentence=f"The hardware has not been inspected {'yet' if host.starting else 'in this boot'}.",
                todo="systemctl status millrace-inventory",
            )
        ]
    inventory = refreshed(read_model(paths.inventory_file(), Inventory), paths.ROOT)
    # Those of SMART are the drives' own check's, with the values of now; so is heat that is over.
    elsewhere = drives.SMART | ({heat.AUDITED} if error_counters.throttled_packages(paths.ROOT) else set())
    findings = [finding for finding in merged(audit(inventory, audited)) if finding.name not in elsewhere]
    if not findings:
        return [
            HealthFinding(
                check=NAME, level=Level.OK, sentence="No hardware findings that reduce performance or safety."
            )
        ]
    return [_found(finding) for finding in findings]


def _found(one: audit_finding.PlanFinding) -> HealthFinding:
    """What is merely good to know has no remedy."""
    level = _LEVELS[one.severity]
    todo = None if level is Level.OK else one.todo
    sentence = f"{one.subject}: {one.what}"
    return HealthFinding(check=NAME, kind=one.name, subject=one.subject, level=level, sentence=sentence, todo=todo)


def _audited(host: Host) -> Audited | None:
    """The pool with its drives of now, else the proposal of this boot."""
    if host.pool is not None:
        return audited_pool(host.pool)
    if not paths.plan_file().exists():
        return None
    proposal = read_model(paths.plan_file(), PlanFile).proposal
    return audited_plan(proposal) if isinstance(proposal, Plan) else None
