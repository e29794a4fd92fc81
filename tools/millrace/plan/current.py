# SPDX-License-Identifier: Apache-2.0
"""The plan of this server now: the one that its pool was created from, or a new one after drives changed."""

from millrace.plan.model import Plan, PlanFile, Refusal
from millrace.plan.settings import SettingsFile
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Runner, attempt, must
from millrace.system.users import only_root

# The plan's unit requires the inventory's: what is proposed always belongs to what was found.
UNITS = ("millrace-inventory.service", "millrace-plan.service")


def plan_in_force() -> PlanFile | None:
    """Return the approved plan; None where there is no pool.

    Refused: there is a pool and its plan cannot be read; the pool serves without it.
    """
    if not paths.pool_file().exists():
        return None
    try:
        plan = read_model(paths.approved_plan_file(), Plan)
    except BadInput as error:
        raise Refused(f"the plan of the pool cannot be shown: {error}; see `millrace pool show`") from error
    return PlanFile(sha256=plan.digest(), proposal=plan)


def with_settings_in_force(file: PlanFile) -> PlanFile:
    """Return the approved plan with the runtime settings that this server computed last, in place of those of then."""
    path = next((path for path in (paths.settings_file(), paths.last_settings_file()) if path.exists()), None)
    if path is None or isinstance(file.proposal, Refusal):
        return file
    try:
        values = {decision.name: decision for decision in read_model(path, SettingsFile).settings.values}
    except BadInput:
        return file
    decisions = [values.pop(decision.name, decision) for decision in file.proposal.decisions]
    proposal = file.proposal.model_copy(update={"decisions": [*decisions, *values.values()]})
    return file.model_copy(update={"proposal": proposal})


def plan_again(run: Runner = attempt) -> None:
    """Run inventory and plan of the boot again; the old plan's hash is refused from then on.

    Refused: there is a pool, one is being built, or the caller is not root. Failed: a unit fails.
    """
    if paths.pool_file().exists():
        raise Refused("this server already has a pool; see `millrace pool show`")
    if paths.transaction_file().exists():
        raise Refused("the pool is being built; see `millrace status`")
    only_root()
    must(run, ["systemctl", "restart", *UNITS])
