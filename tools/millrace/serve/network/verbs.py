# SPDX-License-Identifier: Apache-2.0
"""`millrace port …`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.printing import table
from millrace.system.run import attempt
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.serve.network.model import PortList


@click.group(cls=VerbGroup)
def port() -> None:
    """Manage network ports and their addresses."""


@port.command("list")
@prints("millrace.serve.network.model:PortList")
def list_(show: Output) -> None:
    """List Ethernet ports with addresses and their source."""
    from millrace.serve.config.store import load
    from millrace.serve.network.links import links, with_wanted
    from millrace.serve.network.model import PortList

    show(PortList(ports=with_wanted(links(attempt), load())), _rows)


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
@prints("millrace.serve.network.model:PortReport")
def set_(
    name: str, addresses: tuple[str, ...], gateway: str | None, dhcp: bool, management: bool | None, show: Output
) -> None:
    """Set static addresses of a port; rolled back if an address does not come up or is not served."""
    from millrace.serve.network.edit import set_port

    report = set_port(name, addresses, gateway, dhcp, management)
    show(report, lambda done: done.verified, report.warnings)


def _rows(found: "PortList") -> Iterator[str]:
    rows = []
    for one in found.ports:
        speed = f"{one.speed / 1000:g} Gbit/s" if one.speed else "link" if one.carrier else "no link"
        addresses = ", ".join(one.addresses) or "no address"
        use = " (management)" if one.management else ""
        by = f"part of {one.part_of}" if one.part_of else "fixed" if one.fixed else "DHCP or credential"
        rows.append((one.name, one.mac, speed, by, f"{addresses}{use}"))
    return table(("Port", "MAC", "Link", "Set by", "Addresses"), rows)
