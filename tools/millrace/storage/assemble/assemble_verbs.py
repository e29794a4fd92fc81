# SPDX-License-Identifier: Apache-2.0
"""`millrace assemble`."""

import click

from millrace.storage.array.machine import Linux
from millrace.storage.assemble import assemble as assembling
from millrace.storage.provision import publish
from millrace.system.output import Output, prints
from millrace.system.users import as_root


@click.command(hidden=True)
@click.option("--returned", is_flag=True, hidden=True, help="Re-add members that are back while the arrays run.")
@prints("millrace.storage.record.model:Pool")
def assemble(returned: bool, show: Output) -> None:
    """Assemble the arrays of the pool, also degraded ones."""
    with as_root():
        system = Linux()
        if returned:
            from millrace.storage.assemble.readd import readd

            readd(system, _report)
            return
        pool = assembling.assemble(system, _report)
        if publish.renew_mount_unit(system, pool):
            _report("srv-pool.mount: updated for this version")
    show(pool, lambda _: ())


def _report(line: str) -> None:
    click.echo(line, err=True)
