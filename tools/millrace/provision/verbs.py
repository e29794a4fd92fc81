# SPDX-License-Identifier: Apache-2.0
"""`millrace approve`, `provision`, `assemble`."""

import os
import pwd

import click
from pydantic import BaseModel

from millrace.provision import apply, approval, follow, record
from millrace.provision import assemble as assembling
from millrace.provision.identity import new_transaction
from millrace.provision.pool_file import load_pool
from millrace.provision.system import Linux
from millrace.system.users import as_root

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command()
@click.argument("hash_", metavar="HASH")
@click.option("--no-start", is_flag=True, help="Record the approval only; the pool is built at the next boot.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines: the approval, progress, the pool.")
def approve(hash_: str, no_start: bool, as_json: bool) -> None:
    """Approve the current plan by its hash and build it."""
    system = Linux()
    with as_root():
        approved = approval.approve(hash_, _invoking_user(), system.now())
        if as_json:
            click.echo(approved.model_dump_json())
        else:
            click.echo(f"approved: plan {approved.sha256}")
        if no_start:
            return
        if as_json:
            follow.start_and_follow(system, lambda progress: click.echo(progress.model_dump_json()))
            click.echo(load_pool().model_dump_json())
        else:
            _follow_on_terminal(system)
            click.echo("the pool is built; `millrace status` shows it")


@click.command()
@click.option("--dry-run", is_flag=True, help="List the steps of the current plan; write nothing.")
@click.option("--if-approved", is_flag=True, help="Exit with status 0 if no plan is approved.")
@as_json
def provision(dry_run: bool, if_approved: bool, as_json: bool) -> None:
    """Build the approved plan, or resume an interrupted build."""
    if dry_run:
        _show_steps(as_json)
        return
    with as_root():
        outcome = apply.provision(Linux(), _report, if_approved)
    if as_json:
        _print(outcome)
    elif outcome.state == "not-approved":
        click.echo("no plan is approved: read it with `millrace plan`, then `millrace approve HASH`")
    else:
        click.echo(f"the pool {'exists already' if outcome.state == 'already-provisioned' else 'is built'}")


@click.command()
@as_json
def assemble(as_json: bool) -> None:
    """Assemble the arrays of the pool, also degraded ones."""
    with as_root():
        system = Linux()
        pool = assembling.assemble(system, _report)
        if record.renew_mount_unit(system, pool):
            _report("srv-pool.mount: written again by this version")
    if as_json:
        _print(pool)


def _follow_on_terminal(system: Linux) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=None)
        follow.start_and_follow(
            system,
            lambda now: bar.update(task, description=now.step or "finishing", completed=now.done, total=now.total),
        )


def _show_steps(as_json: bool) -> None:
    digest, plan = approval.current_plan()
    transaction = new_transaction(plan, Linux().now())
    if as_json:
        click.echo(apply.Steps(plan_sha256=digest, steps=[step.name for step in transaction.steps]).model_dump_json())
        return
    click.echo(f"plan {digest} would be built in {len(transaction.steps)} steps:")
    for number, step in enumerate(transaction.steps, start=1):
        click.echo(f"{number:4}  {step.name}")


def _print(document: BaseModel) -> None:
    click.echo(document.model_dump_json(indent=2))


def _report(line: str) -> None:
    click.echo(line, err=True)


def _invoking_user() -> str:
    return os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
