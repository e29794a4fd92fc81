# SPDX-License-Identifier: Apache-2.0
"""`millrace share …`."""

from collections.abc import Sequence
from typing import Any, get_args

import click

from millrace.provision.pool_file import known_pool
from millrace.state.choices import Encryption, Profile

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_dry_run = click.option("--dry-run", is_flag=True, help="Show the result; change nothing.")
_profile = click.option(
    "--profile",
    type=click.Choice(get_args(Profile)),
    help="Share type; mixed serves one tree over NFS and SMB.",
)


def _settings(function: Any) -> Any:
    """The options that create and set share."""
    for option in (
        click.option("--comment", help="Comment, one line, shown to SMB clients."),
        click.option(
            "--size", metavar="SIZE", help="Size limit, for example 500G or 10T (powers of 1024); `none` removes it."
        ),
        click.option(
            "--soft-size", metavar="SIZE", help="Soft limit: writes fail after 7 days above it; `none` removes it."
        ),
        click.option("--nfs/--no-nfs", "nfs", default=None, help="Serve the share over NFS."),
        click.option(
            "--nfs-client",
            "nfs_clients",
            multiple=True,
            metavar="CLIENT",
            help="Network, address, host or @netgroup, then options: '10.0.0.0/24 access=ro squash=all sec=krb5:krb5p "
            "xprtsec=tls'. Repeat it; 'default' is the client networks (share networks list).",
        ),
        click.option("--smb/--no-smb", "smb", default=None, help="Serve the share over SMB."),
        click.option(
            "--smb-user", "smb_users", multiple=True, help="User allowed over SMB; repeatable [default: admin]."
        ),
        click.option("--smb-group", "smb_groups", multiple=True, help="Repeat it."),
        click.option(
            "--smb-network",
            "smb_networks",
            multiple=True,
            help="Network allowed over SMB; repeatable; 'default' adds private networks.",
        ),
        click.option("--encryption", type=click.Choice(get_args(Encryption)), help="SMB encryption."),
        click.option("--io-uring/--no-io-uring", default=None, help="Use io_uring (SMB-only shares)."),
        click.option("--time-machine/--no-time-machine", default=None, help="Time Machine backups of macOS; SMB only."),
    ):
        function = option(function)
    return function


@click.group()
def share() -> None:
    """Manage shares over NFS and SMB."""


@share.command("list")
@_json
def list_(as_json: bool) -> None:
    """List shares with allowed clients and usage."""
    from millrace.share.listing import listed, rows
    from millrace.share.model import ShareList

    pool = known_pool()
    found = ShareList(shares=listed(pool) if pool else [])
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    if pool is None:
        click.echo("No shares yet: no pool. `millrace status` shows the next step.")
    for row in rows(found.shares):
        click.echo(row)


@share.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@_profile
@_settings
@_dry_run
@_json
def create(names: tuple[str, ...], dry_run: bool, as_json: bool, **settings: Any) -> None:
    """Create shares, all or none; an existing directory of that name is used with its contents."""
    from millrace.share.edit import create_shares, creation

    if dry_run:
        _preview(names, creation(names, settings), as_json)
    else:
        _report(create_shares(names, settings), as_json)


@share.command("set")
@click.argument("name")
@_profile
@_settings
@_dry_run
@_json
def set_(name: str, dry_run: bool, as_json: bool, **settings: Any) -> None:
    """Change the named options of a share; keep all others."""
    from millrace.share.edit import set_share, setting

    if dry_run:
        _preview([name], setting(name, settings), as_json)
    else:
        _report(set_share(name, settings), as_json)


@share.command()
@click.argument("name")
@click.option("--delete-data", metavar="NAME", help="Also delete the data; repeat NAME to confirm.")
@_json
def remove(name: str, delete_data: str | None, as_json: bool) -> None:
    """Remove a share; its data stays."""
    from millrace.share.edit import remove_share

    _report(remove_share(name, delete_data), as_json)


@share.command()
@click.argument("names", nargs=-1, metavar="[NAME]…")
@_json
def verify(names: tuple[str, ...], as_json: bool) -> None:
    """Verify shares: mount them over NFS and open them over SMB, on this server."""
    from millrace.share.look import verify as look

    report = look(names)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    for one in report.shares:
        for line in one.seen:
            click.echo(f"{one.name}: {line}")
        if one.problem:
            click.echo(f"{one.name}: NOT SERVED: {one.problem}")


@share.command()
@click.option(
    "--force", is_flag=True, help="Replace files that were edited by hand; the edited files are kept as copies."
)
@_json
def render(force: bool, as_json: bool) -> None:
    """Write the configuration of the NFS and SMB servers; change only what differs."""
    from millrace.share.leftovers import sweep
    from millrace.share.server import this_server
    from millrace.state.store import load, only_writer

    with only_writer():
        server = this_server()
        sweep(server.run)
        report = server.apply(load(), force)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    for path in report.changed:
        click.echo(f"changed {path}")
    for service in report.reloaded:
        click.echo(f"reloaded {service}")
    for path in report.drift:
        click.echo(
            f"{path} had been edited by hand: "
            + ("replaced, the edit is in /var/lib/millrace/replaced" if force else "kept; see millrace health")
        )
    for warning in report.warnings:
        click.echo(f"warning: {warning}")


@share.group()
def networks() -> None:
    """Manage the client networks, which apply to NFS shares without named clients."""


@networks.command("list")
@_json
def list_networks(as_json: bool) -> None:
    """List confirmed client networks and the networks of this server's ports."""
    from millrace.share.confirm import client_networks, lines
    from millrace.system import net

    found = client_networks(net.serving())
    click.echo(found.model_dump_json(indent=2) if as_json else "\n".join(lines(found)))


@networks.command("set")
@click.argument("named", nargs=-1, required=True, metavar="NETWORK…")
@_json
def set_networks(named: tuple[str, ...], as_json: bool) -> None:
    """Confirm client networks in CIDR form (10.1.0.0/24), replacing all others; 'none' closes NFS.

    Shares that name their own clients are not changed.
    """
    from millrace.share.confirm import confirm

    _report(confirm(named), as_json)


def _preview(names: Sequence[str], mutate: Any, as_json: bool) -> None:
    from millrace.share.look import preview

    seen = preview(names, mutate)
    click.echo(seen.model_dump_json(indent=2) if as_json else "\n".join([*seen.exports, *seen.smb]))


def _report(report: Any, as_json: bool) -> None:
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    for line in report.verified:
        click.echo(line)
    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)
