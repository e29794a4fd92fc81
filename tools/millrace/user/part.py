# SPDX-License-Identifier: Apache-2.0
"""What users and groups contribute to a change."""

from functools import partial

from millrace.errors import Failed, MillraceError
from millrace.etc.registry import Change, Part
from millrace.system.run import Runner
from millrace.user import accounts


class Accounts(Part):
    """The accounts of a state; afterwards `made` are the users that were not there, who have no password yet."""

    def __init__(self, run: Runner) -> None:
        self.made: list[str] = []
        self._run = run

    def prepare(self, change: Change) -> None:
        """Make users and groups that are not there; Refused or Failed where that cannot be."""
        self.made += accounts.ensure(change.new, self._run)
        for name in self.made:
            if change.old.user(name) is None:
                change.on_failure(partial(self._remove, name))

    def finish(self, change: Change) -> None:
        """Remove those that the new state does not have: a password that is gone cannot be undone."""
        accounts.remove_unwanted(change.old, change.new, self._run)

    def _remove(self, name: str) -> None:
        try:
            accounts.remove_user(name, self._run)
        except MillraceError as error:
            raise Failed(f"the user {name} was created and could not be removed: {error}") from error


class NewUser(Part):
    """One user that a change makes, with its password."""

    def __init__(self, name: str, password: str, run: Runner) -> None:
        self._name = name
        self._password = password
        self._run = run

    def prepare(self, change: Change) -> None:
        """Make the account; Refused where the system has another of its name, Failed where the password is not set."""
        user = change.new.user(self._name)
        assert user is not None
        if accounts.ensure_user(user, self._run):
            change.on_failure(lambda: accounts.remove_user(self._name, self._run))
        accounts.set_password(self._name, self._password, self._run)
