# SPDX-License-Identifier: Apache-2.0
"""`millrace inventory`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millrace.inventory.model import Inventory


@click.command()
@click.option("--wait", is_flag=True, help="Wait until the list of drives is stable, at most 60 s.")
@click.option("--write", is_flag=True, help="Also store it for the other verbs (/run/millrace/inventory.json).")
@click.option(
    "--capture",
    "capture_file",
    type=click.Path(path_type=Path),
    help="Also write a capture of this server: FILE.tar.zst.",
)
@click.option("--keep-serials", is_flag=True, help="Keep the serial numbers of drives in the capture.")
@prints("millrace.inventory.model:Inventory")
def inventory(show: Output, wait: bool, write: bool, capture_file: Path | None, keep_serials: bool) -> None:
    """List drives, network ports and CPUs of this server; write nothing."""
    if keep_serials and not capture_file:
        raise click.UsageError("--keep-serials goes with --capture.")
    server_inventory = _collected(wait, capture_file, keep_serials)
    if write:
        from millrace.system import paths
        from millrace.system.documents import write_model

        write_model(paths.inventory_file(), server_inventory)
    if capture_file:
        hidden = "names and addresses" if keep_serials else "names, addresses and serial numbers"
        click.echo(f"Captured in {capture_file}; {hidden} in it are not the real ones.", err=True)
    show(server_inventory, _nothing if capture_file else _table)


def _table(found: "Inventory") -> "Iterable[str]":
    from millrace.inventory.text import lines

    return lines(found)


def _nothing(_: "Inventory") -> "Iterable[str]":
    """The file of the capture is what was asked for."""
    return ()


def _collected(wait: bool, capture_file: Path | None, keep_serials: bool) -> "Inventory":
    if wait:
        from millrace.inventory.settle import wait_stable

        wait_stable()
    if capture_file:
        from millrace.inventory.capture import capture

        return capture(capture_file, keep_serials)
    from millrace.inventory.collect import collect

    return collect()
