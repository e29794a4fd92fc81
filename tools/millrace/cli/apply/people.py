# SPDX-License-Identifier: Apache-2.0
"""Groups, users and the accounts that manage this server, as the file wants them."""

from collections.abc import Mapping
from typing import Any

from millrace.cli.apply.model import AccessEntry, UserEntry
from millrace.cli.apply.reading import Reading
from millrace.lifecycle.access.people import valid_key
from millrace.serve.account import edit
from millrace.serve.config.model import ADMIN, Config, User
from millrace.system.documents import checked
from millrace.system.errors import BadInput, MillraceError
from millrace.system.run import Runner


def with_accounts(config: Config, reading: Reading, prune: bool, run: Runner) -> Config:
    """Return a state with the accounts of the file; what is wrong (BadInput) is noted in the reading."""
    document = reading.document
    for name in document.groups or {}:
        if config.group(name) is None:
            config = _noted(config, reading, ("groups", name), lambda now, name=name: edit.with_group(now, name, run))
    for name, user in (document.users or {}).items():
        place = ("users", name)
        config = _noted(config, reading, place, lambda now, name=name, user=user: _user(now, name, user, run))
    for name, person in (document.access or {}).items():
        place = ("access", name)
        config = _noted(config, reading, place, lambda now, name=name, person=person: _person(now, name, person, run))
    return _pruned(config, reading) if prune else config


def _user(config: Config, name: str, entry: UserEntry, run: Runner) -> Config:
    if entry.password_file and (entry.password_hash or entry.smb_hash):
        raise BadInput("password_file and a hash exclude each other: leave one out")
    if bool(entry.password_hash) != bool(entry.smb_hash):
        raise BadInput("password_hash and smb_hash go together: it is one password for login and SMB")
    before = config.user(name)
    if name == ADMIN or (before is not None and before.role is not None):
        raise BadInput(f"{name} manages this server: it belongs into [access.{name}]")
    if before is None:
        return edit.with_user(config, name, {"groups": entry.groups or []}, run)
    return _changed(config, before, {} if entry.groups is None else {"groups": entry.groups})


def _person(config: Config, name: str, entry: AccessEntry, run: Runner) -> Config:
    given = entry.model_dump(include={"role", "full_name", "keys", "locked"}, exclude_none=True)
    if name == ADMIN:
        if given.pop("role", "administrator") != "administrator":
            raise BadInput(f"{ADMIN} is the account for an emergency at the console and stays an administrator")
        person = checked(lambda: type(config.admin).model_validate(config.admin.model_dump() | given))
        return config.model_copy(update={"admin": person})
    before = config.user(name)
    role = entry.role or (before.role if before else None)
    if role is None:
        what = "is a user of shares: it belongs into [users]" if before else "needs a role"
        raise BadInput(f"{name} {what}; allowed are administrator, operator, viewer")
    if before is not None and before.role is None:
        raise BadInput(f"{name} is a user of shares, who manages no server: choose another name")
    for key in entry.keys or ():
        valid_key(name, role, key)
    return _changed(config, before, given) if before else edit.with_user(config, name, given, run)


def _changed(config: Config, before: User, given: Mapping[str, Any]) -> Config:
    after = checked(lambda: User.model_validate(before.model_dump() | dict(given)))
    return config.model_copy(update={"users": [after if user == before else user for user in config.users]})


def _pruned(config: Config, reading: Reading) -> Config:
    document = reading.document
    users, access = document.users, document.access
    kept = [
        user for user in config.users if (named := users if user.role is None else access) is None or user.name in named
    ]
    groups = [group for group in config.groups if document.groups is None or group.name in document.groups]
    return config.model_copy(update={"users": kept, "groups": groups})


def _noted(config: Config, reading: Reading, place: tuple[str, str], change: Any) -> Config:
    """The state after a change of one account; the one before where it is refused, which is noted."""
    try:
        changed: Config = change(config)
    except MillraceError as error:
        reading.problem(place, str(error))
        return config
    return changed
