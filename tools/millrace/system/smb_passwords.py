# SPDX-License-Identifier: Apache-2.0
"""The password database of Samba. Passwords go through standard input only."""

import re
from collections.abc import Callable, Sequence

from millrace.system import ages, paths, tdb
from millrace.system.errors import Failed
from millrace.system.run import Runner, must

# Without the smb.conf of the shares, which is made when there is a pool; the user database is the same.
SMBPASSWD = ("smbpasswd", "-c", "/dev/null")
PDBEDIT = ("pdbedit", "-s", "/dev/null")
DIRECT = "millrace-smb-direct.service"

PASSDB = "var/lib/samba/private/passdb.tdb"
# The form of its records: TDBSAM_VERSION (source3/passdb/pdb_tdb.c), SAMU_BUFFER_FORMAT_V3 (source3/passdb/passdb.c).
_FORM = {"INFO/version": b"\4\0\0\0", "INFO/minor_version": b"\0\0\0\0"}
_KICKOFF, _NEVER = slice(8, 12), b"\0\0\0\0"
# When a password was wrong last (pdb_update_autolock_flag() in source3/passdb/passdb.c).
_BAD_PASSWORD = slice(12, 16)
_TEXTS = 12


def set_smb_password(name: str, password: str, run: Runner) -> None:
    """Set the SMB password; create the SMB account where it is missing. Failed: a tool of Samba fails."""
    must(run, [*SMBPASSWD, "-s", "-a", name], f"{password}\n{password}\n")
    never_expire([name], run)


def nt_hashes(names: Sequence[str], run: Runner, without: str = "N") -> dict[str, str]:
    """Return the password hashes of SMB, from the lines of smbpasswd(5). Failed: pdbedit fails.

    `without`: flags of accounts that are left out, N without a password, L locked by Samba.
    """
    fields = [line.split(":") for line in must(run, [*PDBEDIT, "-L", "-w"]).splitlines()]
    return {
        account[0]: account[3]
        for account in fields
        if len(account) > 4 and account[0] in names and re.fullmatch("[0-9A-F]{32}", account[3])
        if not {*without} & {*account[4]}
    }


def reload_direct(run: Runner) -> None:
    """Let the kernel's SMB server, where it runs, read users and groups again. Failed: systemd does not begin it."""
    if (paths.ROOT / paths.SMB_DIRECT).exists():
        # without waiting: the caller may be what the unit is ordered after
        must(run, ["systemctl", "try-reload-or-restart", "--no-block", DIRECT])


def never_expire(names: Sequence[str], run: Runner) -> None:
    """Remove the expiry of SMB accounts. Failed: one of them does not exist, or the database is not to be changed."""
    # Samba 4.25 gives each new account a kickoff time of 6 February 2036, which "-K never" sets again; only 0 is never
    # compared with the clock (sam_account_ok() in source3/auth/check_samsec.c).
    if len(names) == 1 or not _in_one_transaction(names, _without_expiry):
        for name in names:
            must(run, [*PDBEDIT, "-r", "-u", name, "-K", "0"])


def end_lockouts_of_other_times(names: Sequence[str]) -> None:
    """Let lockouts end that began when the clock was wrong: Samba ends one some minutes after the time in its record.

    A clock that was ahead for a moment would lock an account for as long as it was ahead. Failed: the database is not
    to be changed.
    """
    if (paths.ROOT / PASSDB).exists():
        _in_one_transaction(names, _without_failure_ahead)


def remove_smb(names: Sequence[str], run: Runner) -> None:
    """Remove SMB accounts; users who have none are passed over."""
    if len(names) == 1 or not _in_one_transaction(names, _deleted):
        for name in names:
            run([*SMBPASSWD, "-x", name])


def _in_one_transaction(names: Sequence[str], change: Callable[[tdb.Database, str], None]) -> bool:
    """Change the accounts of many users at once: tools of Samba take one a process, each with transactions of its own.

    Return False where the database is of a form that is not known here; nothing was changed then, and the tools do it.
    """
    path = paths.ROOT / PASSDB
    if not names or not path.exists():
        return not names
    with tdb.transaction(path) as database:
        known = [database.get(_key(key)) for key in _FORM] == list(_FORM.values())
        for name in names if known else ():
            change(database, name)
    return known


def _without_expiry(database: tdb.Database, name: str) -> None:
    record = database.get(_user(name))
    if record is None:
        raise Failed(f"{name} has no SMB account")
    if record[_KICKOFF] != _NEVER:
        database.put(_user(name), record[: _KICKOFF.start] + _NEVER + record[_KICKOFF.stop :])


def _without_failure_ahead(database: tdb.Database, name: str) -> None:
    record = database.get(_user(name))
    if record is None:
        return
    failed = int.from_bytes(record[_BAD_PASSWORD], "little")
    if failed and ages.age(failed) is None:
        # over at the next sign-in; 0 would say that it never began, and Samba ends no such lockout
        long_ago = int(ages.EARLIEST.timestamp()).to_bytes(4, "little")
        database.put(_user(name), record[: _BAD_PASSWORD.start] + long_ago + record[_BAD_PASSWORD.stop :])


def _deleted(database: tdb.Database, name: str) -> None:
    record = database.get(_user(name))
    if record is None:
        return
    by_number = _key(f"RID_{_rid(record):08x}")
    database.delete(_user(name))
    if database.get(by_number) == _key(name):
        database.delete(by_number)


def _rid(record: bytes) -> int:
    """Return the relative identifier in a record: after seven times and twelve texts with their lengths."""
    at = 7 * 4
    for _ in range(_TEXTS):
        at += 4 + int.from_bytes(record[at : at + 4], "little")
    return int.from_bytes(record[at : at + 4], "little")


def _user(name: str) -> bytes:
    return _key(f"USER_{name}")


def _key(text: str) -> bytes:
    return f"{text}\0".encode()
