# SPDX-License-Identifier: Apache-2.0
"""`millrace pool destroy`."""

import click

from millrace.system.output import Output, prints
from millrace.system.prompt import repeated
from millrace.system.run import attempt
from millrace.system.users import as_root, invoking_user, only_root


@click.command()
@click.option(
    "--status", "look", is_flag=True, help="Show what is lost and what stays, or the progress; write nothing."
)
@click.option("--name", metavar="NAME", help="Host name of this server, to confirm; without it, it is prompted for.")
@click.option("--end", "ends", is_flag=True, help="Also disconnect clients, and end jobs that use the pool.")
@click.option("--automatic", is_flag=True, hidden=True, help="Carry out a confirmed destruction (its unit calls it).")
@prints(
    "millrace.lifecycle.destroy.model:DestroyLine",
    {"--status": "millrace.lifecycle.destroy.model:DestroyStatus"},
    lines=True,
    words="Print JSON lines: what is lost, progress, how it ended.",
)
def destroy(look: bool, name: str | None, ends: bool, automatic: bool, show: Output) -> None:
    """Destroy the pool with all data on it, so that another one can be built from its drives.

    Shares, volumes and all files are lost. Users, groups, addresses, certificate, domain and policy stay. Exactly the
    drives of the pool are wiped: their partition tables and superblocks, not the data between. Missing drives are
    named, because they still carry their part. An interrupted destruction goes on at the next boot.
    """
    from millrace.lifecycle.destroy import destroy as destroying
    from millrace.lifecycle.destroy import destroy_job, text
    from millrace.lifecycle.destroy.status import status
    from millrace.storage.array.machine import Linux
    from millrace.storage.record.destruction import Destruction
    from millrace.system.errors import Refused

    only_root()
    system = Linux()
    with as_root():
        if automatic:
            destroying.execute(system, attempt, lambda line: click.echo(line, err=True))
            return
        now = status(attempt)
        show(now, text.lines if look else text.consequences)
        if look:
            return
        if now.last is None or now.last.ended is not None:
            refused = now.obstacle or (None if ends else now.in_use)
            if refused:
                raise Refused(f"{refused}; {destroying.NOTHING}")
            typed = repeated(f"Host name of this server ({now.name})", "--name NAME") if name is None else name
            destroying.confirm(typed)
        destroying.start(system, attempt, invoking_user(), ends)
        ended = show.each(destroy_job.follow(attempt, system.wait), text.bar)
    if isinstance(ended, Destruction):
        show.text(text.result(ended))
        show.text(["the drives are free for another pool: millrace plan"])
