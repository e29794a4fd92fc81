# SPDX-License-Identifier: Apache-2.0
"""What users and groups contribute to a change."""

from functools import partial

from millrace.serve.account import accounts, unfinished
from millrace.serve.config.model import LAST_ADMINISTRATOR, Config, Group, User
from millrace.serve.render.registry import Change, RenderPart
from millrace.system import nfsd
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.names import several
from millrace.system.roles import RANK
from millrace.system.run import Runner
from millrace.system.smb_passwords import reload_direct
from millrace.system.users import invoking_user


class AccountChange(RenderPart):
    """The accounts of a change, or with `every` all of its state; `made` are users that were missing.

    A new user has no password yet.
    """

    def __init__(self, run: Runner, every: bool = False) -> None:
        self.made: list[str] = []
        self._run = run
        self._every = every

    def prepare(self, change: Change) -> None:
        """Create or change groups and users.

        Refused: one cannot be created, nobody could sign in as an administrator any more, or the caller would take
        rights from itself, which ends this very change. Failed: one cannot be created.
        """
        old, new = change.old, change.new
        refuse(old, new)
        if left := unfinished.finish(old, self._run):
            change.warnings.append(f"an interrupted change had left {several(left)}, which is removed now")
        unfinished.begin(*_touched(old, new))
        # called last, when accounts are as they were
        change.on_failure(nfsd.forget_groups)
        users, groups = {user.name: user for user in old.users}, {group.name: group for group in old.groups}
        new_users = [user for user in new.users if self._every or user != users.get(user.name)]
        new_groups = [group for group in new.groups if self._every or group != groups.get(group.name)]
        before = [users[user.name] for user in new_users if user.name in users]
        change.on_failure(partial(accounts.ensure, before, [], self._run, old.admin))
        change.say(f"Comparing accounts (users: {len(new_users)}, groups: {len(new_groups)})")
        made = accounts.ensure(new_users, new_groups, self._run, new.admin)
        self.made = list(made.users)
        created = (
            [name for name in made.users if name not in users],
            [name for name in made.groups if name not in groups],
        )
        if any(created):
            change.on_failure(partial(self._remove, *created))

    def finish(self, change: Change) -> None:
        """Remove those that the new state does not have: a deleted password cannot be restored."""
        try:
            accounts.remove_unwanted(change.old, change.new, self._run)
            accounts.end_sessions(_with_less(change.old, change.new), self._run)
            if self._changes(change):
                reload_direct(self._run)
        finally:
            if self._changes(change):
                self._forget_groups(change)

    def _changes(self, change: Change) -> bool:
        return self._every or (change.old.users, change.old.groups) != (change.new.users, change.new.groups)

    def _forget_groups(self, change: Change) -> None:
        try:
            nfsd.forget_groups()
        except OSError as error:
            change.warnings.append(f"NFS keeps the old groups of users for up to half an hour: {error.strerror}")

    def _remove(self, users: list[str], groups: list[str]) -> None:
        try:
            accounts.remove(users, groups, self._run)
        except MillraceError as error:
            raise Failed(f"accounts were created and could not be removed: {error}") from error


def _touched(old: Config, new: Config) -> tuple[list[User], list[Group]]:
    """Users and groups that only one of two states has."""
    users, groups = ({each.name for each in old.users}, {each.name for each in old.groups})
    kept_users, kept_groups = ({each.name for each in new.users}, {each.name for each in new.groups})
    return (
        [user for user in (*old.users, *new.users) if (user.name in users) != (user.name in kept_users)],
        [group for group in (*old.groups, *new.groups) if (group.name in groups) != (group.name in kept_groups)],
    )


def _with_less(old: Config, new: Config) -> list[str]:
    """The people who are still there and have fewer rights than before, or none."""
    lost = []
    for name, (person, role) in old.people.items():
        after = new.people.get(name)
        user = new.user(name)
        if after is None:
            # a user of shares now; who was removed has no sessions any more
            lost += [name] if user is not None else []
        elif RANK[after[1]] < RANK[role] or (after[0].locked and not person.locked):
            lost.append(name)
    return lost


def refuse(old: Config, new: Config) -> None:
    """Verify what a change does to people. Refused: it takes rights from who makes it, or locks administrators out."""
    if old.people != new.people:
        _refuse_own(old, new)
        if set(old.administrators) - set(new.administrators):
            _refuse_locked_out(new)


def _refuse_own(old: Config, new: Config) -> None:
    me = invoking_user()
    if me in _with_less(old, new) or (me in old.people and me not in new.people):
        raise Refused(f"this takes rights from {me}, who runs it: have another administrator do it")


def _refuse_locked_out(new: Config) -> None:
    if not accounts.can_sign_in(new.administrators):
        raise Refused(LAST_ADMINISTRATOR)


class PasswordChange(RenderPart):
    """The one password of a user that the change makes."""

    def __init__(self, name: str, password: str, run: Runner) -> None:
        self._name = name
        self._password = password
        self._run = run

    def prepare(self, change: Change) -> None:
        """Set it. Failed: the system or Samba refuses it; it is removed with the user where the change fails."""
        accounts.set_password(self._name, self._password, self._run)
