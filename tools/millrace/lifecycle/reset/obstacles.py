# SPDX-License-Identifier: Apache-2.0
"""Why no factory reset can begin now, in a sentence with the remedy."""

from millrace.lifecycle.reset import reset_request
from millrace.lifecycle.update import obstacles
from millrace.system.jobs import kinds
from millrace.system.run import Runner


def of_server(run: Runner) -> str | None:
    """Return why this server cannot be reset now; None where it can. What is under way would be lost halfway.

    Failed: systemd does not report its units.
    """
    if kinds.RESET.is_open():
        return kinds.RESET.busy
    return reset_request.obstacle() or obstacles.of_server(run, degraded=True, starts="reset")
