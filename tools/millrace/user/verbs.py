# SPDX-License-Identifier: Apache-2.0
"""`millrace user …` and `millrace group …`."""

import sys
from typing import TYPE_CHECKING

import click

from millrace.system.ask import secret
from millrace.system.run import attempt

if TYPE_CHECKING:
    from millrace.state.model import Group, User

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_stdin = click.option("--password-stdin", is_flag=True, help="Read the password from standard input, one line.")
_groups = click.option("--group", "groups", multiple=True, help="Repeat it.")

_console = click.option(
    "--console/--no-console",
    default=None,
    help="Allow sign-in to the web console, read-only, without a shell and without shares.",
)


@click.group()
def user() -> None:
    """Manage users: one user ID for NFS and SMB, one password."""


@user.command("list")
@_json
def list_users(as_json: bool) -> None:
    """List users."""
    from millrace.state.store import load
    from millrace.user.edit import UserList

    found = UserList(users=load().users)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    for one in found.users:
        click.echo(f"{one.name:<32} {one.uid}  {', '.join(one.groups)}")
    if not found.users:
        click.echo("No users besides admin.")


@user.command("create")
@click.argument("name")
@_groups
@_console
@_stdin
@_json
def create_user(name: str, groups: tuple[str, ...], console: bool | None, password_stdin: bool, as_json: bool) -> None:
    """Create a user; the password is prompted for, never read from the command line."""
    from millrace.user.edit import create_user as create

    made = create(name, groups, _password(password_stdin), attempt, bool(console))
    _report(f"Created user {made.name} with UID {made.uid}.", as_json, user=made)


@user.command("set")
@click.argument("name")
@_groups
@_console
@_json
def set_user(name: str, groups: tuple[str, ...], console: bool | None, as_json: bool) -> None:
    """Set the groups of a user, replacing all others, and the access to the web console."""
    from millrace.user.edit import set_user as change

    changed = change(name, groups, attempt, console)
    _report(f"{name}: {', '.join(changed.groups) or 'no group'}", as_json, user=changed)


@user.command()
@click.argument("name")
@_stdin
@_json
def passwd(name: str, password_stdin: bool, as_json: bool) -> None:
    """Set a new password for login and SMB."""
    from millrace.user.edit import change_password

    change_password(name, _password(password_stdin), attempt)
    _report(f"The password of {name} has been changed.", as_json)


@user.command("remove")
@click.argument("name")
@_json
def remove_user(name: str, as_json: bool) -> None:
    """Remove a user; files of the user stay."""
    from millrace.user.edit import remove_user as remove

    remove(name, attempt)
    _report(f"{name} has been removed.", as_json)


@user.command("render")
@_json
def render_users(as_json: bool) -> None:
    """Create missing accounts of the desired state."""
    from millrace.state.store import load, only_writer
    from millrace.user.edit import UserList
    from millrace.user.render import render

    with only_writer():
        made = render(load(), attempt)
    if as_json:
        click.echo(UserList(users=made).model_dump_json(indent=2))
        return
    for one in made:
        click.echo(f"Created {one.name} without a password: millrace user passwd {one.name}")


@user.command("sync-smb", hidden=True)
def sync_smb() -> None:
    """Store a new password from standard input (called by PAM)."""
    from millrace.user.sync import sync

    sync(sys.stdin.buffer, attempt)


@click.group()
def group() -> None:
    """Manage groups of users."""


@group.command("list")
@_json
def list_groups(as_json: bool) -> None:
    """List groups."""
    from millrace.state.store import load
    from millrace.user.edit import GroupList

    found = GroupList(groups=load().groups)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    for one in found.groups:
        click.echo(f"{one.name:<32} {one.gid}")
    if not found.groups:
        click.echo("No groups yet.")


@group.command("create")
@click.argument("name")
@_json
def create_group(name: str, as_json: bool) -> None:
    """Create a group."""
    from millrace.user.edit import create_group as create

    made = create(name, attempt)
    _report(f"Created group {made.name} with GID {made.gid}.", as_json, group=made)


@group.command("remove")
@click.argument("name")
@_json
def remove_group(name: str, as_json: bool) -> None:
    """Remove a group; files of the group stay."""
    from millrace.user.edit import remove_group as remove

    remove(name, attempt)
    _report(f"{name} has been removed.", as_json)


def _report(done: str, as_json: bool, user: "User | None" = None, group: "Group | None" = None) -> None:
    from millrace.user.edit import AccountReport

    click.echo(AccountReport(user=user, group=group, done=done).model_dump_json(indent=2) if as_json else done)


def _password(from_stdin: bool) -> str:
    return secret("Password", from_stdin, "--password-stdin", confirm=True)
