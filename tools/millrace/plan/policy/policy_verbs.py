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

    in_force, path = policy_in_force.find(), source()
    report = PolicyReport(file=str(path) if path else None, problem=in_force.problem, keys=described(in_force.policy))
    show(report, lambda document: _rows(document, every), [in_force.problem] if in_force.problem else [])


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
    from millrace.system.prompt import confirm
    from millrace.system.users import only_root

    only_root()
    before = edit.current()
    text = _edited(before, before)
    while problem := _problem(text):
        click.echo(f"millrace: {problem}", err=True)
        confirm("Edit it again?", "`millrace policy set`")
        text = _edited(text, before)
    _keep(lambda: text, False, show)


def _edited(text: str, before: str) -> str:
    from millrace.system.errors import Refused

    edited = click.edit(text, extension=".toml")
    if edited is None or edited == before:
        raise Refused("the policy was not edited; nothing was changed")
    return edited


def _problem(text: str) -> str | None:
    from millrace.plan.policy.policy_file import parse_policy
    from millrace.system import paths
    from millrace.system.errors import BadInput

    try:
        parse_policy(text, str(paths.policy_file()))
    except BadInput as error:
        return str(error)
    return None


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


def _rows(report: "PolicyReport", every: bool) -> Iterator[str]:
    from millrace.plan.policy.keys import EFFECT, words
    from millrace.system.printing import table

    yield f"Policy: {report.file or 'no file; Millrace decides everything'}"
    yield ""
    shown = [key for key in report.keys if every or key.is_set]
    rows = [(key.key, words(key.value), words(key.default), key.range or None, key.when, key.meaning) for key in shown]
    yield from table(("Key", "Value", "Default", "Takes", "Effect", "Meaning"), rows)
    yield "" if rows else "No key is set."
    yield from (f"{when}: a change takes effect {effect}." for when, effect in EFFECT.items() if rows)
    if not every:
        yield "All keys: millrace policy show --all"


def _changed(done: "PolicyChanges") -> Iterator[str]:
    from millrace.plan.policy.keys import EFFECT, words
    from millrace.system.printing import table

    rows = [(each.key, words(each.before), words(each.after), EFFECT[each.when]) for each in done.changes]
    yield from table(("Key", "Before", "After", "Takes effect"), rows)
    if not rows:
        yield "Nothing changes."
    yield from (f"applied by {unit}" for unit in done.applied)
