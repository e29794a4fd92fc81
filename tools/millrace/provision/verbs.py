# SPDX-License-Identifier: Apache-2.0
"""`millrace approve`, `provision`, `assemble`, `pool`."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager

import click
from pydantic import BaseModel

from millrace import paths
from millrace.errors import Refused
from millrace.provision import apply, approval, follow, in_sync, record, suspects, unclean
from millrace.provision import assemble as assembling
from millrace.provision import pool as pools
from millrace.provision.identity import new_transaction
from millrace.provision.pool_file import load_pool
from millrace.provision.system import Linux

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command()
@click.argument("hash_", metavar="HASH")
@click.option("--no-start", is_flag=True, help="Record the approval only; the next boot builds.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines: the approval, progress, the pool.")
def approve(hash_: str, no_start: bool, as_json: bool) -> None:
    """Approve the current plan by its hash and build it."""
    system = Linux()
    with _as_root():
        approved = approval.approve(hash_, _person(), system.now())
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
@click.option("--if-approved", is_flag=True, help="It is no error that nothing is approved.")
@as_json
def provision(dry_run: bool, if_approved: bool, as_json: bool) -> None:
    """Build the approved plan, or finish what a power cut interrupted."""
    if dry_run:
        _show_steps(as_json)
        return
    with _as_root():
        outcome = apply.provision(Linux(), _say, if_approved)
    if as_json:
        _print(outcome)
    elif outcome.state == "not-approved":
        click.echo("no plan is approved: read it with `millrace plan`, then `millrace approve HASH`")
    else:
        click.echo(f"the pool {'exists already' if outcome.state == 'already-provisioned' else 'is built'}")


@click.command()
@as_json
def assemble(as_json: bool) -> None:
    """Start the arrays of the pool, degraded too."""
    with _as_root():
        system = Linux()
        pool = assembling.assemble(system, _say)
        if record.renew_mount_unit(system, pool):
            _say("srv-pool.mount: written again by this version")
    if as_json:
        _print(pool)


@click.group()
def pool() -> None:
    """The pool of this server."""


@pool.command()
@as_json
def verify(as_json: bool) -> None:
    """Verify that the pool is what is mounted, with its planned mount options."""
    with _as_root():
        found = pools.verify(Linux())
        if warning := pools.options_warning(found):
            _say(f"warning: {warning}")
    _print(found) if as_json else click.echo(f"{found.filesystem.mountpoint} is the pool")


@pool.command()
@as_json
def show(as_json: bool) -> None:
    """Show arrays, members, rebuilds and file system of the pool as they are now."""
    from millrace.pool.show import lines, state

    found = state(load_pool())
    _print(found) if as_json else click.echo("\n".join(lines(found)))


@pool.command("record")
@as_json
def record_(as_json: bool) -> None:
    """Record the current members of the arrays; mdadm --monitor calls it."""
    with _as_root():
        found = in_sync.record(Linux(), load_pool(), _say)
    if as_json:
        _print(found)


@pool.command("unclean")
@click.option("--find", is_flag=True, help="Search the pool for files written in the last minutes before the cut.")
@as_json
def unclean_(find: bool, as_json: bool) -> None:
    """Show arrays that were started unclean while degraded, and the files written before the power cut."""
    with _as_root():
        found = suspects.find(load_pool().filesystem.mountpoint) if find else unclean.known()
        found = found or unclean.UncleanStarts(starts=[])
        names = suspects.names()
    if as_json:
        _print(found)
        return
    for one in found.starts:
        click.echo(f"array {one.array} ({one.level}): last written {one.last_write}, started unclean {one.started}")
    if not found.starts:
        click.echo("no array was started unclean while degraded")
    elif found.suspects is None:
        click.echo("files written before the power cut were not searched for yet: millrace pool unclean --find")
    for name in names:
        click.echo(name)
    if found.suspects is not None and not found.suspects.complete:
        click.echo("note: the search did not reach every file", err=True)
    if found.suspects is not None and found.suspects.count > found.suspects.listed:
        click.echo(
            f"note: {found.suspects.count} files were written then, {found.suspects.listed} are listed", err=True
        )


@pool.command()
@as_json
def acknowledge(as_json: bool) -> None:
    """Acknowledge unclean starts: health no longer warns, the list of files is removed."""
    with _as_root():
        found = unclean.acknowledge()
    if as_json:
        _print(found)
    else:
        click.echo(f"{len(found.starts)} unclean start{'s' * (len(found.starts) != 1)} acknowledged")


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


def _say(line: str) -> None:
    click.echo(line, err=True)


def _person() -> str:
    return os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name


@contextmanager
def _as_root() -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise Refused(f"this needs root ({error.filename or paths.state_dir()}); run it with sudo") from error
