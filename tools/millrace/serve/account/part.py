# SPDX-License-Identifier: Apache-2.0
"""What users and groups contribute to a change."""

from functools import partial

from millrace.serve.account import accounts
from millrace.serve.config.model import User
from millrace.serve.render.registry import Change, RenderPart
from millrace.system import nfsd
from millrace.system.errors import Failed, MillraceError
from millrace.system.run import Runner
from millrace.system.smb_passwords import reload_direct


class AccountChange(RenderPart):
    """The accounts of a change, or with `every` all of its state; `made` are users that were missing.

    A new user has no password yet.
    """

    def __init__(self, run: Runner, every: bool = False) -> None:
        self.made: list[str] = []
        self._run = run
        self._every = every

    def prepare(self, change: Change) -> None:
        """Create or change groups and users. Refused, Failed: one cannot be created."""
        old, new = change.old, change.new
        # called last, when accounts are as they were
        change.on_failure(nfsd.forget_groups)
        for group in new.groups:
            before = old.group(group.name)
            if (self._every or group != before) and accounts.ensure_group(group, self._run) and before is None:
                change.on_failure(partial(accounts.remove_group, group.name, self._run))
        for user in new.users:
            if self._every or user != old.user(user.name):
                self._ensure(user, old.user(user.name), change)

    def finish(self, change: Change) -> None:
        """Remove those that the new state does not have: a deleted password cannot be restored."""
        try:
            accounts.remove_unwanted(change.old, change.new, self._run)
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

    def _ensure(self, user: User, before: User | None, change: Change) -> None:
        if before is not None:
            change.on_failure(partial(accounts.ensure_user, before, self._run))
        if accounts.ensure_user(user, self._run):
            self.made.append(user.name)
            if before is None:
                change.on_failure(partial(self._remove, user.name))

    def _remove(self, name: str) -> None:
        try:
            accounts.remove_user(name, self._run)
        except MillraceError as error:
            raise Failed(f"the user {name} was created and could not be removed: {error}") from error


class PasswordChange(RenderPart):
    """The one password of a user that the change makes."""

    def __init__(self, name: str, password: str, run: Runner) -> None:
        self._name = name
        self._password = password
        self._run = run

    def prepare(self, change: Change) -> None:
        """Set it. Failed: the system or Samba refuses it; it is removed with the user where the change fails."""
        accounts.set_password(self._name, self._password, self._run)
