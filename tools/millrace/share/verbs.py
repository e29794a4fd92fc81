# SPDX-License-Identifier: Apache-2.0
"""`millrace share …`."""

import click

from millrace import paths, store
from millrace.provision.model import Pool


@click.group()
def share() -> None:
    """Shares: what clients mount."""


@share.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def list_(as_json: bool) -> None:
    """The shares of this server and who may mount them."""
    from millrace.share.desired import shares
    from millrace.share.model import ShareList

    exists = paths.pool_file().exists()
    found = ShareList(shares=shares(store.read_model(paths.pool_file(), Pool)) if exists else [])
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    if not found.shares:
        click.echo("There is no share yet: there is no pool. `millrace status` says what to do next.")
    for one in found.shares:
        click.echo(f"{one.name}  {one.path}  {', '.join(one.networks) or 'not exported: ' + (one.obstacle or '')}")


@share.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def render(as_json: bool) -> None:
    """Write the configuration of the NFS and SMB servers; changes only what differs."""
    from millrace.provision.pool import verify
    from millrace.provision.system import Linux
    from millrace.share import interfaces
    from millrace.share.apply import apply
    from millrace.share.approved import approved_plan
    from millrace.share.desired import shares

    pool = verify(Linux())
    ports = interfaces.serving()
    report = apply(approved_plan(), shares(pool, ports), ports)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    for path in report.changed:
        click.echo(f"changed {path}")
    for service in report.reloaded:
        click.echo(f"told {service}")
    for warning in report.warnings:
        click.echo(f"warning: {warning}")
