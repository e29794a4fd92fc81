# SPDX-License-Identifier: Apache-2.0
"""The destruction of a pool in lines: what it ends, what stays, its progress, and how it ended."""

from collections.abc import Iterable, Iterator, Sequence

import click

from millrace.lifecycle.destroy.model import DestroyProgress, DestroyStatus
from millrace.serve.share import kept_snapshots
from millrace.storage.record.destruction import Destruction
from millrace.storage.record.pool_file import known_pool
from millrace.system.jobs.kinds import BY_NAME
from millrace.system.mounts import mounted
from millrace.system.printing import notes, table
from millrace.system.text import moment, size

SHOWN = 10
"""Names of clients that a line has."""


def lines(now: DestroyStatus) -> Iterator[str]:
    """Yield what `pool destroy --status` prints."""
    if now.pool is not None:
        yield from consequences(now)
    if now.obstacle:
        yield f"not possible now: {now.obstacle}"
    elif now.in_use:
        yield f"refused now: {now.in_use}"
    if now.last is not None:
        yield from result(now.last)


def consequences(now: DestroyStatus) -> Iterator[str]:
    """Yield what is lost and what stays."""
    used = "an unknown amount of data" if now.used is None else size(now.used)
    yield f"The pool of {now.name} is destroyed, with all data on it: {used}. There is no way back."
    yield from table(
        ("Lost", "Name", "Size"),
        [
            *(("share", share.name, "unknown" if share.used is None else size(share.used)) for share in now.shares),
            *(("volume", volume.name, size(volume.size)) for volume in now.volumes),
        ],
        right=("Size",),
    )
    yield from notes(_also(now))


def _also(now: DestroyStatus) -> Iterator[str]:
    yield f"lost as well: the state of this server that is kept on the pool; {_snapshots()}"
    if now.clients:
        hosts = sorted({client.host for client in now.clients})
        yield f"disconnected: {_names(hosts)}; their mounts hang or fail until they are unmounted"
    for name in now.jobs:
        yield f"ended: {BY_NAME[name].title}"
    here = [drive.serial for drive in now.drives if drive.here]
    yield f"wiped: the partition tables and superblocks of {len(here)} drives: {', '.join(here)}"
    missing = [
        f"{drive.serial} (last in bay {drive.bay})" if drive.bay else drive.serial
        for drive in now.drives
        if not drive.here
    ]
    if missing:
        yield f"not in this server, and still with their part of the pool, which is found again: {', '.join(missing)}"
    yield "not overwritten: the data between; erase a drive before it is given away: millrace drive erase"
    yield "stays: users, groups, passwords, addresses, certificate, domain, policy, alert routes, history of changes"


def _snapshots() -> str:
    """The snapshots of all shares, also of former ones."""
    pool = known_pool()
    point = pool.filesystem.mountpoint if pool is not None else None
    try:
        shares = None if point is None or mounted(point) is None else kept_snapshots.shares(point)
        number = None if shares is None else sum(len(kept_snapshots.names(share, str(point))) for share in shares)
    except OSError:
        number = None
    if number is None:
        return "its snapshots, whose number is unknown"
    return "it has no snapshots" if not number else f"{number} snapshot{'s' * (number > 1)} of shares"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def result(ended: Destruction) -> Iterator[str]:
    """Yield how a destruction ended, or where it stands."""
    if ended.error and ended.ended:
        yield f"the pool was not destroyed ({moment(ended.ended)}): {ended.error}"
        return
    if ended.error:
        yield f"stopped: {ended.error}; to go on when the cause is corrected: millrace pool destroy"
        return
    if not ended.ended:
        yield f"the pool is being destroyed, ordered by {ended.by}"
        return
    wiped = len(ended.drives) + len(ended.whole) - len(ended.left)
    yield f"pool {ended.pool.filesystem_uuid} was destroyed by {ended.by} ({moment(ended.ended)}); {wiped} drives wiped"
    for drive in ended.left:
        yield f"drive {drive.serial}{f' (bay {drive.bay})' if drive.bay else ''} {drive.why}"


def bar(progress: Iterable[DestroyProgress | Destruction]) -> DestroyProgress | Destruction | None:
    """Print each step on stderr; return the last document."""
    last = None
    for last in progress:
        if isinstance(last, DestroyProgress):
            click.echo(f"{last.done}/{last.total} {last.step or 'finishing'}", err=True)
    return last
