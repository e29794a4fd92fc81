# SPDX-License-Identifier: Apache-2.0
"""Is the policy that the server serves by the one in its file?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.policy import policy_in_force
from millrace.plan.policy.policy_file import source
from millrace.system.errors import BadInput

NAME = "policy"


def check(host: Host) -> list[HealthFinding]:
    """Check the policy in force: WARN where an earlier one had to replace the file, FAIL where there is none."""
    todo = "Correct the file, then: millrace share render"
    try:
        problem = policy_in_force.find().problem
    except BadInput as error:
        return [
            HealthFinding(check=NAME, level=Level.FAIL, sentence=f"{error}. No earlier policy can be read.", todo=todo)
        ]
    if problem:
        return [HealthFinding(check=NAME, level=Level.WARN, sentence=f"{problem}.", todo=todo)]
    if host.pool is not None and _is_pending():
        sentence = f"The policy in {source()} was edited, and the server still runs by the one before."
        todo = "Apply it: millrace share render; millrace tune. What it changes: millrace policy diff"
        return [HealthFinding(check=NAME, kind="pending", level=Level.WARN, sentence=sentence, todo=todo)]
    path = source()
    sentence = f"The policy in {path} is in force." if path else "There is no policy: the defaults are in force."
    return [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]


def _is_pending() -> bool:
    """Whether the file was edited by hand since shares were rendered by it; each rendering keeps what it used."""
    return policy_in_force.last_good_file().exists() and policy_in_force.last_good() != policy_in_force.find().policy
