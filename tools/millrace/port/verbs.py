# SPDX-License-Identifier: Apache-2.0
"""`millrace port …`."""

import click

from millrace.system.run import attempt

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group()
def port() -> None:
    """Manage network ports and their addresses."""


@port.command("list")
@_json
def list_(as_json: bool) -> None:
    """List Ethernet ports with addresses and their source."""
    from millrace.port.links import links, with_wanted
    from millrace.port.model import PortList
    from millrace.state.store import load

    found = PortList(ports=with_wanted(links(attempt), load()))
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    for one in found.ports:
        speed = f"{one.speed / 1000:g} Gbit/s" if one.speed else "link" if one.carrier else "no link"
        addresses = ", ".join(one.addresses) or "no address"
        use = "  (management)" if one.management else ""
        by = f"part of {one.part_of}" if one.part_of else "fixed" if one.fixed else "DHCP or credential"
        click.echo(f"{one.name:<15} {one.mac}  {speed:<12} {by:<20} {addresses}{use}")


@port.command("set")
@click.argument("name")
@click.option(
    "--address",
    "addresses",
    multiple=True,
    metavar="ADDRESS/LENGTH",
    help="Static address; repeatable; replaces all others. 'default' returns the port to DHCP.",
)
@click.option("--gateway", metavar="ADDRESS", help="Default gateway of the port.")
@click.option("--dhcp", is_flag=True, help="Request an address by DHCP as well.")
@click.option(
    "--management/--no-management",
    default=None,
    help="Keep it for the web console: no client is served there and its networks are never proposed for NFS.",
)
@_json
def set_(
    name: str, addresses: tuple[str, ...], gateway: str | None, dhcp: bool, management: bool | None, as_json: bool
) -> None:
    """Set static addresses of a port; rolled back if an address does not come up or is not served."""
    from millrace.port.edit import set_port

    report = set_port(name, addresses, gateway, dhcp, management)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    for line in report.verified:
        click.echo(line)
    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)
