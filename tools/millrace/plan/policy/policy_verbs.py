# SPDX-License-Identifier: Apache-2.0
"""`millrace policy …`."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.completion import completes
from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.plan.policy.keys import PolicyChanges, PolicyReport

_changes = prints("millrace.plan.policy.keys:PolicyChanges")


def _names() -> list[str]:
    from millrace.plan.policy.keys import fields

    return [f"{section}.{name}" for section, name, _ in fields()]


@click.group(cls=VerbGroup)
def policy() -> None:
    """Show or change the policy: what overrides decisions of Millrace."""


@policy.command()
@click.option("--all", "every", is_flag=True, help="Also show the keys that the policy does not set.")
@prints("millrace.plan.policy.keys:PolicyReport")
def show(every: bool, show: Output) -> None:
    """Show the keys of the policy in force: value, meaning, range, default, and when a change takes effect."""
    from millrace.plan.policy import policy_in_force
    from millrace.plan.policy.keys import PolicyReport, described
    from millrace.plan.policy.policy_file import source

    found, path = policy_in_force.find(), source()
    report = PolicyReport(file=str(path) if path else None, problem=found.problem, keys=described(found.policy))
    show(report, lambda document: _rows(document, every), [found.problem] if found.problem else [])


@policy.command("set")
@click.argument(
    "assignments",
    nargs=-1,
    required=True,
    metavar="KEY=VALUE…",
    shell_complete=completes(lambda: [f"{name}=" for name in _names()]),
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and when; write nothing.")
@_changes
def set_(assignments: tuple[str, ...], dry_run: bool, show: Output) -> None:
    """Set keys of the policy, such as layout.spares=2; KEY=default removes a key, and comments in the file stay.

    The whole policy is validated before it is written, then what takes effect at once is applied. Commas separate the
    entries of a list: nfs.networks=10.1.0.0/24,10.2.0.0/24.
    """
    from millrace.plan.policy import edit

    values = edit.assigned(assignments)
    _keep(lambda: edit.with_keys(edit.current(), values), dry_run, show)


@policy.command("edit")
@_changes
def edit_(show: Output) -> None:
    """Open the policy in $EDITOR; it is kept if it is valid, else it is opened again or left as it was."""
    from millrace.plan.policy import edit
    from millrace.plan.policy.policy_file import parse_policy
    from millrace.system import paths
    from millrace.system.errors import BadInput, Refused
    from millrace.system.prompt import confirm
    from millrace.system.users import only_root

    only_root()
    before = text = edit.current()
    while True:
        edited = click.edit(text, extension=".toml")
        if edited is None or edited == before:
            raise Refused("the policy was not edited; nothing was changed")
        text = edited
        try:
            parse_policy(text, str(paths.policy_file()))
            break
        except BadInput as error:
            click.echo(f"millrace: {error}", err=True)
            confirm("Edit it again?", "`millrace policy set`")
    _keep(lambda: text, False, show)


@policy.command()
@_changes
def diff(show: Output) -> None:
    """Show what the file changes that is not in force yet, for example after it was edited by hand."""
    from millrace.plan.policy import policy_in_force
    from millrace.plan.policy.keys import PolicyChanges, changes
    from millrace.plan.policy.policy_file import load_policy
    from millrace.system import paths

    made = changes(policy_in_force.last_good(), load_policy())
    show(PolicyChanges(file=str(paths.policy_file()), changes=made, applied=[]), _changed)


def _keep(text: Callable[[], str], dry_run: bool, show: Output) -> None:
    from millrace.plan.policy import edit
    from millrace.plan.policy.keys import PolicyChanges
    from millrace.system import paths
    from millrace.system.run import attempt
    from millrace.system.users import only_root

    if dry_run:
        made = edit.difference(text())
        show(PolicyChanges(file=str(paths.policy_file()), changes=made, applied=[]), _changed)
        return
    only_root()
    with edit.changing():
        show(edit.keep(text(), attempt), _changed)


def _rows(found: "PolicyReport", every: bool) -> Iterator[str]:
    from millrace.plan.policy.keys import EFFECT, words
    from millrace.system.printing import table

    yield f"Policy: {found.file or 'no file; Millrace decides everything'}"
    yield ""
    shown = [one for one in found.keys if every or one.is_set]
    rows = [(one.key, words(one.value), words(one.default), one.range or None, one.when, one.meaning) for one in shown]
    yield from table(("Key", "Value", "Default", "Takes", "Effect", "Meaning"), rows)
    yield "" if rows else "No key is set."
    yield from (f"{when}: a change takes effect {effect}." for when, effect in EFFECT.items() if rows)
    if not every:
        yield "All keys: millrace policy show --all"


def _changed(found: "PolicyChanges") -> Iterator[str]:
    from millrace.plan.policy.keys import EFFECT, words
    from millrace.system.printing import table

    rows = [(one.key, words(one.before), words(one.after), EFFECT[one.when]) for one in found.changes]
    yield from table(("Key", "Before", "After", "Takes effect"), rows)
    if not rows:
        yield "Nothing changes."
    yield from (f"applied by {unit}" for unit in found.applied)
