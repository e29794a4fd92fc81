# SPDX-License-Identifier: Apache-2.0
"""Does the web console listen?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import Finding, Level

NAME = "cockpit"


def check(host: Host) -> list[Finding]:
    """Check Cockpit's socket, with or without a pool."""
    state = host.active_state("cockpit.socket")
    if state == "active":
        return [Finding(check=NAME, level=Level.OK, sentence="Cockpit responds on port 9090.")]
    return [host.absent(NAME, f"The socket of Cockpit is {state}.", "systemctl restart cockpit.socket")]
