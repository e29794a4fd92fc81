# SPDX-License-Identifier: Apache-2.0
"""`millrace volume …`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from millrace.system.nvme import Transport
from millrace.system.output import Output, prints
from millrace.system.printing import Cell, fields, table
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.serve.volume.export import VolumeOrder
    from millrace.serve.volume.model import VolumeList, VolumeReport, VolumeRow

_change = prints("millrace.serve.volume.model:VolumeReport")
_SIZE = "Size, for example 500G or 10T (powers of 1024), rounded up to full stripes of the array."


def _hosts(function: Any) -> Any:
    """The options that say who may connect."""
    for option in (
        click.option("--host", "hosts", multiple=True, metavar="NQN", help="NQN of an allowed host; repeatable."),
        click.option(
            "--address",
            "addresses",
            multiple=True,
            metavar="ADDRESS",
            help="Address or network of the hosts: the firewall lets in no other; repeatable.",
        ),
        click.option("--shared", is_flag=True, help="Allow several hosts; NVMe reservations are on."),
        click.option(
            "--dhchap-stdin",
            is_flag=True,
            help="Read the DH-HMAC-CHAP secret of each --host from standard input, one a line in their order.",
        ),
    ):
        function = option(function)
    return function


@click.group(cls=VerbGroup)
def volume() -> None:
    """Manage volumes: block devices of the pool for hosts that connect over NVMe/TCP or NVMe/RDMA."""


@volume.command("list")
@prints("millrace.serve.volume.model:VolumeList")
def list_volumes(show: Output) -> None:
    """List volumes with size, export and connected hosts."""
    from millrace.serve.volume.model import VolumeList
    from millrace.serve.volume.serve import rows, this_volumes

    show(VolumeList(volumes=rows(this_volumes())), _table)


@volume.command("show")
@click.argument("name")
@prints("millrace.serve.volume.model:VolumeDetails")
def show_volume(name: str, show: Output) -> None:
    """Show one volume, with the line that connects it."""
    from millrace.serve.volume.model import VolumeDetails
    from millrace.serve.volume.serve import rows, this_volumes

    volumes = this_volumes()
    volumes.store.volume(name)
    found = next(one for one in rows(volumes) if one.name == name)
    show(VolumeDetails(volume=found), lambda shown: _details(shown.volume))


@volume.command()
@click.argument("name")
@click.option("--size", "typed_size", required=True, metavar="SIZE", help=_SIZE)
@click.option("--export", "transport", type=click.Choice(get_args(Transport)), help="Export it over this transport.")
@_hosts
@_change
def create(
    name: str,
    typed_size: str,
    transport: Transport | None,
    hosts: tuple[str, ...],
    addresses: tuple[str, ...],
    shared: bool,
    dhchap_stdin: bool,
    show: Output,
) -> None:
    """Create the volume NAME, allocate all of it, and export it where --export says so."""
    from millrace.serve.volume import edit
    from millrace.system.errors import BadInput

    if transport is None and (hosts or addresses or shared or dhchap_stdin):
        raise BadInput(
            "--host, --address, --shared and --dhchap-stdin are for an exported volume: add --export tcp or rdma"
        )
    order = _order(transport, hosts, addresses, shared, dhchap_stdin) if transport else None
    _report(edit.create(name, typed_size, order), show)


@volume.command()
@click.argument("name")
@click.option("--size", "typed_size", required=True, metavar="SIZE", help=_SIZE)
@_change
def resize(name: str, typed_size: str, show: Output) -> None:
    """Let the volume NAME grow to SIZE; connected hosts see it at once."""
    from millrace.serve.volume import edit

    _report(edit.resize(name, typed_size), show)


@volume.command()
@click.argument("name")
@click.option(
    "--transport", type=click.Choice(get_args(Transport)), default="tcp", show_default=True, help="Transport."
)
@_hosts
@_change
def export(
    name: str,
    transport: Transport,
    hosts: tuple[str, ...],
    addresses: tuple[str, ...],
    shared: bool,
    dhchap_stdin: bool,
    show: Output,
) -> None:
    """Export the volume NAME to the named hosts, in the place of those before."""
    from millrace.serve.volume import edit

    _report(edit.export_volume(name, _order(transport, hosts, addresses, shared, dhchap_stdin)), show)


@volume.command()
@click.argument("name")
@click.option("--disconnect", is_flag=True, help="Also while a host is connected, which loses the device.")
@_change
def detach(name: str, disconnect: bool, show: Output) -> None:
    """Export the volume NAME no more; its data and its identity stay."""
    from millrace.serve.volume import edit

    _report(edit.detach(name, disconnect), show)


@volume.command()
@click.argument("source")
@click.argument("name", metavar="NEW")
@_change
def clone(source: str, name: str, show: Output) -> None:
    """Clone the volume SOURCE to NEW by reflink, as after a power cut of its host at this moment."""
    from millrace.serve.volume import edit

    _report(edit.clone(source, name), show)


@volume.command()
@click.argument("name")
@click.option("--delete-data", metavar="NAME", help="The name again: the volume is removed with all data in it.")
@_change
def remove(name: str, delete_data: str | None, show: Output) -> None:
    """Remove the volume NAME with its data; refused while a host is connected."""
    from millrace.serve.volume import edit
    from millrace.system.prompt import repeated

    if delete_data is None:
        delete_data = repeated("Name of the volume, which is removed with all its data", "--delete-data NAME")
    _report(edit.remove(name, delete_data), show)


@volume.command(hidden=True)
def render() -> None:
    """Serve every exported volume and no other (started by millrace-volumes.service)."""
    from millrace.serve.volume import serve

    for problem in serve.render(serve.this_volumes()):
        click.echo(f"warning: {problem}", err=True)


@volume.command(hidden=True)
def withdraw() -> None:
    """Serve no volume any more (started by millrace-volumes.service when it ends)."""
    from millrace.serve.volume import serve
    from millrace.serve.volume.configfs import Nvmet
    from millrace.system.errors import Failed
    from millrace.system.run import attempt

    problems = serve.withdraw(Nvmet(), attempt)
    if problems:
        raise Failed(problems[0])


@volume.command(hidden=True)
def sweep() -> None:
    """Remove what a power cut left of a volume that was made or removed (started by a unit)."""
    from millrace.serve.volume.serve import this_volumes

    volumes = this_volumes()
    with volumes.store.change():
        volumes.store.sweep(volumes.run)


def _order(
    transport: Transport, hosts: Sequence[str], addresses: Sequence[str], shared: bool, dhchap_stdin: bool
) -> "VolumeOrder":
    from millrace.serve.volume.export import VolumeOrder
    from millrace.system.prompt import secret

    title = "DH-HMAC-CHAP secret"
    secrets = [secret(title, True, "--dhchap-stdin") for _ in hosts] if dhchap_stdin else []
    return VolumeOrder(transport, hosts, addresses, shared, secrets)


def _report(report: "VolumeReport", show: Output) -> None:
    def lines(done: "VolumeReport") -> Iterator[str]:
        yield done.done
        if done.volume is not None and done.volume.export is not None:
            yield from done.volume.connect

    show(report, lines, report.warnings)


def _table(found: "VolumeList") -> Iterator[str]:
    from millrace.system.text import size

    if not found.volumes:
        yield "This server has no volumes: millrace volume create NAME --size 10T"
    rows = [(one.name, size(one.size), _state(one)) for one in found.volumes]
    yield from table(("Name", "Size", "Export"), rows, right=("Size",))


def _state(one: "VolumeRow") -> str:
    from millrace.system.names import several

    if one.export is None:
        return "not exported"
    where = f"{one.export.transport} port {one.export.port}"
    if one.problem:
        return f"{where}, NOT SERVED: {one.problem}"
    hosts = several([each.address for each in one.connected]) if one.connected else ""
    return f"{where}, connected: {hosts}" if hosts else f"{where}, no host is connected"


def _details(row: "VolumeRow") -> Iterator[str]:
    from millrace.system.text import moment, size

    pairs: list[tuple[str, Cell]] = [
        ("Volume", row.name),
        ("Size", f"{size(row.size)}, {size(row.allocated)} allocated"),
        ("Export", _state(row)),
        ("Created", f"{moment(row.created)} by {row.by}"),
        ("NQN", row.nqn),
        ("NGUID and UUID", str(row.uuid)),
    ]
    if row.origin:
        pairs.append(("Cloned from", str(row.origin)))
    if row.export is not None:
        pairs.append(("Allowed hosts", row.export.hosts or None))
        pairs.append(("From", row.export.addresses or "all client networks"))
        pairs.append(("Authentication", "DH-HMAC-CHAP" if row.authenticated else "hosts are known by their NQN alone"))
    yield from fields(pairs)
    if row.export is not None:
        yield from row.connect
