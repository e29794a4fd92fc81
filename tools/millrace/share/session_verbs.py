# SPDX-License-Identifier: Apache-2.0
"""`millrace session …`."""

import click


@click.group()
def session() -> None:
    """List connected clients."""


@session.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_(as_json: bool) -> None:
    """List NFS and SMB clients: host, protocol, transport, connections, open files."""
    from millrace.share.session import sessions
    from millrace.system.run import quickly

    found = sessions(quickly)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    for one in found.sessions:
        lanes = "?" if one.lanes is None else str(one.lanes)
        click.echo(
            f"{one.host:<24} {one.protocol} {one.version:<10} {one.transport:<8} {lanes:>3} lanes  "
            f"{one.open_files:>6} open  {one.name}"
        )
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if not found.sessions and not found.warnings:
        click.echo("No clients are connected.")
