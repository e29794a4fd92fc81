# SPDX-License-Identifier: Apache-2.0
"""`millrace health` and `millrace status`."""

import click


@click.command()
@click.option("--write", "write_files", is_flag=True, help="Write health.json and the console banner; print nothing.")
@click.option("--smart", is_flag=True, hidden=True, help="Read SMART of all drives into smart.json; print nothing.")
@click.option("--stopped", is_flag=True, hidden=True, help="Record that the health check has stopped; print nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def health(write_files: bool, smart: bool, stopped: bool, as_json: bool) -> None:
    """Run all health checks; print one line per check with the remedy."""
    if smart or stopped:
        _for_units(smart)
        return
    from millrace.health.collect import collect
    from millrace.health.current import current
    from millrace.health.host import Host

    # What is about to be written is not late.
    found = collect() if write_files else current(Host())
    if write_files:
        from millrace.health.write import write

        write(found)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
    elif not write_files:
        for finding in found.findings:
            click.echo(f"{finding.level:<7} {finding.check:<10} {finding.sentence}")
            if finding.todo:
                click.echo(f"{'':18} {finding.todo}")


def _for_units(smart: bool) -> None:
    """millrace-smart.service and millrace-health-stopped.service."""
    if smart:
        from millrace.health import smart as drives

        drives.write()
        return
    from millrace.health.current import stopped
    from millrace.health.write import publish

    publish(stopped())


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def status(as_json: bool) -> None:
    """Show health, pool, shares and next steps on one screen."""
    from millrace.health.host import Host
    from millrace.health.status import lines
    from millrace.health.status import status as look

    seen = look(Host())
    click.echo(seen.model_dump_json(indent=2) if as_json else "\n".join(lines(seen)))
