# SPDX-License-Identifier: Apache-2.0
"""`millrace config …`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from millrace.system.command import command
from millrace.system.documents import Contract
from millrace.system.output import Output, prints
from millrace.system.printing import table
from millrace.system.run import attempt
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.serve.revision.replace import ReplaceReport

_replaced = prints("millrace.serve.revision.replace:ReplaceReport")
_file = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


class HistoryEntry(Contract):
    """One change, without the state after it."""

    number: int
    who: str
    when: str
    what: str


class ConfigHistory(Contract):
    """The changes that are kept, newest first."""

    schema_version: Literal[1] = 1
    changes: list[HistoryEntry]


@click.group(cls=VerbGroup)
def config() -> None:
    """Show, export, import or roll back the desired state of shares, users and groups."""


@config.command()
@prints("millrace.serve.config.model:Config")
def show(show: Output) -> None:
    """Print the desired state, always as one JSON document."""
    from millrace.serve.config.store import load

    show(load())


@config.command("history")
@prints("millrace.serve.revision.verbs:ConfigHistory")
def history_(show: Output) -> None:
    """List recent changes: number, time, user, command."""
    from millrace.serve.config import history, store

    kept = history.changes(store.read().config.serial)
    found = ConfigHistory(
        changes=[HistoryEntry(number=one.number, who=one.who, when=one.when, what=one.what) for one in kept]
    )
    show(found, _changes)


@config.command()
@prints("millrace.serve.revision.diff:ConfigDiff")
def diff(show: Output) -> None:
    """Compare rendered files with the desired state: what would change, what was edited by hand.

    Writes nothing. Files of shares are rendered by millrace share render (--force replaces edited files, copies are
    kept), those of links by millrace network, forwarding of the journal by millrace journal apply.
    """
    from millrace.serve.revision.diff import diff as compare
    from millrace.serve.revision.diff import lines

    show(compare(attempt), lines)


@config.command()
@click.argument("number", type=click.IntRange(min=1))
@_replaced
def rollback(number: int, show: Output) -> None:
    """Roll back to the state after change NUMBER; a network that differs waits for `millrace network confirm`."""
    from millrace.serve.revision import replace

    _report(replace.rollback(number, attempt, say=_progress(show)), show)


@config.command("import")
@_file
@_replaced
def import_(file: Path, show: Output) -> None:
    """Replace the desired state and the alert routes with exported ones.

    A network that differs is tried last, and rolled back after 60 seconds without `millrace network confirm`.

    A route keeps its password or URL where this server has the same route; others are listed with the remedy.
    """
    from millrace.serve.revision import portable, replace

    _report(replace.import_state(portable.read(file), attempt, say=_progress(show)), show)


def _changes(found: ConfigHistory) -> Iterator[str]:
    rows = [(one.number, one.when, one.who, one.what) for one in found.changes]
    yield from table(("Number", "Time", "User", "Change"), rows, right=("Number",))
    if not found.changes:
        yield "No changes yet."


def _progress(show: Output) -> Callable[[str], None]:
    """Lines as the steps begin: thousands of users and shares take their time."""
    return lambda line: show.text([line])


def _report(report: "ReplaceReport", show: Output) -> None:
    show(report, lambda done: done.verified, report.warnings)
    show.text(
        f"{name} has no password yet: {command('millrace user passwd', name)}" for name in report.without_password
    )
