# SPDX-License-Identifier: Apache-2.0
"""`millrace domain …`."""

from typing import TYPE_CHECKING

import click

from millrace.system.ask import secret
from millrace.system.run import attempt

if TYPE_CHECKING:
    from millrace.membership.model import MembershipChange

_json = click.option("--json", "as_json", is_flag=True, help="One JSON document.")
_stdin = click.option("--password-stdin", is_flag=True, help="Read the password from standard input, one line.")


@click.group()
def domain() -> None:
    """Active Directory: its users over SMB, its tickets over NFS."""


@domain.command()
@click.argument("realm")
@click.argument("account")
@click.option("--dns", multiple=True, metavar="ADDRESS", help="A DNS server of the domain; repeat it.")
@click.option("--ou", "unit", metavar="UNIT", help="Where the account of this server goes: Servers/Storage.")
@_stdin
@_json
def join(realm: str, account: str, dns: tuple[str, ...], unit: str | None, password_stdin: bool, as_json: bool) -> None:
    """Join the domain REALM with ACCOUNT, which may do so; its password is never taken from the command line."""
    from millrace.domain.join import Request
    from millrace.domain.join import join as join_domain

    _report(join_domain(Request(realm, account, _password(account, password_stdin), dns, unit)), as_json)


@domain.command()
@click.argument("account", required=False)
@_stdin
@_json
def leave(account: str | None, password_stdin: bool, as_json: bool) -> None:
    """Leave the domain; with ACCOUNT its account of this server is deleted, too."""
    from millrace.domain.leave import leave as leave_domain

    _report(leave_domain(account, _password(account, password_stdin) if account else None), as_json)


@domain.command()
@_json
def show(as_json: bool) -> None:
    """The membership: controller, trust, clock, keys, ranges of numbers."""
    from millrace.domain.show import lines
    from millrace.domain.show import show as look
    from millrace.state.store import load

    found = look(load().domain, attempt)
    click.echo(found.model_dump_json(indent=2) if as_json else "\n".join(lines(found)))


def _password(account: str, from_stdin: bool) -> str:
    return secret(f"Password of {account}", from_stdin, "--password-stdin")


def _report(report: "MembershipChange", as_json: bool) -> None:
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    for line in report.verified:
        click.echo(line)
    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)
