# SPDX-License-Identifier: Apache-2.0
"""`millrace network …`."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from millrace.system.output import Output, prints
from millrace.system.printing import fields, notes, table
from millrace.system.run import attempt
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.serve.network.model import LinkReport, NetworkChange, NetworkReport, PathMtu, TrialReport

Verb = TypeVar("Verb", bound=Callable[..., Any])

CHANGE = "millrace.serve.network.model:NetworkChange"


@click.group(cls=VerbGroup)
def network() -> None:
    """Manage ports, bonds, VLANs, addresses, routes, DNS, NTP and the host name.

    A change is in force at once. It is rolled back after 60 seconds, and by a restart, unless `network confirm` keeps
    it.
    """


def _link_options(verb: Verb) -> Verb:
    for option in (
        click.option("--mtu", type=int, metavar="BYTES", help="MTU; 0 returns to that of the driver."),
        click.option("--dhcp", is_flag=True, help="Request an address by DHCP as well."),
        click.option("--gateway", metavar="ADDRESS", help="Default gateway of the link."),
        click.option(
            "--address",
            "addresses",
            multiple=True,
            metavar="ADDRESS/LENGTH",
            help="Static address; repeatable; replaces all others. 'default' returns a port to DHCP.",
        ),
    ):
        verb = option(verb)
    return verb


@network.command()
@prints("millrace.serve.network.model:NetworkReport")
def show(show: Output) -> None:
    """Show links with addresses, DNS, NTP, routes, host name and the change that waits for its confirmation."""
    from millrace.serve.network.network_state import found

    show(found(attempt), _lines)


@network.command("set")
@click.argument("link")
@_link_options
@click.option(
    "--management/--no-management",
    default=None,
    help="Keep a port for the web console: no client is served there and its networks are never proposed for NFS.",
)
@prints(CHANGE)
def set_(
    link: str,
    addresses: tuple[str, ...],
    gateway: str | None,
    dhcp: bool,
    mtu: int | None,
    management: bool | None,
    show: Output,
) -> None:
    """Set addresses and MTU of a port, bond or VLAN; rolled back if an address does not come up or is not served."""
    from millrace.serve.network.edit import LinkSettings, set_link
    from millrace.serve.network.trial import NetworkServer

    settings = LinkSettings(addresses, gateway, dhcp, mtu, management)
    _changed(set_link(link, settings, NetworkServer()), show)


@network.command()
@click.argument("parent")
@click.argument("number", type=int, metavar="ID")
@_link_options
@prints(CHANGE)
def vlan(
    parent: str, number: int, addresses: tuple[str, ...], gateway: str | None, dhcp: bool, mtu: int | None, show: Output
) -> None:
    """Create VLAN ID (1 to 4094) on a port or bond; its name is vlanID. The MTU of the parent follows a larger one."""
    from millrace.serve.network.edit import LinkSettings, add_vlan
    from millrace.serve.network.trial import NetworkServer

    _changed(add_vlan(parent, number, LinkSettings(addresses, gateway, dhcp, mtu), NetworkServer()), show)


@network.command()
@click.argument("name")
@click.argument("ports", nargs=-1, required=True)
@click.option(
    "--mode",
    type=click.Choice(["lacp", "active-backup"]),
    default="lacp",
    show_default=True,
    help="lacp needs a switch with IEEE 802.1AX; active-backup uses one port at a time and needs nothing.",
)
@_link_options
@prints(CHANGE)
def bond(
    name: str,
    ports: tuple[str, ...],
    mode: Any,
    addresses: tuple[str, ...],
    gateway: str | None,
    dhcp: bool,
    mtu: int | None,
    show: Output,
) -> None:
    """Create a bond of PORTS, which takes over their static addresses; rolled back if no LACP partner responds."""
    from millrace.serve.network.edit import LinkSettings, add_bond
    from millrace.serve.network.trial import NetworkServer

    _changed(add_bond(name, ports, mode, LinkSettings(addresses, gateway, dhcp, mtu), NetworkServer()), show)


@network.command()
@click.argument("name")
@prints(CHANGE)
def remove(name: str, show: Output) -> None:
    """Remove a bond or a VLAN."""
    from millrace.serve.network.edit import remove as remove_link
    from millrace.serve.network.trial import NetworkServer

    _changed(remove_link(name, NetworkServer()), show)


@network.command()
@click.argument("servers", nargs=-1, metavar="[ADDRESS]...")
@click.option("--search", multiple=True, metavar="DOMAIN", help="Domain that is added to short names; repeatable.")
@prints(CHANGE)
def dns(servers: tuple[str, ...], search: tuple[str, ...], show: Output) -> None:
    """Set DNS servers, 3 at most; without any, those of DHCP are used. Warns of a server that does not respond."""
    from millrace.serve.network.edit import set_dns
    from millrace.serve.network.trial import NetworkServer

    _changed(set_dns(servers, search, NetworkServer()), show)


@network.command()
@click.argument("servers", nargs=-1, metavar="[HOST]...")
@prints(CHANGE)
def ntp(servers: tuple[str, ...], show: Output) -> None:
    """Set NTP servers; without any, those of DHCP and Debian are used. Warns of a server that does not respond."""
    from millrace.serve.network.edit import set_ntp
    from millrace.serve.network.trial import NetworkServer

    _changed(set_ntp(servers, NetworkServer()), show)


@network.command()
@click.argument("routes", nargs=-1, metavar="[NETWORK=GATEWAY]...")
@prints(CHANGE)
def routes(routes: tuple[str, ...], show: Output) -> None:
    """Replace all static routes; a gateway must be in the network of a static address."""
    from millrace.serve.network.edit import set_routes
    from millrace.serve.network.trial import NetworkServer

    _changed(set_routes(routes, NetworkServer()), show)


@network.command()
@click.argument("name")
@prints(CHANGE)
def hostname(name: str, show: Output) -> None:
    """Set the host name at once, without a confirmation: it ends no connection."""
    from millrace.serve.network.host_name import set_host_name

    _changed(set_host_name(name, attempt), show)


@network.command()
@prints(CHANGE)
def confirm(show: Output) -> None:
    """Keep the change that waits for its confirmation."""
    from millrace.serve.network import trial

    _changed(trial.confirm(trial.NetworkServer()), show)


@network.command()
@prints(CHANGE)
def rollback(show: Output) -> None:
    """Roll back the change that waits for its confirmation."""
    from millrace.serve.network import trial

    _changed(trial.roll_back(trial.NetworkServer()), show)


@network.command(hidden=True)
def apply() -> None:
    """Apply the recorded change and wait for its confirmation (internal)."""
    from millrace.serve.network import trial

    trial.apply(trial.NetworkServer())
    trial.expire(trial.NetworkServer())


@network.command("path-mtu")
@click.argument("client", metavar="ADDRESS")
@prints("millrace.serve.network.model:PathMtu")
def path_mtu_(client: str, show: Output) -> None:
    """Ping a client with packets of the configured MTU that are not fragmented; print what the path carries."""
    from millrace.serve.network.path_mtu import path_mtu

    show(path_mtu(client, attempt), _path)


def _path(measured: "PathMtu") -> list[str]:
    return [f"{measured.sentence[0].upper()}{measured.sentence[1:]}."]


def _changed(change: "NetworkChange", show: Output) -> None:
    def lines(done: "NetworkChange") -> list[str]:
        if not done.seconds:
            return done.verified
        return [*done.verified, f"Rolled back in {done.seconds} s unless confirmed: millrace network confirm"]

    show(change, lines, change.warnings)


def _lines(report: "NetworkReport") -> Iterator[str]:
    yield from table(("Link", "MAC", "Speed", "MTU", "Set by", "Addresses"), map(_row, report.links))
    yield ""
    yield from fields(
        (
            ("Host name", report.host_name),
            ("Domain", report.domain),
            ("DNS servers", report.dns or "from DHCP"),
            ("Search domains", report.search or None),
            ("NTP servers", report.ntp or "from DHCP, else Debian's"),
            ("Routes", [f"{each.network} via {each.gateway}" for each in report.routes] or None),
        )
    )
    if report.trial is not None:
        yield ""
        yield from notes(_trial(report.trial), indent=0)


def _trial(trial: "TrialReport") -> list[str]:
    if trial.state == "waiting":
        return [
            f"The change '{trial.what}' of {trial.who} is rolled back in {trial.seconds} s unless confirmed: "
            "millrace network confirm"
        ]
    if trial.state == "applying":
        return [f"The change '{trial.what}' of {trial.who} is being applied."]
    if trial.state == "rolled-back":
        return [f"The change '{trial.what}' of {trial.who} was rolled back: {trial.problem}."]
    return []


def _row(link: "LinkReport") -> tuple[str, ...]:
    speed = f"{link.speed / 1000:g} Gbit/s" if link.speed else "link" if link.carrier else "no link"
    addresses = ", ".join(link.addresses) or "no address"
    use = " (management)" if link.management else ""
    by = f"part of {link.part_of}" if link.part_of else "fixed" if link.decided else "DHCP or credential"
    if link.kind == "vlan":
        by = f"VLAN {link.vlan or ''} on {link.parent}".replace("  ", " ")
    if link.kind == "bond":
        partner = "" if link.mode != "lacp" else f", partner {link.partner or 'missing'}"
        by = f"{link.mode or 'bond'} of {', '.join(link.members)}{partner}"
    return (link.name, link.mac, speed, str(link.mtu or "-"), by, f"{addresses}{use}")
