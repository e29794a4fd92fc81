# SPDX-License-Identifier: Apache-2.0
"""`millrace snapshot schedule`, `schedules` and `upkeep`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from millrace.serve.config.completion import SHARES
from millrace.system.output import Output, prints
from millrace.system.printing import table

if TYPE_CHECKING:
    from millrace.protect.snapshot.snapshot_schedule_model import ScheduleChange, ScheduledShare, ScheduleList

_MODEL = "millrace.protect.snapshot.snapshot_schedule_model"


@click.command()
@click.argument("share", shell_complete=SHARES)
@click.option("--hourly", type=int, metavar="NUMBER", help="Hourly snapshots that are kept, 0 to 168.")
@click.option("--daily", type=int, metavar="NUMBER", help="Daily snapshots that are kept, 0 to 365.")
@click.option("--weekly", type=int, metavar="NUMBER", help="Weekly snapshots that are kept, 0 to 260.")
@click.option("--monthly", type=int, metavar="NUMBER", help="Monthly snapshots that are kept, 0 to 120.")
@click.option(
    "--large/--no-large", default=None, help="Also of a share with more than 5 million files and directories."
)
@click.option("--off", "is_off", is_flag=True, help="End the schedule; the snapshots remain.")
@click.option("--dry-run", is_flag=True, help="Show the plan; change nothing.")
@prints(f"{_MODEL}:ScheduleChange")
def schedule(share: str, is_off: bool, dry_run: bool, show: Output, **settings: Any) -> None:
    """Make snapshots of SHARE by itself, and keep so many of each kind.

    The plan comes first: how long a snapshot takes and what all of them hold. A schedule that cannot hold is refused.
    Options that are not given stay as they are. Snapshots that users make are never removed by a schedule.
    """
    from millrace.protect.snapshot.snapshot_plan import set_schedule
    from millrace.serve.share.server import this_server

    given = {key: value for key, value in settings.items() if value is not None}
    show(set_schedule(share, given, is_off, dry_run, this_server), _changed)


@click.command()
@prints(f"{_MODEL}:ScheduleList")
def schedules(show: Output) -> None:
    """List the schedules of snapshots, and how the last snapshot of each ended."""
    from millrace.protect.snapshot import snapshot_counts
    from millrace.serve.share.server import this_server
    from millrace.system.users import only_root

    only_root()
    show(snapshot_counts.schedules(this_server().pool.filesystem.mountpoint), _listed)


@click.command("upkeep", hidden=True)
def upkeep_() -> None:
    """Make the snapshots that are due, and thin them (started by millrace-cleanup@schedule.service)."""
    from millrace.protect.snapshot.snapshot_upkeep import upkeep
    from millrace.serve.share.server import this_server

    for line in upkeep(this_server()):
        click.echo(line)


def _changed(change: "ScheduleChange") -> Iterator[str]:
    from millrace.system.text import duration, moment, size

    if change.schedule is None or change.plan is None:
        yield f"{change.share} has no schedule any more; its snapshots remain: millrace snapshot list"
        return
    plan = change.plan
    took = "measured" if plan.measured else "not measured yet"
    yield f"share {change.share}: {change.schedule.words} snapshots are kept"
    yield f"a snapshot has {plan.entries} files and directories and takes about {duration(plan.seconds)} ({took})"
    yield (
        f"{plan.kept} snapshots hold about {size(plan.held)} for the metadata of their files, and what clients change "
        "or remove until the oldest of them is removed"
    )
    yield f"the oldest are removed earlier where less than {plan.floor} % of the pool would be free"
    if change.tighter is not None:
        which = "1 snapshot" if change.tighter.removed == 1 else f"{change.tighter.removed} snapshots"
        yield f"{which} beyond that remain until {moment(change.tighter.due)}, and are removed then"
    if plan.obstacle:
        yield f"refused: {plan.obstacle}"


def _listed(found: "ScheduleList") -> list[str]:
    if not found.shares:
        return ["There is no schedule. To set one: millrace snapshot schedule SHARE --hourly 24 --daily 7"]
    lines: list[str] = [*table(("Share", "Keeps", "Has", "Newest", "Last"), [_cells(each) for each in found.shares])]
    return lines


def _cells(each: "ScheduledShare") -> tuple[str, str, str, str, str]:
    from millrace.system.text import moment

    fates = [(each.snapshots.removals, "to be removed"), (each.snapshots.locked, "locked")]
    numbers = [(number, kind) for kind, number in each.snapshots.held.items()]
    has = ", ".join(f"{number} {what}" for number, what in [*numbers, *(fate for fate in fates if fate[0])])
    newest = max(each.snapshots.newest.values(), default=None)
    last = "" if each.last is None else each.last.problem or f"complete {moment(each.last.at)}"
    return each.share, each.schedule.words, has or "none", moment(newest) if newest else "", last
