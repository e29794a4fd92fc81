# SPDX-License-Identifier: Apache-2.0
"""`millrace pool trim …`."""

from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.users import as_root, only_root
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.storage.trim.trim_record import TrimRecord
    from millrace.storage.trim.trim_status import TrimStatus


@click.group(cls=VerbGroup)
def trim() -> None:
    """Deallocate the free space of the pool on its drives, slice by slice."""


@trim.command()
@prints("millrace.storage.trim.trim_status:TrimStatus")
def start(show: Output) -> None:
    """Start a trim now, or go on with one that was stopped; the window does not end it."""
    from millrace.plan.policy.policy_in_force import in_force
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.trim import trim as trims
    from millrace.storage.trim.trim_status import lines
    from millrace.system.run import attempt

    only_root()
    trims.start(load_pool(), in_force(), attempt)
    show(_status(), lines)


@trim.command()
@prints("millrace.storage.trim.trim_status:TrimStatus")
def stop(show: Output) -> None:
    """Stop the trim; the next window, or `start`, goes on from where it was."""
    from millrace.storage.trim import trim as trims
    from millrace.storage.trim.trim_status import lines
    from millrace.system.run import attempt

    only_root()
    trims.end(attempt)
    show(_status(), lines)


@trim.command("status")
@prints("millrace.storage.trim.trim_status:TrimStatus")
def status_(show: Output) -> None:
    """Show what the last trim freed, and when the next one begins."""
    from millrace.storage.trim.trim_status import lines

    show(_status(), lines)


@trim.command(hidden=True)
@prints("millrace.storage.trim.trim_record:TrimRecord")
def run(show: Output) -> None:
    """Trim what is due (started by millrace-trim.service)."""
    from millrace.plan.policy.policy_in_force import in_force
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub.scrub_watch import CheckContext, termination
    from millrace.storage.trim import trim as trims
    from millrace.system.run import attempt

    with as_root():
        # a slice ends by itself: a limit would end it halfway, and count as refused
        context = CheckContext(attempt, termination())
        record = trims.carry_on(load_pool(), in_force(), context)
    show(record, _ended)


def _ended(found: "TrimRecord") -> list[str]:
    return [f"stopped: {found.stopped.reason}"] if found.stopped else []


def _status() -> "TrimStatus":
    from millrace.plan.policy.policy_in_force import in_force
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.scrub.scrub_watch import now_here
    from millrace.storage.trim.trim_status import status
    from millrace.system.run import quickly

    return status(load_pool(), in_force(), quickly, now_here())
