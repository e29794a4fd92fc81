# SPDX-License-Identifier: Apache-2.0
"""`millrace access …`."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.command import command
from millrace.system.output import Output, prints
from millrace.system.printing import table
from millrace.system.prompt import confirm, secret
from millrace.system.run import attempt
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.lifecycle.access.model import (
        AccessList,
        ChangeLog,
        EnrolmentReport,
        RecoveryCodes,
        SignInList,
        SshReport,
        WhoReport,
    )

_ROLES = click.Choice(["administrator", "operator", "viewer"])
_role_help = "administrator: everything; operator: drives, checks and updates; viewer: sees all but secrets."
_full_name = click.option("--full-name", metavar="NAME", help="Name of the person, for lists.")
_person = prints("millrace.lifecycle.access.people:PersonReport")
_code = click.option("--code-stdin", is_flag=True, help="Read the code from standard input, one line.")


@click.group(cls=VerbGroup)
def access() -> None:
    """Manage the accounts that manage this server: roles, SSH keys, second factors, sessions."""


@access.command("list")
@prints("millrace.lifecycle.access.model:AccessList")
def list_(show: Output) -> None:
    """List the accounts with role, keys and second factor, and whether ssh is on."""
    from millrace.lifecycle.access.model import access_list

    show(access_list(attempt), _people)


@access.command()
@prints("millrace.lifecycle.access.model:WhoReport")
def who(show: Output) -> None:
    """Show the account and the role for which this command runs."""
    from millrace.lifecycle.access.model import who as report

    show(report(), _who)


@access.command()
@click.argument("name")
@click.option("--role", type=_ROLES, required=True, help=_role_help)
@_full_name
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input, one line.")
@click.option(
    "--key-stdin", is_flag=True, help="Read a public SSH key from standard input, the line after the password."
)
@_person
def create(name: str, role: str, full_name: str | None, password_stdin: bool, key_stdin: bool, show: Output) -> None:
    """Create an account that manages this server; the password is prompted for, never read from the command line."""
    from millrace.lifecycle.access import people
    from millrace.lifecycle.access.model import as_role

    password = secret("Password", password_stdin, "--password-stdin", confirm=True)
    key = sys.stdin.readline() if key_stdin else ""
    show(people.create(name, as_role(role), full_name or "", password, attempt, key), lambda report: [report.done])


@access.command("set")
@click.argument("name")
@click.option("--role", type=_ROLES, help=_role_help)
@_full_name
@_person
def set_(name: str, role: str | None, full_name: str | None, show: Output) -> None:
    """Change the role or the full name of an account; a lower role ends the sessions."""
    from millrace.lifecycle.access import people
    from millrace.lifecycle.access.model import as_role

    report = people.change(name, attempt, None if role is None else as_role(role), full_name)
    show(report, lambda report: [report.done])


@access.command()
@click.argument("name")
@_person
def lock(name: str, show: Output) -> None:
    """Let an account sign in by nothing, neither password nor key, and end the sessions."""
    from millrace.lifecycle.access import people

    show(people.lock(name, attempt), lambda report: [report.done])


@access.command()
@click.argument("name")
@_person
def unlock(name: str, show: Output) -> None:
    """Let a locked person sign in again, with the password and the keys of before."""
    from millrace.lifecycle.access import people

    show(people.lock(name, attempt, locked=False), lambda report: [report.done])


@access.command()
@click.argument("name")
@_person
def remove(name: str, show: Output) -> None:
    """Remove an account and end the sessions; files in the home directory stay."""
    from millrace.lifecycle.access import people

    show(people.remove(name, attempt), lambda report: [report.done])


@access.group(cls=VerbGroup)
def key() -> None:
    """Manage the SSH keys with which administrators sign in."""


@key.command("add")
@click.argument("name")
@_person
def add_key(name: str, show: Output) -> None:
    """Add a public SSH key, one line on standard input: millrace access key add NAME < id_ed25519.pub."""
    from millrace.lifecycle.access import people

    show(people.add_key(name, sys.stdin.readline(), attempt), lambda report: [report.done])


@key.command("remove")
@click.argument("name")
@click.argument("fingerprint")
@_person
def remove_key(name: str, fingerprint: str, show: Output) -> None:
    """Remove an SSH key by its fingerprint, as `access list` shows it."""
    from millrace.lifecycle.access import people

    show(people.remove_key(name, fingerprint, attempt), lambda report: [report.done])


@access.group("second-factor", cls=VerbGroup)
def second_factor() -> None:
    """Manage codes of authenticator apps (TOTP): your own, or as an administrator those of others."""


@second_factor.command()
@click.argument("name", required=False)
@prints("millrace.lifecycle.access.model:EnrolmentReport")
def enroll(name: str | None, show: Output) -> None:
    """Make a secret for an authenticator app; it counts only after `confirm` with a code of the app."""
    from millrace.lifecycle.access.codes import enroll as begin

    show(begin(name), _enrolment)


@second_factor.command("confirm")
@click.argument("name", required=False)
@_code
@prints("millrace.lifecycle.access.model:RecoveryCodes")
def confirm_(name: str | None, code_stdin: bool, show: Output) -> None:
    """Verify a code of the app, ask for codes from now on, and print the recovery codes once."""
    from millrace.lifecycle.access.codes import confirm as verify

    show(verify(name, secret("Code", code_stdin, "--code-stdin"), attempt), _recovery)


@second_factor.command("remove")
@click.argument("name", required=False)
@_code
@click.option("--yes", is_flag=True, help="Do not ask whether to remove the second factor of another person.")
@_person
def remove_second_factor(name: str | None, code_stdin: bool, yes: bool, show: Output) -> None:
    """Let an account sign in without a code: your own with a code of the app, as an administrator that of others."""
    from millrace.lifecycle.access.codes import is_own, remove

    code = None
    if is_own(name):
        code = secret("Code", code_stdin, "--code-stdin")
    elif not yes:
        confirm(f"Let {name} sign in without a code?", "--yes")
    show(remove(name, code, attempt), lambda report: [report.done])


@access.command()
@click.argument("state", type=click.Choice(["on", "off"]))
@prints("millrace.lifecycle.access.model:SshReport")
def ssh(state: str, show: Output) -> None:
    """Turn ssh on or off, now and at every boot; it takes keys only."""
    from millrace.lifecycle.access.model import SshReport
    from millrace.lifecycle.access.ssh_switch import is_on, switch

    switch(state == "on", attempt)
    show(SshReport(ssh=is_on(attempt)), _ssh)


@access.command()
@prints("millrace.lifecycle.access.model:SignInList")
def sessions(show: Output) -> None:
    """List sessions: web console, ssh and consoles."""
    from millrace.lifecycle.access.model import SignInList
    from millrace.lifecycle.access.sessions import sessions as found

    show(SignInList(sessions=found(attempt)), _sessions)


@access.command()
@click.argument("session")
@prints("millrace.lifecycle.access.model:SignInList")
def disconnect(session: str, show: Output) -> None:
    """End a session by its number."""
    from millrace.lifecycle.access.model import SignInList
    from millrace.lifecycle.access.sessions import disconnect as end
    from millrace.lifecycle.access.sessions import sessions as found

    end(session, attempt)
    show(SignInList(sessions=found(attempt)), _sessions)


@access.command()
@click.option("--name", help="Only what this account ran.")
@click.option("--most", type=click.IntRange(1, 10000), default=100, show_default=True, help="Number of entries.")
@prints("millrace.lifecycle.access.model:ChangeLog")
def log(name: str | None, most: int, show: Output) -> None:
    """List changing commands, newest first: time, account, page or command line, exit status."""
    from millrace.lifecycle.access.change_log import entries
    from millrace.lifecycle.access.model import ChangeLog
    from millrace.system.users import as_root

    with as_root():
        show(ChangeLog(changes=entries(most, name)), _changes)


def _people(listing: "AccessList") -> Iterator[str]:
    rows = [
        (
            person.name,
            person.full_name,
            person.role,
            "locked" if person.locked else "",
            {None: "unknown", True: "yes", False: "no"}[person.second_factor],
            len(person.keys),
        )
        for person in listing.people
    ]
    yield from table(("Name", "Full name", "Role", "State", "Second factor", "Keys"), rows, right=("Keys",))
    keys = [
        (person.name, "security key" if entry.security_key else entry.type, entry.fingerprint, entry.comment)
        for person in listing.people
        for entry in person.keys
    ]
    yield from table(("Key of", "Type", "Fingerprint", "Comment"), keys)
    yield f"ssh is {'on' if listing.ssh else 'off'}."


def _who(report: "WhoReport") -> Iterator[str]:
    yield f"{report.name}: {report.role or 'no role'}"


def _enrolment(report: "EnrolmentReport") -> Iterator[str]:
    yield f"Secret for the authenticator app: {report.secret}"
    yield f"As a link: {report.uri}"
    yield f"Then: {command('millrace access second-factor confirm', report.name)}"


def _recovery(report: "RecoveryCodes") -> Iterator[str]:
    yield f"{report.name} signs in with a code from now on. Each of these recovery codes replaces one code, once:"
    yield from (f"  {code}" for code in report.codes)
    yield "They are not shown again."


def _ssh(report: "SshReport") -> Iterator[str]:
    yield f"ssh is {'on' if report.ssh else 'off'}."


def _sessions(listing: "SignInList") -> Iterator[str]:
    rows = [(entry.id, entry.name, entry.where, entry.address, entry.since or "") for entry in listing.sessions]
    yield from table(("Session", "Name", "Where", "Address", "Since"), rows)
    if not listing.sessions:
        yield "No sessions."


def _changes(listing: "ChangeLog") -> Iterator[str]:
    words = {None: "not ended", 0: "done"}
    rows = [
        (entry.when, entry.name, entry.origin, words.get(entry.status, f"failed ({entry.status})"), entry.words)
        for entry in listing.changes
    ]
    yield from table(("Time", "Account", "By", "Result", "Command"), rows)
    if not listing.changes:
        yield "No changes yet."
