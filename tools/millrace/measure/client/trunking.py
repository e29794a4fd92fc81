# SPDX-License-Identifier: Apache-2.0
"""Several addresses of one server in one NFS session, and the host name that has them all."""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.measure.client import recipes, sources
from millrace.measure.client.escape import unit_name
from millrace.measure.client.model import Note, Zone
from millrace.system import names
from millrace.system.errors import BadInput, Refused
from millrace.system.net import Address
from millrace.system.render import render

TALK_ADDRESSES_PER_PORT = 4


@dataclass(frozen=True)
class Lane:
    """A mount whose only purpose is one more connection to one more address."""

    address: str
    mountpoint: str
    unit: str


def lane_addresses(addresses: Sequence[Address], rdma: bool) -> list[str]:
    """Return the addresses of a trunk: one family, as many as the kernel accepts. Refused: there is only one."""
    # The kernel takes a further connection only in the family of the first.
    family = [str(one.ip) for one in addresses if one.version == addresses[0].version]
    if len(family) < 2:
        raise Refused(
            "trunking needs several addresses, and clients of this share can reach only one: give the "
            f"ports secondary addresses or use --protocol {'nfs-rdma' if rdma else 'nfs-tcp'}"
        )
    return family[: recipes.MAX_ADDRESSES]


def lanes(share: str, addresses: Sequence[str], named: bool) -> list[Lane]:
    """Return the mounts beside the main one.

    With a host name (`named`) any address may be the main one's, so all get one.
    """
    return [_lane(share, one) for one in (addresses if named else addresses[1:])]


def connections(addresses: Sequence[str], rdma: bool) -> int:
    """Return how many connections the client should have: the kernel adds one for each further address."""
    return (1 if rdma else recipes.TRUNKED_CONNECTIONS) + len(addresses) - 1


def notes(addresses: Sequence[str], on_server: int, rdma: bool) -> list[Note]:
    """Return notes on trunking for Linux clients; `on_server` is how many addresses the server has."""
    first = (
        Note(
            text="nconnect is left at 1: over RDMA, further addresses add more than further connections to one.",
            source=sources.TALK_TRUNKING,
        )
        if rdma
        else Note(
            text=(
                f"nconnect applies to the first address only: {recipes.TRUNKED_CONNECTIONS} connections to it, one to "
                "each further address (reported for Ubuntu, the same on every Linux). For more connections, give each "
                f"port several secondary addresses (the source uses {TALK_ADDRESSES_PER_PORT}) and one host name with "
                "all of them; each address adds one connection."
            ),
            source=sources.TALK_TRUNKING,
        )
    )
    remarks = [
        first,
        Note(
            text=(
                "A host name alone adds no connection: mount resolves it to one address. The mounts under "
                "/run/millrace/lanes add the others; they show the same files and are not meant for use."
            ),
            source=sources.NFS_TRUNK,
        ),
        Note(
            text=f"Clients reach this server on {len(addresses)} addresses: {connections(addresses, rdma)} "
            "connections. Put each port into its own network to keep the traffic of an address on its port.",
            source=sources.TALK_TRUNKING,
        ),
    ]
    if on_server > len(addresses):
        remarks.append(
            Note(
                text=f"Skipped addresses of the server: {on_server - len(addresses)}. One session uses at most "
                f"{recipes.MAX_ADDRESSES}, all IPv4 or all IPv6.",
                source=sources.NFS_TRUNK,
            )
        )
    return remarks


def zone(name: str, addresses: Sequence[Address]) -> Zone:
    """Return records that give one host name all addresses. BadInput: `name` is no host name."""
    name = host_name(name)
    return Zone(
        name=name,
        addresses=[str(one.ip) for one in addresses],
        # A name with dots is complete, one without belongs to the zone of the file.
        text=render("client/zone.j2", name=f"{name}." if "." in name else name, addresses=addresses),
    )


def host_name(name: str) -> str:
    """Return the name, if it is valid in a mount source and in a zone file. BadInput: it is not."""
    problem = names.host_name.problem(name)
    if problem is not None:
        raise BadInput(f"{problem}, or leave --host out")
    return name


def _lane(share: str, address: str) -> Lane:
    mountpoint = f"/run/millrace/lanes/{share}/{address}"
    return Lane(address, mountpoint, unit_name(mountpoint, "mount"))
