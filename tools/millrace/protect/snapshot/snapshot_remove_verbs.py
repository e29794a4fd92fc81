# SPDX-License-Identifier: Apache-2.0
"""`millrace snapshot remove`, `keep` and `lock`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.protect.snapshot.snapshot_completion import SNAPSHOTS
from millrace.system.command import command
from millrace.system.output import Output, prints

if TYPE_CHECKING:
    from millrace.protect.snapshot.snapshot_model import SnapshotKept, SnapshotLocked, SnapshotRemoval

_MODEL = "millrace.protect.snapshot.snapshot_model"


@click.command()
@click.argument("place", metavar="SHARE@SNAPSHOT", shell_complete=SNAPSHOTS)
@click.option(
    "--after",
    type=click.IntRange(1, 720),
    metavar="HOURS",
    help="Hours until the removal, not less than those of the policy (snapshots.removal_delay, default 24).",
)
@prints(f"{_MODEL}:SnapshotRemoval")
def remove(place: str, after: int | None, show: Output) -> None:
    """Order the removal of a snapshot; it can be cancelled until then.

    Health and alerts report who ordered it, and when the snapshot is removed. Time in which the server is off does not
    count. A locked snapshot is not removed. Its space is freed in the background.
    """
    from millrace.protect.snapshot import snapshot_remove
    from millrace.serve.share.server import this_server

    show(snapshot_remove.order(place, after, this_server()), _ordered)


@click.command()
@click.argument("place", metavar="SHARE@SNAPSHOT", shell_complete=SNAPSHOTS)
@prints(f"{_MODEL}:SnapshotKept")
def keep(place: str, show: Output) -> None:
    """Keep a snapshot whose removal was ordered."""
    from millrace.protect.snapshot import snapshot_remove
    from millrace.serve.share.server import this_server

    show(snapshot_remove.keep(place, this_server()), _kept)


@click.command()
@click.argument("place", metavar="SHARE@SNAPSHOT", shell_complete=SNAPSHOTS)
@click.option(
    "--until",
    required=True,
    metavar="DATE",
    help="Date such as 2027-01-31, or date and time of ISO 8601; in UTC unless it has a zone.",
)
@prints(f"{_MODEL}:SnapshotLocked")
def lock(place: str, until: str, show: Output) -> None:
    """Lock a snapshot until a date: nobody can remove it before, and nobody can end the lock.

    A locked snapshot can be locked for longer. The lock also waits until the server has run for the time to the date:
    a change of the clock does not end it earlier. The pool cannot be destroyed meanwhile.
    """
    from millrace.protect.snapshot import snapshot_remove
    from millrace.serve.share.server import this_server

    show(snapshot_remove.lock(place, until, this_server()), _locked)


def _ordered(removal: "SnapshotRemoval") -> Iterator[str]:
    from millrace.system.text import moment

    place = f"{removal.share}@{removal.name}"
    yield f"{place} will be removed at {moment(removal.due)}, or later if the server is off meanwhile"
    yield f"to cancel the removal: {command('millrace snapshot keep', place)}"


def _kept(kept: "SnapshotKept") -> Iterator[str]:
    yield f"{kept.share}@{kept.name} stays; its removal, which {kept.by} had ordered, is cancelled"


def _locked(locked: "SnapshotLocked") -> Iterator[str]:
    from millrace.system.text import moment

    yield f"{locked.share}@{locked.name} is locked until {moment(locked.until)}; nobody can remove it before"
    if locked.cancelled:
        yield "its removal, which was ordered, is cancelled"
