# SPDX-License-Identifier: Apache-2.0
"""One share as a client sees it: its path, the addresses of the server, and what it requires of a mount."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_network

from millrace.measure.client.tls import Tls, of_this_server
from millrace.serve.config.model import Config, DesiredShare, Domain
from millrace.serve.config.protocols import Nfs
from millrace.serve.share.networks import Network, nfs_networks, smb_networks
from millrace.serve.share.tls import required_mode
from millrace.system import names, net, sysfs
from millrace.system.errors import BadInput, Refused
from millrace.system.net import Address, Interface, for_clients
from millrace.system.text import shown


@dataclass(frozen=True)
class ServedShare:
    """A share from outside. `addresses` in the order of preference, `mtu` in bytes of the first one's port.

    `rdma` are the addresses that an RDMA device answers on. `direct`: it is served over SMB Direct, and not by Samba.
    """

    name: str
    path: str
    addresses: list[Address]
    mtu: int | None
    nfs: bool
    smb: bool
    read_only: bool
    sec: str | None
    xprtsec: str | None
    posix: bool
    leases: bool
    domain: Domain | None = None
    tls: Tls | None = None
    closed: bool = False
    rdma: Sequence[Address] = ()
    rdma_mtu: int | None = None
    direct: bool = False

    def over_rdma(self) -> "ServedShare":
        """Return the share as a mount over RDMA meets it. Refused: no address of this server has RDMA."""
        if not self.rdma:
            raise Refused(
                f"no RDMA device of this server has an address for clients of {self.name}: "
                "use --protocol nfs-tcp, or nfs-tcp-trunked over several ports"
            )
        return replace(self, addresses=list(self.rdma), mtu=self.rdma_mtu)


def served(
    config: Config, name: str | None, mountpoint: str, ports: Sequence[Interface], policy_networks: Sequence[str] = ()
) -> ServedShare:
    """Return the share `name`, or the only one. BadInput: there is no such share. Refused: no client can reach it.

    `policy_networks` are those of the policy, which a share that names none is served to.
    """
    share = chosen(config, name)
    ports = for_clients(ports, config.management)
    exported = nfs_networks(policy_networks, config.nfs.networks)
    # Where NFS is closed SMB may be open, to more networks: those that were named are where the clients are.
    near = exported or smb_networks(policy_networks, config.nfs.networks, ports, config.management)
    addresses = reachable(ports, _networks(share, near))
    rdma = [address for address in addresses if any(port.rdma and address in port.addresses for port in ports)]
    # As serve/share/smb_parameters.py renders it: no leases and no POSIX extensions where NFS clients write the same
    # tree.
    transport = _transport_security(share.nfs)
    one_tree = share.both or share.type == "mixed"
    return ServedShare(
        name=share.name,
        path=f"{mountpoint}/{share.name}",
        addresses=addresses,
        mtu=_mtu(ports, addresses[0]),
        rdma=rdma,
        rdma_mtu=_mtu(ports, rdma[0]) if rdma else None,
        nfs=share.nfs.enabled,
        smb=share.smb.enabled and not share.smb.direct,
        direct=share.smb.enabled and share.smb.direct,
        read_only=share.type == "dataset-ro" or _all_read_only(share.nfs),
        sec=_security(share.nfs),
        xprtsec=transport,
        posix=not one_tree and not share.smb.time_machine,
        leases=not one_tree,
        domain=config.domain,
        tls=of_this_server() if transport else None,
        closed=share.nfs.follows_networks and not exported,
    )


def reachable(ports: Sequence[Interface], networks: Sequence[Network]) -> list[Address]:
    """Return addresses of this server in the clients' networks, else all; IPv4 first, ports with a link first.

    Refused: no port has an address.
    """
    links = [port for port in ports if port.carrier] or list(ports)
    every = sorted((address for port in links for address in port.addresses), key=lambda address: address.version)
    near = [address for address in every if any(_contains(network, address) for network in networks)]
    addresses = near or every
    if not addresses:
        raise Refused("no port of this server has an address yet: connect a cable and give it one")
    return addresses


def chosen(config: Config, name: str | None) -> DesiredShare:
    """Return the share `name`, or the only one. BadInput: there is no such share. Refused: there is none at all."""
    there = ", ".join(share.name for share in config.shares)
    if not config.shares:
        raise Refused("no shares yet: millrace share create NAME")
    if name is None:
        if len(config.shares) > 1:
            raise BadInput(f"more than one share exists; choose one with --share: {there}")
        return config.shares[0]
    share = config.share(name)
    if share is None:
        raise BadInput(f"there is no share {shown(name)}: there is {there}")
    return share


def _networks(share: DesiredShare, default: Sequence[str]) -> list[Network]:
    named = [*(one.client for one in share.nfs.clients), *share.smb.networks] or default
    return [ip_network(text) for text in named if names.is_network(text)]


def _contains(network: Network, address: Address) -> bool:
    return network.version == address.version and address.ip in network


def _mtu(ports: Iterable[Interface], address: Address) -> int | None:
    port = next(one for one in ports if address in one.addresses)
    return sysfs.number(net.directory(port.name) / "mtu")


def _all_read_only(nfs: Nfs) -> bool:
    return bool(nfs.clients) and all(one.access == "ro" for one in nfs.clients)


def _security(nfs: Nfs) -> str | None:
    """The flavour that a mount must name: none where anyone is let in with the default."""
    if not nfs.clients or any("sys" in one.sec for one in nfs.clients):
        return None
    return nfs.clients[0].sec[0]


def _transport_security(nfs: Nfs) -> str | None:
    """The transport security that a mount must name: none where anyone is let in without."""
    found = [required_mode(one) for one in nfs.clients]
    return found[0] if found and None not in found else None
