# SPDX-License-Identifier: Apache-2.0
"""`millrace plan`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millrace.inventory.model import Inventory
    from millrace.plan.explain import Explanation
    from millrace.plan.model import PlanFile


@click.command()
@click.option(
    "--inventory",
    "inventory_file",
    type=click.Path(dir_okay=False),
    help="Plan for the inventory in this file instead of this server.",
)
@click.option("--write", is_flag=True, help="Also store it for the other verbs (/run/millrace/plan.json).")
@click.option("--again", is_flag=True, help="Rescan the drives of this server first, as at boot.")
@click.option("--explain", "decision", metavar="DECISION", help="Show the reasons for one decision, with figures.")
@click.option("--layouts", is_flag=True, help="Compare the possible layouts: capacity, safety, speed and hash of each.")
@click.option("--layout", metavar="NAME", help="Show the plan of another layout, as --layouts names it.")
@prints(
    "millrace.plan.model:PlanFile",
    {"--explain": "millrace.plan.explain:Explanation", "--layouts": "millrace.plan.choices:LayoutChoices"},
)
@click.pass_context
def plan(
    context: click.Context,
    show: Output,
    inventory_file: str | None,
    write: bool,
    again: bool,
    decision: str | None,
    layouts: bool,
    layout: str | None,
) -> None:
    """Show the plan of the pool and its reasons; with a pool, the plan that the pool was created from.

    Without a pool, --layouts compares the layouts that are possible; `millrace approve` takes the hash of each.

    Exit status 1 if no plan is possible; 0 with --write or --again.
    """
    from millrace.plan.choices import chosen
    from millrace.plan.current import plan_in_force
    from millrace.plan.policy.policy_file import load_policy
    from millrace.plan.propose import plan_file
    from millrace.system import paths
    from millrace.system.documents import write_model
    from millrace.system.errors import Refused

    if again:
        from millrace.plan.current import plan_again

        if inventory_file is not None or write:
            raise click.UsageError(
                "--again rescans this server and stores the plan: it takes no --inventory and no --write."
            )
        plan_again()
    in_force = plan_in_force() if inventory_file is None else None
    if in_force is not None and (write or layouts or layout):
        raise Refused("this server already has a pool; see `millrace pool show`")
    if layouts:
        from millrace.plan import choices

        show(choices.choices(_inventory(inventory_file), load_policy()), choices.lines)
        return
    if layout is not None and write:
        raise click.UsageError("--write stores the plan that this server proposes; approve a layout by its hash.")
    file = in_force or plan_file(chosen(_inventory(inventory_file), load_policy(), layout))
    if write:
        write_model(paths.plan_file(), file)
    if decision is not None:
        from millrace.plan.current import with_settings_in_force
        from millrace.plan.explain import explanation

        file = with_settings_in_force(file) if in_force is not None else file
        show(explanation(file.proposal, decision), _explained)
    else:
        here = inventory_file is None and in_force is None
        show(file, lambda document: _table(document, in_force is not None, here))
    if file.sha256 is None and not write and not again:
        context.exit(1)


def _table(file: "PlanFile", in_force: bool, here: bool) -> "Iterator[str]":
    from millrace.inventory.drive_tests import by_serial
    from millrace.plan.text import lines

    return lines(file, in_force, by_serial() if here else None)


def _explained(found: "Explanation") -> "Iterator[str]":
    from millrace.plan.explain import lines

    return lines(found.decision)


def _inventory(file: str | None) -> "Inventory":
    """The file named, else the inventory of this boot, else a new one."""
    from millrace.inventory.model import Inventory
    from millrace.system import paths
    from millrace.system.documents import read_input, read_model

    if file is None and not paths.inventory_file().exists():
        from millrace.inventory.collect import collect

        return collect()
    return read_input(Path(file), Inventory) if file else read_model(paths.inventory_file(), Inventory)
