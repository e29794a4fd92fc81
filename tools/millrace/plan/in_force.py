# SPDX-License-Identifier: Apache-2.0
"""On a server with a pool the plan is the one that the pool was made from: its drives are not blank any more."""

from millrace import paths
from millrace.errors import BadInput, Refused
from millrace.plan.model import Plan, PlanFile
from millrace.system.documents import read_model


def plan_in_force() -> PlanFile | None:
    """The approved plan where there is a pool, None where there is none.

    Raises Refused where the pool is there and its plan cannot be read: the pool serves without it.
    """
    if not paths.pool_file().exists():
        return None
    try:
        plan = read_model(paths.approved_plan_file(), Plan)
    except BadInput as error:
        raise Refused(f"the plan of the pool cannot be shown: {error}; see `millrace pool show`") from error
    return PlanFile(sha256=plan.digest(), proposal=plan)
