# SPDX-License-Identifier: Apache-2.0
"""`millrace config …`."""

from pathlib import Path
from typing import Literal

import click

from millrace.system.documents import Contract
from millrace.system.run import attempt

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_file = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


class HistoryEntry(Contract):
    """One change, without the state after it."""

    number: int
    who: str
    when: str
    what: str


class History(Contract):
    """The changes that are kept, newest first."""

    schema_version: Literal[1] = 1
    changes: list[HistoryEntry]


@click.group()
def config() -> None:
    """Show, export, import or roll back the desired state of shares, users and groups."""


@config.command()
@_json
def show(as_json: bool) -> None:
    """Print the desired state, always as one JSON document."""
    from millrace.state.store import load

    click.echo(load().model_dump_json(indent=2))


@config.command("history")
@_json
def history_(as_json: bool) -> None:
    """List recent changes: number, time, user, command."""
    from millrace.state import history, store

    kept = history.changes(store.look().config.serial)
    found = History(
        changes=[HistoryEntry(number=one.number, who=one.who, when=one.when, what=one.what) for one in kept]
    )
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    for one in found.changes:
        click.echo(f"{one.number:>5}  {one.when}  {one.who:<12} {one.what}")
    if not found.changes:
        click.echo("No changes yet.")


@config.command()
@_json
def diff(as_json: bool) -> None:
    """Compare rendered files with the desired state: what would change, what was edited by hand.

    Writes nothing. Files of shares are rendered by millrace share render (--force replaces edited files, copies are
    kept), those of ports by millrace port set, forwarding of the journal by millrace journal apply.
    """
    from millrace.config.diff import diff as compare
    from millrace.config.diff import lines

    found = compare(attempt)
    click.echo(found.model_dump_json(indent=2) if as_json else "\n".join(lines(found)))


@config.command()
@click.argument("number", type=click.IntRange(min=1))
@_json
def rollback(number: int, as_json: bool) -> None:
    """Roll back to the state after change NUMBER."""
    from millrace.config import replace

    _report(replace.rollback(number, attempt), as_json)


@config.command()
@_file
def export(file: Path) -> None:
    """Write the desired state to FILE, with password hashes; protect the file like /etc/shadow."""
    from millrace.config import portable
    from millrace.state import store
    from millrace.system.users import only_root

    only_root()
    made = portable.export(store.load(), file, attempt)
    counts = f"{len(made.config.shares)} shares, {len(made.config.users)} users, {len(made.config.groups)} groups"
    click.echo(f"{file}: {counts}.")


@config.command("import")
@_file
@_json
def import_(file: Path, as_json: bool) -> None:
    """Replace the desired state with an exported one."""
    from millrace.config import portable, replace

    _report(replace.take_over(portable.read(file), attempt), as_json)


def _report(report: object, as_json: bool) -> None:
    from millrace.config.replace import ReplaceReport

    assert isinstance(report, ReplaceReport)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    for line in report.verified:
        click.echo(line)
    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)
    for name in report.without_password:
        click.echo(f"{name} has no password yet: millrace user passwd {name}")
