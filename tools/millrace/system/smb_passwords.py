# SPDX-License-Identifier: Apache-2.0
"""The password database of Samba. Passwords go through standard input only."""

import re
from collections.abc import Sequence

from millrace.system import paths
from millrace.system.run import Runner, must

# Without the smb.conf of the shares, which is made when there is a pool; the user database is the same.
SMBPASSWD = ("smbpasswd", "-c", "/dev/null")
PDBEDIT = ("pdbedit", "-s", "/dev/null")
DIRECT = "millrace-smb-direct.service"


def set_smb_password(name: str, password: str, run: Runner) -> None:
    """Set the SMB password; create the SMB account where it is missing. Failed: a tool of Samba fails."""
    must(run, [*SMBPASSWD, "-s", "-a", name], f"{password}\n{password}\n")
    never_expire(name, run)


def nt_hashes(names: Sequence[str], run: Runner) -> dict[str, str]:
    """Return the password hashes of SMB, from the lines of smbpasswd(5)."""
    fields = [line.split(":") for line in must(run, [*PDBEDIT, "-L", "-w"]).splitlines()]
    return {
        one[0]: one[3]
        for one in fields
        if len(one) > 4 and one[0] in names and re.fullmatch("[0-9A-F]{32}", one[3]) and "N" not in one[4]
    }


def reload_direct(run: Runner) -> None:
    """Let the kernel's SMB server, where it runs, read users and groups again. Failed: systemd does not begin it."""
    if (paths.ROOT / paths.SMB_DIRECT).exists():
        # without waiting: the caller may be what the unit is ordered after
        must(run, ["systemctl", "try-reload-or-restart", "--no-block", DIRECT])


def never_expire(name: str, run: Runner) -> None:
    """Remove the expiry of an SMB account. Failed: pdbedit fails."""
    # Samba 4.25 gives each new account a kickoff time of 6 February 2036, which "-K never" sets again; only 0 is never
    # compared with the clock (sam_account_ok() in source3/auth/check_samsec.c).
    must(run, [*PDBEDIT, "-r", "-u", name, "-K", "0"])
