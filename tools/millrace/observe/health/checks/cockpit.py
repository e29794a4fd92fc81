# SPDX-License-Identifier: Apache-2.0
"""Does the web console listen?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level

NAME = "cockpit"


def check(host: Host) -> list[HealthFinding]:
    """Check Cockpit's socket, with or without a pool."""
    state = host.active_state("cockpit.socket")
    if state == "active":
        return [HealthFinding(check=NAME, level=Level.OK, sentence="Cockpit responds on port 9090.")]
    return [host.absent(NAME, f"The socket of Cockpit is {state}.", "systemctl restart cockpit.socket")]
