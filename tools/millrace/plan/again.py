# SPDX-License-Identifier: Apache-2.0
"""Drives came, went or were erased: the server looks at them again and proposes a plan for what it finds."""

from millrace import paths
from millrace.errors import Refused
from millrace.system.run import Runner, attempt, must
from millrace.system.users import only_root

# The plan's unit requires the inventory's: what is proposed always belongs to what was found.
UNITS = ("millrace-inventory.service", "millrace-plan.service")


def plan_again(run: Runner = attempt) -> None:
    """Do again what the boot did; the old plan's hash is refused from then on.

    Raises Refused where there is a pool or one is being built, and to all but root; Failed where a unit fails.
    """
    if paths.pool_file().exists():
        raise Refused("this server already has a pool; see `millrace pool show`")
    if paths.transaction_file().exists():
        raise Refused("the pool is being built; see `millrace status`")
    only_root()
    must(run, ["systemctl", "restart", *UNITS])
