# SPDX-License-Identifier: Apache-2.0
"""`millrace pool …`."""

from typing import TYPE_CHECKING

import click

from millrace.adopt.verbs import adopt, adopting, find, found
from millrace.errors import Failed
from millrace.pool.scrub_verbs import scrub
from millrace.pool.trim_verbs import trim
from millrace.rescue.revive_verbs import revive
from millrace.rescue.verbs import rescue, rescuing
from millrace.system.output import Output, prints
from millrace.system.users import as_root, only_root
from millrace.tune.priorities import PRIORITIES

if TYPE_CHECKING:
    from millrace.tune.priorities import Priority


@click.group()
def pool() -> None:
    """Show and verify the pool of this server."""


pool.add_command(scrub)
pool.add_command(trim)
pool.add_command(rescue)
pool.add_command(revive)
pool.add_command(rescuing)
pool.add_command(find)
pool.add_command(found)
pool.add_command(adopt)
pool.add_command(adopting)


@pool.command()
@prints("millrace.provision.model:Pool")
def verify(show: Output) -> None:
    """Verify that the pool is what is mounted, with its planned mount options, and that its state is this server's."""
    from millrace.keep import home, keeping
    from millrace.provision import pool as pools
    from millrace.provision.system import Linux

    with as_root():
        found = pools.verify(Linux())
        if one := home.found(keeping.mounted_pool(found), found.filesystem_uuid):
            raise Failed(f"the pool is not served: {home.sentence(one)}. {home.DECIDE}")
        if warning := pools.options_warning(found):
            _report(f"warning: {warning}")
    show(found, lambda one: [f"{one.filesystem.mountpoint} is the pool"])


@pool.command()
@prints("millrace.pool.model:PoolState")
def show(show: Output) -> None:
    """Show arrays, members, rebuilds and file system of the pool as they are now."""
    from millrace.pool.show import lines, state
    from millrace.provision.pool_file import load_pool

    show(state(load_pool()), lines)


@pool.command("record")
@prints("millrace.provision.model:Pool")
def record_(show: Output) -> None:
    """Record the current members of the arrays; mdadm --monitor calls it."""
    from millrace.pool import unclean_find
    from millrace.provision import in_sync, outside
    from millrace.provision.pool_file import load_pool
    from millrace.provision.system import Linux

    with as_root():
        system = Linux()
        found = in_sync.record(system, load_pool(), _report)
        if outside.look(system, found, _report):
            unclean_find.begin(found, system.attempt)
    show(found, lambda _: ())


@pool.command("unclean")
@click.option("--find", is_flag=True, help="Check parity and search for files that may be damaged, if not done yet.")
@prints("millrace.provision.unclean:UncleanStarts")
def unclean_(find: bool, show: Output) -> None:
    """Show arrays that were started unclean while degraded, and the files that may be damaged by that.

    On a RAID6 array with one missing member the files are found by parity. Otherwise the list is a guess, by the rows
    that were written last, and other files are possible.
    """
    from millrace.pool import suspects, unclean_find
    from millrace.pool.scrub_watch import CheckContext, termination
    from millrace.provision import unclean
    from millrace.provision.pool_file import load_pool
    from millrace.system.run import attempt

    with as_root():
        if find:
            found = unclean_find.find(load_pool(), CheckContext(attempt, termination()), _report)
        else:
            found = unclean.pending()
        found = found or unclean.UncleanStarts(starts=[])
        names = suspects.names()
    show(found, lambda one: unclean_find.lines(one, names), unclean_find.notes(found))


@pool.command()
@prints("millrace.provision.unclean:UncleanStarts")
def acknowledge(show: Output) -> None:
    """Acknowledge unclean starts: health no longer warns, the list of files is removed.

    A parity check that still runs for them ends; members that wait for it are added.
    """
    from millrace.pool import unclean_find
    from millrace.provision import unclean
    from millrace.system.run import attempt

    with as_root():
        found = unclean.acknowledge()
        if any(one.check == "waiting" for one in found.starts):
            unclean_find.add_members(attempt)
    show(found, lambda one: [f"{len(one.starts)} unclean start{'s' * (len(one.starts) != 1)} acknowledged"])


@pool.command()
@click.argument("wanted", required=False, type=click.Choice(PRIORITIES))
@prints("millrace.pool.priority:PoolPriority")
def priority(wanted: "Priority | None", show: Output) -> None:
    """Show or choose whether clients or a rebuild go first; the less redundancy is left, the faster a rebuild."""
    from millrace.pool.priority import choose, current, lines
    from millrace.provision.pool_file import load_pool

    if wanted is not None:
        only_root()
    found = choose(load_pool(), wanted) if wanted else current(load_pool(), [])
    show(found, lines, found.warnings)


def _report(line: str) -> None:
    click.echo(line, err=True)
