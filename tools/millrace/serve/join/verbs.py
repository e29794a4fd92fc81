# SPDX-License-Identifier: Apache-2.0
"""`millrace domain …`."""

from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.prompt import secret
from millrace.system.run import attempt
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.serve.domain.model import MembershipChange

_change = prints("millrace.serve.domain.model:MembershipChange")
_stdin = click.option("--password-stdin", is_flag=True, help="Read the password from standard input, one line.")


@click.group(cls=VerbGroup)
def domain() -> None:
    """Join, leave or show an Active Directory domain (SMB users, Kerberos for NFS)."""


@domain.command()
@click.argument("realm")
@click.argument("account")
@click.option("--dns", multiple=True, metavar="ADDRESS", help="DNS server of the domain; repeatable.")
@click.option(
    "--ou", "unit", metavar="UNIT", help="Organisational unit of the machine account, for example Servers/Storage."
)
@_stdin
@_change
def join(realm: str, account: str, dns: tuple[str, ...], unit: str | None, password_stdin: bool, show: Output) -> None:
    """Join the domain REALM with ACCOUNT; the password is prompted for, never read from the command line."""
    from millrace.serve.join.join import JoinRequest
    from millrace.serve.join.join import join as join_domain

    _report(join_domain(JoinRequest(realm, account, _password(account, password_stdin), dns, unit)), show)


@domain.command()
@click.argument("account", required=False)
@_stdin
@_change
def leave(account: str | None, password_stdin: bool, show: Output) -> None:
    """Leave the domain; with ACCOUNT, also delete the machine account."""
    from millrace.serve.join.leave import leave as leave_domain

    _report(leave_domain(account, _password(account, password_stdin) if account else None), show)


@domain.command()
@prints("millrace.serve.domain.model:DomainReport")
def show(show: Output) -> None:
    """Show the membership: controller, trust, clock, keys and ID ranges."""
    from millrace.serve.config.store import load
    from millrace.serve.join.join_status import lines
    from millrace.serve.join.join_status import show as read_status

    show(read_status(load().domain, attempt), lines)


def _password(account: str, from_stdin: bool) -> str:
    return secret(f"Password of {account}", from_stdin, "--password-stdin")


def _report(report: "MembershipChange", show: Output) -> None:
    show(report, lambda done: done.verified, report.warnings)
