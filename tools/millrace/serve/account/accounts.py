# SPDX-License-Identifier: Apache-2.0
"""Accounts of this system: one number for NFS and SMB. Passwords go through standard input only."""

from collections.abc import Sequence
from functools import partial

from millrace.serve.config.model import Config, Group, User
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.files import secret_file
from millrace.system.run import Runner, must
from millrace.system.smb_passwords import PDBEDIT, SMBPASSWD, never_expire, reload_direct, set_smb_password

# The web console lets in users whose shell understands one question, and this one understands nothing else. Everybody
# else logs in nowhere.
CONSOLE_SHELL, NO_SHELL = "/usr/lib/millrace/console-only", "/usr/sbin/nologin"
# Its members pass neither into the pool nor into /var/tmp (tmpfiles.d/millrace-console.conf): hiding pages is no
# boundary, the browser of a user can start any program as that user.
CONSOLE_GROUP = "millrace-console"

# SMB accounts are locked as those of the system are (/etc/security/faillock.conf): attempts, then minutes; pdbedit(8).
SMB_LOCKOUT = {"bad lockout attempt": 10, "lockout duration": 15, "reset count minutes": 15}

_NOT_THERE = 2  # exit status of getent


def ensure_group(group: Group, run: Runner) -> bool:
    """Create a group; return whether it was missing. Refused: the system has another one of this name."""
    number = _number("group", group.name, run)
    if number is None:
        must(run, ["groupadd", "--gid", str(group.gid), group.name])
        return True
    if number != group.gid:
        raise Refused(f"{group.name} is a system group; choose another name")
    return False


def ensure_user(user: User, run: Runner) -> bool:
    """Create a user with a group of the same name and number, who can log in nowhere except perhaps to the web console.

    A user with web console access has no shell and opens no share, over SMB either. Return whether the user was
    missing. Refused: the system has another user of this name.
    """
    ensure_group(Group(name=user.name, gid=user.uid), run)
    shell = CONSOLE_SHELL if user.console else NO_SHELL
    groups = [*user.groups, CONSOLE_GROUP] if user.console else user.groups
    settings = ["--groups", ",".join(groups), "--shell", shell]
    number = _number("passwd", user.name, run)
    if number is None:
        numbers = ["--uid", str(user.uid), "--gid", str(user.uid)]
        homeless = ["--no-create-home", "--home-dir", "/nonexistent"]
        must(run, ["useradd", *numbers, *settings, *homeless, user.name])
        return True
    if number != user.uid:
        raise Refused(f"{user.name} is a system user; choose another name")
    must(run, ["usermod", *settings, user.name])
    return False


def ensure(config: Config, run: Runner) -> list[str]:
    """Create all users and groups that are missing; return the names of the users, who have no password yet."""
    for group in config.groups:
        ensure_group(group, run)
    return [user.name for user in config.users if ensure_user(user, run)]


def render(config: Config, run: Runner) -> list[User]:
    """Create missing accounts and set the SMB lockout, at every boot; return new users, who have no password yet."""
    made = ensure(config, run)
    _enforce_smb_lockout(run)
    return [user for user in config.users if user.name in made]


def _enforce_smb_lockout(run: Runner) -> None:
    """Lock an SMB account for 15 minutes after 10 wrong passwords; in a domain, the domain's own policy holds."""
    for policy, value in SMB_LOCKOUT.items():
        # a boot drive that is full or read-only has them already
        if not run([*PDBEDIT, "-P", policy]).out.rstrip().endswith(f" value is: {value}"):
            must(run, [*PDBEDIT, "-P", policy, "-C", str(value)])


def remove_unwanted(old: Config, new: Config, run: Runner) -> None:
    """Remove the accounts that are not in the desired state; their files remain.

    Failed: some of them cannot be removed; all others are, and a user that stays is locked.
    """
    problems: list[str] = []
    unwanted = [partial(_expel, user.name, run) for user in old.users if new.user(user.name) is None]
    unwanted += [partial(remove_group, group.name, run) for group in old.groups if new.group(group.name) is None]
    for remove in unwanted:
        try:
            remove()
        except Failed as error:
            problems.append(str(error))
    if problems:
        raise Failed("; ".join(problems))


def _expel(name: str, run: Runner) -> None:
    """Remove a user, also one who is logged in: userdel refuses that one."""
    try:
        remove_user(name, run)
    except Failed:
        # locked first: nobody comes back between the end of the sessions and the removal
        run(["usermod", "--lock", "--expiredate", "1", name])
        run(["loginctl", "terminate-user", name])
        remove_user(name, run)


def remove_user(name: str, run: Runner) -> None:
    """Remove a user, and its own group with it."""
    run([*SMBPASSWD, "-x", name])
    if _number("passwd", name, run) is not None:
        must(run, ["userdel", name])
    remove_group(name, run)


def remove_group(name: str, run: Runner) -> None:
    """Remove a group if it is there."""
    if _number("group", name, run) is not None:
        must(run, ["groupdel", name])


def free_number(config: Config, run: Runner, name: str) -> int:
    """Return the next number that neither the desired state nor the system has given to another account."""
    number = config.next_id
    while any(_holder(database, number, run) not in (None, name) for database in ("passwd", "group")):
        number += 1
    return number


def set_password(name: str, password: str, run: Runner) -> None:
    """Set one password for login and SMB."""
    must(run, ["chpasswd"], f"{name}:{password}\n")
    set_smb_password(name, password, run)
    reload_direct(run)


def shadow_hashes(names: Sequence[str]) -> dict[str, str]:
    """Return the password hashes of the system; without users that have none. Refused: the caller is not root."""
    try:
        text = (paths.ROOT / "etc/shadow").read_text()
    except PermissionError as error:
        raise Refused("reading password hashes requires root; run this command with sudo") from error
    fields = [line.split(":") for line in text.splitlines()]
    return {one[0]: one[1] for one in fields if one[0] in names and one[1].startswith("$")}


def set_hashes(config: Config, shadow: dict[str, str], nt: dict[str, str], run: Runner) -> None:
    """Set passwords by their hashes, as another server had them: `shadow` for login and `nt` for SMB, by user name."""
    if shadow:
        must(run, ["chpasswd", "--encrypted"], "".join(f"{name}:{value}\n" for name, value in shadow.items()))
    if not nt:
        return
    numbers = {user.name: user.uid for user in config.users}
    lines = [f"{name}:{numbers[name]}:{'X' * 32}:{value}:[U          ]:LCT-00000001:\n" for name, value in nt.items()]
    with secret_file("".join(lines), "smbpasswd-") as path:
        must(run, [*PDBEDIT, "-i", f"smbpasswd:{path}"])
    for name in nt:
        never_expire(name, run)
    reload_direct(run)


def _number(database: str, name: str, run: Runner) -> int | None:
    fields = _entry(database, name, run)
    return int(fields[2]) if fields else None


def _holder(database: str, number: int, run: Runner) -> str | None:
    fields = _entry(database, str(number), run)
    return fields[0] if fields else None


def _entry(database: str, key: str, run: Runner) -> list[str] | None:
    result = run(["getent", database, key])
    if result.status == _NOT_THERE:
        return None
    if result.status != 0 or result.out.count(":") < 3:
        raise Failed(f"getent does not say whether there is {key} in {database}")
    return result.out.splitlines()[0].split(":")
