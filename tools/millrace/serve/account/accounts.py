# SPDX-License-Identifier: Apache-2.0
"""Accounts of this system: one number for NFS and SMB. Passwords go through standard input only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from millrace.serve.account import account_paths, second_factor
from millrace.serve.config.model import ADMIN, Config, Group, Person, User
from millrace.system import paths, roles
from millrace.system.account_files import AccountFiles, editing, running
from millrace.system.errors import Failed, Refused
from millrace.system.files import secret_file, write_text
from millrace.system.names import several
from millrace.system.run import Runner, must
from millrace.system.smb_passwords import (
    PDBEDIT,
    end_lockouts_of_other_times,
    never_expire,
    nt_hashes,
    reload_direct,
    remove_smb,
    set_smb_password,
)
from millrace.system.wait import wait_until

# The web console lets in users whose shell understands one question, and this one understands nothing else. Everybody
# else logs in nowhere.
CONSOLE_SHELL, NO_SHELL, SHELL = "/usr/lib/millrace/console-only", "/usr/sbin/nologin", "/bin/bash"
# Who has a shell has a home; pam_mkhomedir(8) makes it at the first sign-in (pam-configs/millrace-home).
HOMES = "/home"

# SMB accounts are locked as those of the system are (/etc/security/faillock.conf): attempts, then minutes; pdbedit(8).
SMB_LOCKOUT = {"bad lockout attempt": 10, "lockout duration": 15, "reset count minutes": 15}

_NOT_THERE = 2  # exit status of getent
# So many in one call of getent: its command line has a limit.
AT_ONCE = 5000
# Seconds that a user's sessions have to end.
PAUSES = (0.2,) * 10 + (1.0,) * 8


@dataclass(frozen=True)
class Made:
    """Names of the accounts that were missing, in the order of the desired state."""

    users: dict[str, None] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)


def ensure(users: Sequence[User], groups: Sequence[Group], run: Runner, admin: Person | None = None) -> Made:
    """Make these accounts what they should be, all in one change of the files: nothing is written where none differs.

    A user has a group of the same name and number; where one signs in follows from the role. `admin` is what the
    administrator of the first boot should be. A new account has no password. Refused: the system has another account of
    a name, or another program changes accounts now; none is changed then. Failed: another account has a number.
    """
    every = [*groups, *(Group(name=user.name, gid=user.uid) for user in users)]
    write_keys({user.name: user for user in users if user.role} | ({ADMIN: admin} if admin else {}))
    due = _ensured(AccountFiles(), users, every, admin)
    if due is None:
        return Made()
    _refuse_held("passwd", {user.name: user.uid for user in users if user.name in due.users}, run)
    _refuse_held("group", {group.name: group.gid for group in every if group.name in due.groups}, run)
    with editing() as files:
        made = _ensured(files, users, every, admin) or Made()
    return Made(made.users, {group.name: None for group in groups if group.name in made.groups})


def render(config: Config, run: Runner) -> list[User]:
    """Create missing accounts and set the SMB lockout, at every boot; return new users, who have no password yet.

    Lockouts that began when the clock was ahead end.
    """
    made = ensure(config.users, config.groups, run, config.admin).users
    _enforce_smb_lockout(run)
    end_lockouts_of_other_times([ADMIN, *(user.name for user in config.users)])
    return [user for user in config.users if user.name in made]


def _enforce_smb_lockout(run: Runner) -> None:
    """Lock an SMB account for 15 minutes after 10 wrong passwords; in a domain, the domain's own policy holds."""
    for policy, value in SMB_LOCKOUT.items():
        # a boot drive that is full or read-only has them already
        if not run([*PDBEDIT, "-P", policy]).out.rstrip().endswith(f" value is: {value}"):
            must(run, [*PDBEDIT, "-P", policy, "-C", str(value)])


def remove_unwanted(old: Config, new: Config, run: Runner) -> None:
    """Remove the accounts that are not in the desired state; their files remain. Failed: as for `remove`."""
    users, groups = {user.name for user in new.users}, {group.name for group in new.groups}
    unwanted = [user.name for user in old.users if user.name not in users]
    remove(unwanted, [group.name for group in old.groups if group.name not in groups], run)


def remove(users: Sequence[str], groups: Sequence[str], run: Runner) -> None:
    """Remove users, their own groups with them, and groups, all in one change of the files; also who is logged in.

    Failed: programs of a user do not end; that user stays and is locked, all others are removed.
    """
    remove_smb(users, run)
    busy = _end_sessions(users, run)
    for name in users:
        (account_paths.ssh_keys_dir() / name).unlink(missing_ok=True)
        second_factor.remove(name)
    if users or groups:
        with editing() as files:
            files.remove_users(name for name in users if name not in busy)
            files.remove_groups(groups)
    if busy:
        raise Failed(f"{several(busy)} cannot be removed: programs of a locked user still run (ps -u {busy[0]})")


def _end_sessions(users: Sequence[str], run: Runner) -> list[str]:
    """End the sessions of users; return the names of those whose programs do not end, who are locked."""
    files = AccountFiles()
    numbers = {name: number for name in users if (number := files.uid(name)) is not None}

    def remaining() -> list[str]:
        alive = running(numbers.values()) if numbers else set()
        return [name for name, number in numbers.items() if number in alive]

    busy = remaining()
    if not busy:
        return []
    # locked first: nobody comes back between the end of the sessions and the removal
    with editing() as files:
        for name in busy:
            files.lock(name)
    for name in busy:
        run(["loginctl", "terminate-user", name])
    return wait_until(remaining, lambda names: not names, PAUSES)


def _ensured(files: AccountFiles, users: Sequence[User], groups: Sequence[Group], admin: Person | None) -> Made | None:
    """Make accounts in the files what they should be; return what was missing, None where nothing differed.

    Refused: the files have another account of a name.
    """
    for what, pairs, number_of in (
        ("user", [(user.name, user.uid) for user in users], files.uid),
        ("group", [(group.name, group.gid) for group in groups], files.gid),
    ):
        other = next((name for name, number in pairs if number_of(name) not in (None, number)), None)
        if other:
            raise Refused(f"{other} is a system {what}; choose another name")
    made = Made()
    for group in groups:
        if files.gid(group.name) is None:
            files.add_group(group.name, group.gid)
            made.groups[group.name] = None
    for user in users:
        if files.uid(user.name) is None:
            files.add_user(user.name, user.uid, NO_SHELL)
            made.users[user.name] = None
        files.complete(user.name)
        _set_person(files, user)
    if admin is not None and files.uid(ADMIN) is not None:
        files.set_groups(ADMIN, (files.groups(ADMIN) - {second_factor.GROUP}) | second_factor.groups(ADMIN))
        files.set_full_name(ADMIN, admin.full_name)
        _set_lock(files, ADMIN, admin)
    return made if files.changed() else None


def _set_person(files: AccountFiles, user: User) -> None:
    """Shell, home, groups and lock of a user, as its role has them."""
    if user.role is None:
        files.set_shell(user.name, NO_SHELL)
        files.set_groups(user.name, user.groups)
        return
    with_shell = user.role != "viewer"
    files.set_shell(user.name, SHELL if with_shell else CONSOLE_SHELL)
    files.set_home(user.name, f"{HOMES}/{user.name}" if with_shell else "")
    files.set_full_name(user.name, user.full_name)
    files.set_groups(user.name, {*user.groups, *roles.GROUPS[user.role], *second_factor.groups(user.name)})
    _set_lock(files, user.name, user)


def _set_lock(files: AccountFiles, name: str, person: Person) -> None:
    if person.locked:
        files.lock(name)
    else:
        files.unlock(name)


def write_keys(people: Mapping[str, Person]) -> None:
    """Write the SSH keys of people where sshd reads them, and remove the files of those who have none.

    Not in a home directory: there its user may put a link in the place of the file.
    """
    for name, person in people.items():
        path = account_paths.ssh_keys_dir() / name
        if person.keys:
            write_text(path, "".join(f"{key}\n" for key in person.keys))
        else:
            path.unlink(missing_ok=True)


def end_sessions(names: Sequence[str], run: Runner) -> None:
    """End the sessions of people who lost rights: what runs as root for them runs in these."""
    for name in names:
        run(["loginctl", "terminate-user", name])


def _refuse_held(database: str, numbers: Mapping[str, int], run: Runner) -> None:
    """Look for the names and numbers of new accounts among all that the system knows, wherever from.

    Refused: a name is taken. Failed: a number is taken, or nobody answers.
    """
    what = "user" if database == "passwd" else "group"
    names = list(numbers)
    for some in (names[first : first + AT_ONCE] for first in range(0, len(names), AT_ONCE)):
        result = run(["getent", database, *some, *(str(numbers[name]) for name in some)])
        lines = [line.split(":") for line in result.out.splitlines()]
        if result.status not in (0, _NOT_THERE) or any(len(line) < 3 for line in lines):
            raise Failed(f"getent does not say whether there is {some[0]} in {database}")
        for name, _, number, *_ in lines:
            if name in numbers:
                raise Refused(f"{name} is a system {what}; choose another name")
            raise Failed(f"the number {number} belongs to the {what} {name}, which Millrace did not create")


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
    wanted, fields = set(names), [line.split(":") for line in text.splitlines()]
    return {one[0]: one[1] for one in fields if one[0] in wanted and one[1].startswith("$")}


def can_sign_in(names: Sequence[str]) -> list[str]:
    """Return those of these accounts that a password or an SSH key opens."""
    files = AccountFiles()
    return [name for name in names if files.has_password(name) or (account_paths.ssh_keys_dir() / name).exists()]


def set_hashes(config: Config, shadow: Mapping[str, str], nt: Mapping[str, str], run: Runner) -> None:
    """Set passwords by their hashes, as another server had them: `shadow` for login and `nt` for SMB, by user name.

    Those that are set already stay as they are. Failed: a tool of the system or of Samba fails.
    """
    files = AccountFiles()
    changed = [f"{name}:{value}\n" for name, value in shadow.items() if files.password(name) != value]
    if changed:
        must(run, ["chpasswd", "--encrypted"], "".join(changed))
    if not nt:
        return
    known, numbers = nt_hashes(list(nt), run), {user.name: user.uid for user in config.users}
    lines = [
        f"{name}:{numbers[name]}:{'X' * 32}:{value}:[U          ]:LCT-00000001:\n"
        for name, value in nt.items()
        if known.get(name) != value
    ]
    if lines:
        with secret_file("".join(lines), "smbpasswd-") as path:
            must(run, [*PDBEDIT, "-i", f"smbpasswd:{path}"])
    never_expire(list(nt), run)
    reload_direct(run)


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
