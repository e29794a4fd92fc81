# SPDX-License-Identifier: Apache-2.0
"""The password database of Samba. Passwords go through standard input only."""

from millrace.system.run import Runner, must

# Without the smb.conf of the shares, which is made when there is a pool; the user database is the same.
SMBPASSWD = ("smbpasswd", "-c", "/dev/null")
PDBEDIT = ("pdbedit", "-s", "/dev/null")


def set_smb_password(name: str, password: str, run: Runner) -> None:
    """Set the SMB password; create the SMB account where it is missing. Failed: a tool of Samba fails."""
    must(run, [*SMBPASSWD, "-s", "-a", name], f"{password}\n{password}\n")
    never_expire(name, run)


def never_expire(name: str, run: Runner) -> None:
    """Remove the expiry of an SMB account. Failed: pdbedit fails."""
    # Samba 4.25 gives each new account a kickoff time of 6 February 2036, which "-K never" sets again; only 0 is never
    # compared with the clock (sam_account_ok() in source3/auth/check_samsec.c).
    must(run, [*PDBEDIT, "-r", "-u", name, "-K", "0"])
