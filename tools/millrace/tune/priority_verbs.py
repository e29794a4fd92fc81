# SPDX-License-Identifier: Apache-2.0
"""`millrace pool priority`."""

from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.users import only_root
from millrace.tune.priorities import PRIORITIES

if TYPE_CHECKING:
    from millrace.tune.priorities import Priority


@click.command()
@click.argument("wanted", required=False, type=click.Choice(PRIORITIES))
@prints("millrace.tune.priority:PoolPriority")
def priority(wanted: "Priority | None", show: Output) -> None:
    """Show or choose whether clients or a rebuild go first; the less redundancy is left, the faster a rebuild."""
    from millrace.storage.record.pool_file import load_pool
    from millrace.tune.priority import choose, current, lines

    if wanted is not None:
        only_root()
    found = choose(load_pool(), wanted) if wanted else current(load_pool(), [])
    show(found, lines, found.warnings)
