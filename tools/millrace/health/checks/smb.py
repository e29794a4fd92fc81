# SPDX-License-Identifier: Apache-2.0
"""Is smbd running?"""

from millrace.health.host import Host
from millrace.health.model import Finding, Level

NAME = "smb"


def check(host: Host) -> list[Finding]:
    """The SMB server, wherever there is a pool to serve."""
    if host.pool is None:
        return []
    state = host.active_state("smbd.service")
    if state in ("active", "reloading"):
        return [Finding(check=NAME, level=Level.OK, sentence="SMB serves on port 445.")]
    if state == "activating":
        return [Finding(check=NAME, level=Level.WARN, sentence="The SMB server is starting.")]
    return [host.absent(NAME, f"The SMB server is {state}.", "systemctl status smbd.service millrace-share.service")]
