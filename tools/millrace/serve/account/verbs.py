# SPDX-License-Identifier: Apache-2.0
"""`millrace user …` and `millrace group …`."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.serve.config.completion import GROUPS, USERS
from millrace.system.command import command
from millrace.system.output import Output, prints
from millrace.system.printing import table
from millrace.system.prompt import secret
from millrace.system.run import attempt
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.serve.account.edit import GroupList, UserList
    from millrace.serve.config.model import Group, User

_stdin = click.option("--password-stdin", is_flag=True, help="Read the password from standard input, one line.")
_account = prints("millrace.serve.account.edit:AccountReport")
_groups = click.option(
    "--group", "groups", multiple=True, metavar="GROUP", shell_complete=GROUPS, help="Group of the user; repeatable."
)


@click.group(cls=VerbGroup)
def user() -> None:
    """Manage users: one user ID for NFS and SMB, one password."""


@user.command("list")
@prints("millrace.serve.account.edit:UserList")
def list_users(show: Output) -> None:
    """List users of shares; who manages this server is in `millrace access list`."""
    from millrace.serve.account.edit import UserList
    from millrace.serve.config.store import load

    show(UserList(users=[user for user in load().users if user.role is None]), _users)


@user.command("create")
@click.argument("name")
@_groups
@_stdin
@_account
def create_user(name: str, groups: tuple[str, ...], password_stdin: bool, show: Output) -> None:
    """Create a user; the password is prompted for, never read from the command line."""
    from millrace.serve.account.edit import create_user as create

    made = create(name, groups, _password(password_stdin), attempt)
    _report(f"Created user {made.name} with UID {made.uid}.", show, user=made)


@user.command("set")
@click.argument("name", shell_complete=USERS)
@_groups
@_account
def set_user(name: str, groups: tuple[str, ...], show: Output) -> None:
    """Set the groups of a user, replacing all others."""
    from millrace.serve.account.edit import set_user as change

    changed = change(name, groups, attempt)
    _report(f"{name}: {', '.join(changed.groups) or 'no group'}", show, user=changed)


@user.command()
@click.argument("name", shell_complete=USERS)
@_stdin
@_account
def passwd(name: str, password_stdin: bool, show: Output) -> None:
    """Set a new password for login and SMB."""
    from millrace.serve.account.edit import change_password

    change_password(name, _password(password_stdin), attempt)
    _report(f"The password of {name} has been changed.", show)


@user.command("remove")
@click.argument("name", shell_complete=USERS)
@_account
def remove_user(name: str, show: Output) -> None:
    """Remove a user; files of the user stay."""
    from millrace.serve.account.edit import remove_user as remove

    remove(name, attempt)
    _report(f"{name} has been removed.", show)


@user.command("render")
@prints("millrace.serve.account.edit:UserList")
def render_users(show: Output) -> None:
    """Create missing accounts of the desired state."""
    from millrace.serve.account import unfinished
    from millrace.serve.account.accounts import render
    from millrace.serve.account.edit import UserList
    from millrace.serve.config.store import config_lock, load

    with config_lock():
        config = load()
        made = render(config, attempt)
        unfinished.finish(config, attempt)
    show(UserList(users=made), _rendered)


@user.command("sync-smb", hidden=True)
def sync_smb() -> None:
    """Store a new password from standard input (called by PAM)."""
    from millrace.serve.account.sync import sync

    sync(sys.stdin.buffer, attempt)


@click.group(cls=VerbGroup)
def group() -> None:
    """Manage groups of users."""


@group.command("list")
@prints("millrace.serve.account.edit:GroupList")
def list_groups(show: Output) -> None:
    """List groups."""
    from millrace.serve.account.edit import GroupList
    from millrace.serve.config.store import load

    show(GroupList(groups=load().groups), _group_rows)


@group.command("create")
@click.argument("name")
@_account
def create_group(name: str, show: Output) -> None:
    """Create a group."""
    from millrace.serve.account.edit import create_group as create

    made = create(name, attempt)
    _report(f"Created group {made.name} with GID {made.gid}.", show, group=made)


@group.command("remove")
@click.argument("name", shell_complete=GROUPS)
@_account
def remove_group(name: str, show: Output) -> None:
    """Remove a group; files of the group stay."""
    from millrace.serve.account.edit import remove_group as remove

    remove(name, attempt)
    _report(f"{name} has been removed.", show)


def _users(found: "UserList") -> Iterator[str]:
    from millrace.serve.config.model import ADMIN

    rows = [(ADMIN, None, "administrator"), *((one.name, one.uid, ", ".join(one.groups)) for one in found.users)]
    return table(("User", "UID", "Groups"), rows, right=("UID",))


def _rendered(made: "UserList") -> Iterator[str]:
    for one in made.users:
        yield f"Created {one.name} without a password: {command('millrace user passwd', one.name)}"


def _group_rows(found: "GroupList") -> Iterator[str]:
    yield from table(("Group", "GID"), [(one.name, one.gid) for one in found.groups], right=("GID",))
    if not found.groups:
        yield "No groups yet."


def _report(done: str, show: Output, user: "User | None" = None, group: "Group | None" = None) -> None:
    from millrace.serve.account.edit import AccountReport

    show(AccountReport(user=user, group=group, done=done), lambda report: [report.done])


def _password(from_stdin: bool) -> str:
    return secret("Password", from_stdin, "--password-stdin", confirm=True)
