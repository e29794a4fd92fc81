# SPDX-License-Identifier: Apache-2.0
"""`millrace health` and `millrace status`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.printing import table

if TYPE_CHECKING:
    from millrace.observe.health.model import Health


@click.command()
@click.option("--write", "write_files", is_flag=True, help="Write health.json and the console banner; print nothing.")
@click.option("--smart", is_flag=True, hidden=True, help="Read SMART of all drives into smart.json; print nothing.")
@click.option("--stopped", is_flag=True, hidden=True, help="Record that the health check has stopped; print nothing.")
@prints("millrace.observe.health.model:Health")
def health(write_files: bool, smart: bool, stopped: bool, show: Output) -> None:
    """Run all health checks; print one line per check with the remedy."""
    if smart or stopped:
        _for_units(smart)
        return
    from millrace.observe.health.collect import collect
    from millrace.observe.health.current import current
    from millrace.observe.health.host import Host

    # What is about to be written is not late.
    host = Host()
    if write_files:
        from millrace.observe.health import access_losses, clock

        clock.write(host)
        access_losses.write(host)
    document = collect(host) if write_files else current(host)
    if write_files:
        from millrace.observe.health import latency
        from millrace.observe.health.write import write

        # for the next check: what this one found is written whatever becomes of it
        write(document, lambda: host.ports)
        latency.write(host)
    show(document, lambda document: () if write_files else _rows(document))


def _rows(found: "Health") -> Iterator[str]:
    rows = [(one.level, one.check, [one.sentence, *([one.todo] if one.todo else [])]) for one in found.findings]
    return table(("Level", "Check", "Finding"), rows)


def _for_units(smart: bool) -> None:
    """millrace-smart.service and millrace-health-stopped.service."""
    if smart:
        from millrace.storage.drive import smart as drives

        drives.write()
        return
    from millrace.observe.health.current import stopped
    from millrace.observe.health.write import publish

    publish(stopped())


@click.command()
@prints("millrace.observe.health.status:Status")
def status(show: Output) -> None:
    """Show health, pool, shares and next steps on one screen."""
    from millrace.observe.health.host import Host
    from millrace.observe.health.status import lines
    from millrace.observe.health.status import status as collect_status

    show(collect_status(Host()), lines)
