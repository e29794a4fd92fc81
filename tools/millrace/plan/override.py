# SPDX-License-Identifier: Apache-2.0
"""Where the policy replaces a decision of the planner, and where this server cannot follow it."""

from pydantic import JsonValue

from millrace.plan import sources
from millrace.plan.model import Decision, PlanObstacle


class InapplicablePolicy(Exception):
    """An override that this server cannot use. `propose` makes it an obstacle; `key` is as in `layout.legs`."""

    def __init__(self, key: str, why: str, todo: str) -> None:
        super().__init__(why)
        self.key = key
        self.obstacle = PlanObstacle(
            drives=[], what=f"The policy's {key} cannot be used on this server: {why.rstrip('.')}.", todo=todo
        )


def by_policy(decision: Decision, key: str, computed: JsonValue) -> Decision:
    """Return the decision with the policy as its source; `computed` is the planner's own value, in words."""
    return decision.model_copy(
        update={
            "reason": f"Set by the policy ({key}); computed without it: {computed}.",
            "source": f"{sources.POLICY}: {key}",
        }
    )
