# SPDX-License-Identifier: Apache-2.0
"""`millrace inventory`."""

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--wait", is_flag=True, help="Wait until the list of drives is stable, at most a minute.")
@click.option("--write", is_flag=True, help="Also store it for the other verbs (/run/millrace/inventory.json).")
def inventory(as_json: bool, wait: bool, write: bool) -> None:
    """What is in this server. Reads only."""
    from millrace import paths
    from millrace.inventory.collect import collect
    from millrace.inventory.settle import wait_stable
    from millrace.store import write_model

    if wait:
        wait_stable()
    found = collect()
    if write:
        write_model(paths.inventory_file(), found)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    from millrace.inventory.table import show

    show(found)
