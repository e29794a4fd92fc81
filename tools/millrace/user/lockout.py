# SPDX-License-Identifier: Apache-2.0
"""The lock-out of SMB: the limits of /etc/security/faillock.conf in Samba's own database of accounts."""

from millrace.system.run import Runner, must
from millrace.system.smb_passwords import PDBEDIT

# attempts, then minutes; pdbedit(8) names them so
POLICY = {"bad lockout attempt": 10, "lockout duration": 15, "reset count minutes": 15}


def enforce(run: Runner) -> None:
    """Lock an SMB account for 15 minutes after 10 wrong passwords; in a domain, the domain's own policy holds."""
    for policy, value in POLICY.items():
        must(run, [*PDBEDIT, "-P", policy, "-C", str(value)])
