# SPDX-License-Identifier: Apache-2.0
"""`millrace pool …`."""

import click
from pydantic import BaseModel

from millrace.provision import in_sync, suspects, unclean
from millrace.provision import pool as pools
from millrace.provision.pool_file import load_pool
from millrace.provision.system import Linux
from millrace.system.users import as_root

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group()
def pool() -> None:
    """Show and verify the pool of this server."""


@pool.command()
@_json
def verify(as_json: bool) -> None:
    """Verify that the pool is what is mounted, with its planned mount options."""
    with as_root():
        found = pools.verify(Linux())
        if warning := pools.options_warning(found):
            _report(f"warning: {warning}")
    _print(found) if as_json else click.echo(f"{found.filesystem.mountpoint} is the pool")


@pool.command()
@_json
def show(as_json: bool) -> None:
    """Show arrays, members, rebuilds and file system of the pool as they are now."""
    from millrace.pool.show import lines, state

    found = state(load_pool())
    _print(found) if as_json else click.echo("\n".join(lines(found)))


@pool.command("record")
@_json
def record_(as_json: bool) -> None:
    """Record the current members of the arrays; mdadm --monitor calls it."""
    with as_root():
        found = in_sync.record(Linux(), load_pool(), _report)
    if as_json:
        _print(found)


@pool.command("unclean")
@click.option("--find", is_flag=True, help="Search the pool for files written in the last minutes before the cut.")
@_json
def unclean_(find: bool, as_json: bool) -> None:
    """Show arrays that were started unclean while degraded, and the files written before the power cut."""
    with as_root():
        found = suspects.search(load_pool().filesystem.mountpoint) if find else unclean.pending()
        found = found or unclean.UncleanStarts(starts=[])
        names = suspects.names()
    if as_json:
        _print(found)
        return
    for one in found.starts:
        click.echo(f"array {one.array} ({one.level}): last written {one.last_write}, started unclean {one.started}")
    if not found.starts:
        click.echo("no array was started unclean while degraded")
    elif found.suspects is None:
        click.echo("files written before the power cut were not searched for yet: millrace pool unclean --find")
    for name in names:
        click.echo(name)
    if found.suspects is not None and not found.suspects.complete:
        click.echo("note: the search did not reach every file", err=True)
    if found.suspects is not None and found.suspects.count > found.suspects.listed:
        click.echo(
            f"note: {found.suspects.count} files were written then, {found.suspects.listed} are listed", err=True
        )


@pool.command()
@_json
def acknowledge(as_json: bool) -> None:
    """Acknowledge unclean starts: health no longer warns, the list of files is removed."""
    with as_root():
        found = unclean.acknowledge()
    if as_json:
        _print(found)
    else:
        click.echo(f"{len(found.starts)} unclean start{'s' * (len(found.starts) != 1)} acknowledged")


def _print(document: BaseModel) -> None:
    click.echo(document.model_dump_json(indent=2))


def _report(line: str) -> None:
    click.echo(line, err=True)
