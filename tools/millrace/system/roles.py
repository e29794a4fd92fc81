# SPDX-License-Identifier: Apache-2.0
"""Roles of the people who manage this server. A role is the membership in a group of the system, nothing else."""

import grp
import os
import pwd
from dataclasses import dataclass
from typing import Literal

from millrace.system import paths, sysfs

Role = Literal["administrator", "operator", "viewer"]

RANK: dict[Role, int] = {"viewer": 0, "operator": 1, "administrator": 2}

ADMINISTRATORS = "sudo"
OPERATORS = "millrace-operator"
# Its members pass neither into the pool nor into /var/tmp (tmpfiles.d/millrace-console.conf): hiding pages is no
# boundary, the browser of a user can start any program as that user. sudo lets them start millrace.
CONSOLE = "millrace-console"

GROUPS: dict[Role, tuple[str, ...]] = {
    "administrator": (ADMINISTRATORS,),
    "operator": (OPERATORS, CONSOLE),
    "viewer": (CONSOLE,),
}
"""The groups of each role."""


@dataclass(frozen=True)
class Caller:
    """The person for whom this process runs; `role` is None where the account has none."""

    uid: int
    name: str
    role: Role | None

    def may(self, least: Role) -> bool:
        """Whether the role suffices for what `least` may do."""
        return self.role is not None and RANK[self.role] >= RANK[least]


def caller() -> Caller:
    """Return who became root by sudo or polkit, else the user of this process.

    sudo and pkexec set the number of the user who called them, which that user cannot change: env_reset(sudoers(5)).
    """
    uid = _calling_uid()
    login = _login_uid()
    if uid == 0 and login is not None:
        # root in a session of a login
        return Caller(0, of_user(login).name, "administrator")
    return of_user(uid)


def is_root() -> bool:
    """Whether this process has the rights of root: only then the role of its caller is a boundary."""
    return os.geteuid() == 0


def is_person() -> bool:
    """Whether an account called: sudo, pkexec, another user, or a session of a login (proc_pid_loginuid(5))."""
    return _calling_uid() != 0 or _login_uid() is not None


def of_user(uid: int) -> Caller:
    """Return a user with its role; root is an administrator, and who is in none of the groups has no role."""
    if uid == 0:
        return Caller(0, "root", "administrator")
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Caller(uid, str(uid), None)
    mine = set(os.getgrouplist(entry.pw_name, entry.pw_gid))
    roles: tuple[tuple[Role, str], ...] = (
        ("administrator", ADMINISTRATORS),
        ("operator", OPERATORS),
        ("viewer", CONSOLE),
    )
    return Caller(uid, entry.pw_name, next((role for role, group in roles if _number(group) in mine), None))


_NO_LOGIN = (1 << 32) - 1
_NOBODY = (1 << 32) - 2


def _calling_uid() -> int:
    for name in ("SUDO_UID", "PKEXEC_UID"):
        text = os.environ.get(name)
        if text is not None:
            # a value that is none belongs to a user without a role
            return int(text) if text.isascii() and text.isdigit() else _NOBODY
    return os.getuid()


def _login_uid() -> int | None:
    text = sysfs.text(paths.ROOT / "proc/self/loginuid")
    return int(text) if text and text.isdigit() and int(text) != _NO_LOGIN else None


def _number(group: str) -> int | None:
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        return None
