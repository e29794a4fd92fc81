# SPDX-License-Identifier: Apache-2.0
"""`millrace topology`."""

from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.printing import Cell, notes, table
from millrace.system.text import binary

if TYPE_CHECKING:
    from millrace.observe.topology.model import Topology, TopologyDrive, TopologyPort


@click.command()
@prints("millrace.observe.topology.model:Topology")
def topology(show: Output) -> None:
    """Show NUMA nodes with drives, ports and NFS threads, and hardware audit findings."""
    from millrace.observe.topology.build import topology as read_topology
    from millrace.system import net
    from millrace.system.run import quickly

    show(read_topology(net.serving(), quickly), _lines)


def _lines(server: "Topology") -> list[str]:
    said = [f"{server.cpu_model}, {server.sockets} socket{'s' * (server.sockets > 1)}"]
    for node in server.nodes:
        title = "No node" if node.node is None else f"Node {node.node}"
        nfsd = f", {node.nfsd.threads} NFS threads" if node.nfsd.threads else ""
        said += ["", f"{title}: CPUs {node.cpus or 'none'}, {binary(node.memory_bytes)}{nfsd}"]
        said += table(("Drive", "Serial", "Array", "State"), map(_drive, node.drives), indent=2)
        said += table(("Port", "Driver", "Link", "RDMA", "Interrupts"), map(_port, node.ports), indent=2)
    if server.nfsd.threads:
        said += ["", f"{server.nfsd.threads} NFS threads run on any of the CPUs {server.nfsd.cpus}"]
    for finding in server.findings:
        said += ["", f"{finding.severity.upper()} {finding.subject}: {finding.what}", *notes([finding.todo])]
    return said


def _drive(drive: "TopologyDrive") -> list[Cell]:
    place = f"bay {drive.bay}" if drive.bay else drive.pci_address or drive.name
    array = "/".join(filter(None, (drive.array, drive.leg))) or drive.role or drive.state
    state = "pulled" if not drive.present else drive.member or ""
    return [place, drive.serial, array, state]


def _port(port: "TopologyPort") -> list[Cell]:
    speed = f"{port.speed_mbit} Mbit/s" if port.speed_mbit else "speed not known"
    link = speed if port.link else "no link"
    cpus = f"on CPUs {port.irq_cpus}" if port.irq_cpus else None
    return [port.name, port.driver, link, port.rdma or None, cpus]
