# SPDX-License-Identifier: Apache-2.0
"""Create, change and remove local users and groups."""

from collections.abc import Mapping, Sequence
from typing import Literal

from millrace.serve.account import accounts
from millrace.serve.account.account_change import AccountChange, PasswordChange
from millrace.serve.account.password import strong_password
from millrace.serve.config import store
from millrace.serve.config.model import ADMIN, Config, Group, User
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.share import directories
from millrace.system.command import command
from millrace.system.documents import Contract, checked
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.names import account_name
from millrace.system.roles import Role
from millrace.system.run import Runner
from millrace.system.users import invoking_user, only_root


class UserList(Contract):
    """The users that shares can name; `admin` is made at first boot and always there."""

    schema_version: Literal[1] = 1
    users: list[User]


class GroupList(Contract):
    """The groups that shares and users can name."""

    schema_version: Literal[1] = 1
    groups: list[Group]


class AccountReport(Contract):
    """The result of a change of a user or a group, in a sentence; `user` or `group` is what exists afterwards."""

    schema_version: Literal[1] = 1
    user: User | None = None
    group: Group | None = None
    done: str


def create_user(
    name: str,
    groups: Sequence[str],
    password: str,
    run: Runner,
    role: Role | None = None,
    full_name: str = "",
    keys: Sequence[str] = (),
) -> User:
    """Create a user with one password for login and SMB; nothing remains where that fails.

    With a role it manages this server and opens no share. BadInput: the name or the password is not valid, or the name
    is taken. Refused: the caller is not root.
    """
    only_root()

    def mutate(config: Config) -> Config:
        values = {"groups": list(groups), "role": role, "full_name": full_name, "keys": list(keys)}
        _refuse_taken(config, name)
        strong_password(name, password, run)
        return with_user(config, name, values, run)

    made = Reconciliation([AccountChange(run), PasswordChange(name, password, run)])
    what = f"user create {name}" if role is None else f"access create {name}, {role}"
    config = store.change(invoking_user(), what, mutate, made)
    make_homes(config)
    return _existing_user(config, name)


def set_user(name: str, groups: Sequence[str], run: Runner) -> User:
    """Set all groups of a user. Refused: there is no such user of shares."""
    only_root()

    def mutate(config: Config) -> Config:
        before = _share_user(config, name)
        user = checked(lambda: User.model_validate(before.model_dump() | {"groups": list(groups)}))
        return config.model_copy(update={"users": [user if one.name == name else one for one in config.users]})

    what = f"user set {name}: groups {', '.join(groups) or 'none'}"
    config = store.change(invoking_user(), what, mutate, Reconciliation([AccountChange(run)]))
    make_homes(config)
    return _existing_user(config, name)


def change_password(name: str, password: str, run: Runner) -> None:
    """Set the password for login and SMB, also that of the administrator.

    BadInput: the password is too weak. Refused: there is no such user.
    """
    only_root()
    if name != ADMIN:
        _existing_user(store.load(), name)
    accounts.set_password(name, strong_password(name, password, run), run)


def remove_user(name: str, run: Runner) -> None:
    """Remove a user; its files remain. Refused: there is no such user of shares, or a share names it."""
    only_root()

    def mutate(config: Config) -> Config:
        _share_user(config, name)
        holder = next((one.name for one in config.shares if name in one.smb.users), None)
        if holder:
            raise Refused(
                f"the share {holder} names {name}: remove it there first ({command('millrace share set', holder)})"
            )
        return config.model_copy(update={"users": [one for one in config.users if one.name != name]})

    store.change(invoking_user(), f"user remove {name}", mutate, Reconciliation([AccountChange(run)]))


def create_group(name: str, run: Runner) -> Group:
    """Create a group. BadInput: the name is not valid or taken. Refused: the caller is not root."""
    only_root()

    def mutate(config: Config) -> Config:
        return with_group(config, name, run)

    return _existing_group(
        store.change(invoking_user(), f"group create {name}", mutate, Reconciliation([AccountChange(run)])), name
    )


def remove_group(name: str, run: Runner) -> None:
    """Remove a group. Refused: there is no such group, or a share or a user names it."""
    only_root()

    def mutate(config: Config) -> Config:
        _existing_group(config, name)
        share = next((one.name for one in config.shares if name in one.named_groups), None)
        user = next((one.name for one in config.users if name in one.groups), None)
        if share or user:
            holder = f"the share {share}" if share else f"the user {user}"
            raise Refused(f"{holder} names the group {name}: remove it there first")
        return config.model_copy(update={"groups": [one for one in config.groups if one.name != name]})

    store.change(invoking_user(), f"group remove {name}", mutate, Reconciliation([AccountChange(run)]))


def with_user(config: Config, name: str, values: Mapping[str, object], run: Runner) -> Config:
    """Return a state with one more user, who has the next free number.

    BadInput: the name is taken, or it or another value is not valid.
    """
    _refuse_taken(config, name)
    number = accounts.free_number(config, run, name)
    user = checked(lambda: User.model_validate({**values, "name": name, "uid": number}))
    return config.model_copy(update={"users": [*config.users, user], "next_id": number + 1})


def with_group(config: Config, name: str, run: Runner) -> Config:
    """Return a state with one more group, which has the next free number. BadInput: the name is not valid or taken."""
    _refuse_taken(config, name)
    number = accounts.free_number(config, run, name)
    group = checked(lambda: Group(name=name, gid=number))
    return config.model_copy(update={"groups": [*config.groups, group], "next_id": number + 1})


def _refuse_taken(config: Config, name: str) -> None:
    """Before anything is made: an account that exists must not be taken for one half made."""
    try:
        account_name(name)
    except ValueError as error:
        raise BadInput(str(error)) from error
    if name == ADMIN or config.user(name) or config.group(name):
        raise BadInput(f"user or group {name} already exists")


def _existing_user(config: Config, name: str) -> User:
    found = config.user(name)
    if found is None:
        raise Refused(f"user {name} does not exist: millrace user list")
    return found


def _share_user(config: Config, name: str) -> User:
    user = _existing_user(config, name)
    if user.role is not None:
        raise Refused(f"{name} manages this server as {user.role}: {command('millrace access list')}")
    return user


def _existing_group(config: Config, name: str) -> Group:
    found = config.group(name)
    if found is None:
        raise Refused(f"group {name} does not exist: millrace group list")
    return found


def make_homes(config: Config) -> None:
    """Create missing homes on existing shares where the pool is mounted; else the next rendering of the shares does."""
    if not any(share.type == "home" for share in config.shares):
        return
    from millrace.serve.share.server import this_server

    try:
        shares = this_server().shares(config)
    except MillraceError:
        return
    for share in shares:
        if share.type == "home":
            directories.create(share)
