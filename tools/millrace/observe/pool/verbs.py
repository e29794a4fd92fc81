# SPDX-License-Identifier: Apache-2.0
"""`millrace pool …`."""

from typing import TYPE_CHECKING

import click

from millrace.system.errors import Failed
from millrace.system.output import Output, prints
from millrace.system.users import as_root
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    pass


@click.group(cls=VerbGroup)
def pool() -> None:
    """Show and verify the pool of this server."""


@pool.command()
@prints("millrace.storage.record.model:Pool")
def verify(show: Output) -> None:
    """Verify that the pool is what is mounted, with its planned mount options, and that its state is this server's."""
    from millrace.lifecycle.keep import home, keeping
    from millrace.storage.array.machine import Linux
    from millrace.storage.assemble import mounted_pool as pools

    with as_root():
        record = pools.verify(Linux())
        if elsewhere := home.found(keeping.mounted_pool(record), record.filesystem_uuid):
            raise Failed(f"the pool is not served: {home.sentence(elsewhere)}. {home.DECIDE}")
        if warning := pools.options_warning(record):
            _report(f"warning: {warning}")
    show(record, lambda record: [f"{record.filesystem.mountpoint} is the pool"])


@pool.command()
@prints("millrace.observe.pool.model:PoolState")
def show(show: Output) -> None:
    """Show arrays, members, rebuilds and file system of the pool as they are now."""
    from millrace.observe.pool.pool_state import lines, state
    from millrace.storage.record.pool_file import load_pool

    show(state(load_pool()), lines)


@pool.command("record")
@prints("millrace.storage.record.model:Pool")
def record_(show: Output) -> None:
    """Record the current members of the arrays; mdadm --monitor calls it."""
    from millrace.storage.array.machine import Linux
    from millrace.storage.assemble import in_sync, started_by_hand
    from millrace.storage.record.pool_file import load_pool
    from millrace.storage.unclean import unclean_job

    with as_root():
        system = Linux()
        record = in_sync.record(system, load_pool(), _report)
        if started_by_hand.look(system, record, _report):
            unclean_job.begin(record, system.attempt)
    show(record, lambda _: ())


def _report(line: str) -> None:
    click.echo(line, err=True)
