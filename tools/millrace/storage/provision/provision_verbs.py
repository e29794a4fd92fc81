# SPDX-License-Identifier: Apache-2.0
"""`millrace approve` and `millrace provision`."""

from collections.abc import Iterable, Iterator

import click

from millrace.storage.array.machine import Linux
from millrace.storage.provision import apply, approval, provision_job
from millrace.storage.record.identity import new_transaction
from millrace.storage.record.model import Approval
from millrace.storage.record.pool_file import load_pool
from millrace.system.output import Output, prints
from millrace.system.printing import table
from millrace.system.users import as_root, invoking_user


@click.command()
@click.argument("hash_", metavar="HASH")
@click.option("--no-start", is_flag=True, help="Record the approval only; the pool is built at the next boot.")
@prints(
    "millrace.storage.provision.provision_job:ApproveLine",
    lines=True,
    words="Print JSON lines: the approval, progress, the pool.",
)
def approve(hash_: str, no_start: bool, show: Output) -> None:
    """Approve the current plan by its hash and build it."""
    system = Linux()
    with as_root():
        if no_start:
            show(approval.approve(hash_, invoking_user(), system.now()), _approved)
            return
        show(provision_job.start(system, hash_, invoking_user()), _approved)
        show.each(provision_job.follow(system), _bar)
        show(load_pool(), lambda _: ["the pool is built; `millrace status` shows it"])


@click.command()
@click.option("--dry-run", is_flag=True, help="List the steps of the current plan; write nothing.")
@click.option("--if-approved", is_flag=True, help="Exit with status 0 if no plan is approved.")
@prints("millrace.storage.provision.apply:ProvisionOutcome", {"--dry-run": "millrace.storage.provision.apply:Steps"})
def provision(dry_run: bool, if_approved: bool, show: Output) -> None:
    """Build the approved plan, or resume an interrupted build."""
    if dry_run:
        digest, plan = approval.current_plan()
        steps = [step.name for step in new_transaction(plan, Linux().now()).steps]
        show(apply.Steps(plan_sha256=digest, steps=steps), _steps)
        return
    with as_root():
        outcome = apply.provision(Linux(), _report, if_approved)
    show(outcome, _outcome)


def _approved(found: Approval) -> list[str]:
    return [f"approved: plan {found.sha256}"]


def _bar(lines: Iterable[provision_job.ProvisionProgress]) -> provision_job.ProvisionProgress | None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=None)
        last = None
        for last in lines:
            bar.update(task, description=last.step or "finishing", completed=last.done, total=last.total)
    return last


def _outcome(outcome: apply.ProvisionOutcome) -> Iterator[str]:
    if outcome.state == "not-approved":
        yield "no plan is approved: read it with `millrace plan`, then `millrace approve HASH`"
    else:
        yield f"the pool {'exists already' if outcome.state == 'already-provisioned' else 'is built'}"


def _steps(found: apply.Steps) -> Iterator[str]:
    yield f"plan {found.plan_sha256} would be built in {len(found.steps)} steps:"
    yield from table(("Step", "What it does"), list(enumerate(found.steps, start=1)), right=("Step",))


def _report(line: str) -> None:
    click.echo(line, err=True)
